package surfaces

import "slices"

// catalogFunction is a row of pg_proc that the Data API would expose: no
// procedure, aggregate or trigger function, and none of an extension.
type catalogFunction struct {
	Schema     string             `json:"schema"`
	Name       string             `json:"name"`
	Comment    string             `json:"comment"`
	Volatility string             `json:"volatility"` // i s v
	Definer    bool               `json:"definer"`
	Set        bool               `json:"set"`
	Returns    uint32             `json:"returns"`
	Row        []catalogName      `json:"row"` // columns of the composite type or relation returned
	Parameters []catalogParameter `json:"parameters"`
	Defaults   int                `json:"defaults"` // how many of the last inputs have one
	Timeout    string             `json:"timeout"`
	Execute    []string           `json:"execute"`
}

type catalogParameter struct {
	Name string `json:"name"`
	Type uint32 `json:"type"`
	Mode string `json:"mode"` // i o b v t
}

var volatilities = map[string]string{"i": VolatilityImmutable, "s": VolatilityStable, "v": VolatilityVolatile}

func (c *catalogReader) function(p *catalogFunction) FunctionSchema {
	f := FunctionSchema{
		Schema: p.Schema, Name: p.Name, Comment: p.Comment, Volatility: volatilities[p.Volatility],
		SecurityDefiner: p.Definer, Execute: p.Execute, StatementTimeoutMS: milliseconds(p.Timeout),
	}
	f.Returns = FunctionReturns{Type: c.typeRef(p.Returns), Set: p.Set}
	if t := c.types[p.Returns]; t != nil {
		f.Returns.Void = t.Schema == catalogSchema && t.Name == "void"
		f.Returns.Row = t.Kind == "c" || (t.Schema == catalogSchema && t.Name == "record")
	}
	for _, a := range p.Parameters {
		if slices.Contains([]string{"i", "b", "v"}, a.Mode) {
			f.Arguments = append(f.Arguments, FunctionArgument{Name: a.Name, Type: c.typeRef(a.Type), Variadic: a.Mode == "v"})
		}
		if slices.Contains([]string{"o", "b", "t"}, a.Mode) {
			f.Returns.Row = true
			f.Returns.Columns = append(f.Returns.Columns, Attribute{Name: a.Name, Type: c.typeRef(a.Type)})
		}
	}
	for i := range f.Arguments {
		f.Arguments[i].HasDefault = i >= len(f.Arguments)-p.Defaults
	}
	if len(p.Row) > 0 {
		f.Returns.Columns = c.attributes(p.Row)
	}
	return f
}
