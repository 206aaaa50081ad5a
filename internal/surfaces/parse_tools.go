package surfaces

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Sizes of results, in bytes.
const (
	DefaultBudget = 16 << 10
	MinBudget     = 512
	MaxBudget     = 1 << 20
)

// Page sizes of lists.
const (
	DefaultLimit = 20
	MaxLimit     = 100
)

// tools reads the list of tools.
func (r *reader) tools(items []*yaml.Node, at place) []*ToolSpec {
	var tools []*ToolSpec
	count := 0
	for i, n := range items {
		itemAt := nodeAt(n, fmt.Sprintf("%s[%d]", at.path, i))
		if t := r.tool(n, itemAt); t != nil {
			tools = append(tools, t)
			count += t.capabilities()
		}
	}
	if count > MaxCapabilities {
		r.errorf(at, "%d tools; at most %d in one surface: split them over several surfaces", count, MaxCapabilities)
	}
	return tools
}

func (t *ToolSpec) capabilities() int {
	switch {
	case t.Table != nil:
		return len(t.Table.Operations)
	case t.Storage != nil:
		return len(t.Storage.Operations)
	}
	return 1
}

// tool reads one entry; the key table, rpc, function or storage says of which
// kind.
func (r *reader) tool(n *yaml.Node, at place) *ToolSpec {
	m, ok := r.raw(n, at, "a tool")
	if !ok {
		return nil
	}
	var kinds []string
	for _, name := range []string{"table", "rpc", "function", "storage"} {
		if m.given(name) {
			kinds = append(kinds, name)
		}
	}
	switch {
	case len(kinds) > 1 || len(kinds) == 1 && m.given("tool") && (m.given("table") || m.given("storage")):
		if len(kinds) == 1 {
			kinds = append(kinds, "tool")
		}
		r.errorf(at, "an entry is one of table, rpc, function and storage, and tool names those with rpc or function: this has %s; make two entries", sentenceList(kinds))
		return nil
	case m.given("table"):
		return r.tableTool(n, at)
	case m.given("rpc"):
		return r.rpcTool(n, at)
	case m.given("function"):
		return r.edgeTool(n, at)
	case m.given("storage"):
		return r.storageTool(n, at)
	}
	names := slices.Concat(tableKeys.known, rpcKeys.known, edgeKeys.known, storageKeys.known)
	r.errorf(at, "a tool needs table: (rows of a table or view), rpc: (a Postgres function), function: (an Edge Function) or storage: (files of a bucket)%s", firstSuggestion(m.names, names))
	return nil
}

// firstSuggestion looks at the first few keys: a tool can be made of nothing
// but unknown ones.
func firstSuggestion(given, known []string) string {
	for _, g := range given[:min(len(given), 20)] {
		if slices.Contains(known, g) {
			continue
		}
		if near := Nearest(g, known); near != "" {
			return fmt.Sprintf("; did you mean %s instead of %s?", quoteName(near), quoteName(g))
		}
	}
	return ""
}

func (r *reader) common(m mapping, t *ToolSpec) {
	t.Public, _ = m.boolean("public")
	if e, ok := m.entries["public"]; ok {
		t.public = e.at
	}
	t.Budget = DefaultBudget
	if v, ok := m.integer("budget", MinBudget, MaxBudget); ok {
		t.Budget = v
	}
	n, at, ok := m.get("guidance")
	if !ok {
		return
	}
	if g, ok := r.mapping(n, at, "guidance", guidanceKeys); ok {
		t.GuidanceText.Before, _ = g.text("before", ruleGuidance)
		t.GuidanceText.After, _ = g.text("after", ruleGuidance)
	}
}

func (r *reader) tableTool(n *yaml.Node, at place) *ToolSpec {
	m, _ := r.mapping(n, at, "a tool", tableKeys)
	t := &ToolSpec{at: at, public: at}
	r.common(m, t)
	s := &TableSpec{}
	var ok bool
	if s.Table, ok = m.text("table", textRule{max: 200, oneLine: true}); !ok {
		return nil
	}
	t.Table = s
	s.Operations = r.operations(m)
	s.Columns = r.columns(m, s)
	s.Key, _ = m.list("key", ruleName)
	s.Filters = r.filters(m)
	s.Order = r.orders(m)
	s.Search = r.search(m)
	s.Embed = r.embeds(m)
	s.Shorten, _ = m.list("shorten", ruleName)
	s.Limit = r.limit(m)
	for _, op := range s.Operations {
		s.By = append(s.By, &OperationSpec{Operation: op.Value, Result: Text{Value: string(ResultHybrid), at: at}, at: at})
	}
	r.perOperation(m, s)
	r.writes(m, s)
	r.tableQuestions(m, s)
	for _, op := range s.By {
		r.checkResult(op)
	}
	return t
}

func (r *reader) operations(m mapping) []Text {
	texts, ok := m.list("operations", ruleName)
	if !ok {
		if !m.given("operations") {
			return []Text{{Value: opList, at: m.at}, {Value: opGet, at: m.at}}
		}
		return nil
	}
	var ops []Text
	for _, t := range texts {
		switch {
		case slices.Contains(operationKeys.known, t.Value):
			ops = append(ops, t)
		case laterOperations[t.Value] != "":
			r.errorf(t.at, "the operation %s is not yet supported: %s", t.Value, laterOperations[t.Value])
		default:
			r.errorf(t.at, "unknown operation %s%s", quoteName(t.Value), r.suggest(t.Value, operationKeys.known, "; this version has "))
		}
	}
	if len(texts) == 0 {
		r.errorf(m.entries["operations"].at, "operations is an empty list: name some of %s", strings.Join(operationKeys.known, ", "))
	}
	return ops
}

// columns reads what is returned. What only writes may return nothing.
func (r *reader) columns(m mapping, s *TableSpec) []Text {
	texts, ok := m.list("columns", ruleName)
	if !ok && !m.given("columns") && (s.reads() || len(s.Operations) == 0) {
		r.errorf(m.at, "columns is missing: list the columns to return; nothing is exposed until chosen")
	}
	if ok && len(texts) == 0 {
		r.errorf(m.entries["columns"].at, "columns is an empty list: list the columns to return")
	}
	return slices.DeleteFunc(texts, func(t Text) bool {
		if t.Value == "*" {
			r.errorf(t.at, "columns cannot be *: list the columns to return; nothing is exposed until chosen")
		}
		return t.Value == "*"
	})
}

// The filter operators of this version, in the order they are offered.
var filterOperators = []string{"eq", "neq", "gt", "gte", "lt", "lte", "in", "like", "ilike", "is", "isdistinct", "cs", "cd", "ov"}

func (r *reader) filters(m mapping) filterSpecs {
	n, at, ok := m.get("filters")
	if !ok {
		return nil
	}
	columns, ok := r.raw(n, at, "filters")
	if !ok {
		return nil
	}
	var filters filterSpecs
	for _, name := range columns.names {
		e := columns.entries[name]
		f := FilterSpec{Column: Text{Value: name, at: e.key}}
		f.Operators = r.filterOperators(e, &f)
		filters = append(filters, f)
	}
	return filters
}

// filterOperators reads the value of one filter: a list of operators, or a
// mapping with operators and switches.
func (r *reader) filterOperators(e entry, f *FilterSpec) []Text {
	var texts []Text
	if e.value.Kind == yaml.MappingNode {
		m, _ := r.mapping(e.value, e.at, "a filter", filterKeys)
		f.Required, _ = m.boolean("required")
		f.HiddenOK, _ = m.boolean("hidden_ok")
		texts, _ = m.list("operators", ruleName)
		if !m.given("operators") {
			r.errorf(e.at, "operators is missing: list some of eq, in, ilike, …")
		}
	} else {
		texts, _ = r.texts(e.value, e.at, "the operators of a filter", ruleName)
	}
	var operators []Text
	for _, t := range texts {
		if !slices.Contains(filterOperators, t.Value) {
			r.errorf(t.at, "unknown operator %s%s", quoteName(t.Value), r.suggest(t.Value, filterOperators, "; this version has "))
			continue
		}
		operators = append(operators, t)
	}
	return operators
}

// perOperation reads the keys that may be given once for all operations or as
// a mapping by operation.
func (r *reader) perOperation(m mapping, s *TableSpec) {
	s.Base, s.Noun, s.About = r.named(m, s)
	if t, ok := r.byOperation(m, "result", ruleName, s, func(o *OperationSpec, t Text) { o.Result = t }); ok {
		for _, o := range s.By {
			o.Result = t
		}
	}
	if t, ok := r.byOperation(m, "template", ruleTemplate, s, func(o *OperationSpec, t Text) { o.Template = t }); ok {
		for _, o := range s.By {
			o.Template = t
		}
	}
	r.scopesByOperation(m, s)
	r.policyByOperation(m, s)
	r.confirmByOperation(m, s)
}

// operated is an entry that makes a tool of each of its operations.
type operated interface {
	by() operationSpecs
	operations() keys // those that the entry may have
	what() string     // "table" or "bucket"
}

func (s *TableSpec) by() operationSpecs { return s.By }
func (s *TableSpec) operations() keys   { return operationKeys }
func (s *TableSpec) what() string       { return "table" }

// named reads what the tools of an entry are called: what is said for all of
// them is returned.
func (r *reader) named(m mapping, s operated) (base, noun, about Text) {
	base, _ = r.byOperation(m, "name", ruleName, s, func(o *OperationSpec, t Text) { o.Name = t })
	for _, o := range s.by() {
		r.checkToolName(o.Name)
	}
	noun, _ = r.byOperation(m, "title", ruleTitle, s, func(o *OperationSpec, t Text) { o.Title = t })
	about, _ = r.byOperation(m, "description", ruleDescription, s, func(o *OperationSpec, t Text) { o.Description = t })
	return base, noun, about
}

// byOperation returns the value when it is for all operations; a mapping is
// handed out to its operations.
func (r *reader) byOperation(m mapping, key string, rule textRule, s operated, set func(*OperationSpec, Text)) (Text, bool) {
	n, at, ok := m.get(key)
	if !ok {
		return Text{}, false
	}
	if n.Kind != yaml.MappingNode {
		return r.scalar(n, at, key, rule)
	}
	sub := r.mappingByOperation(n, at, key, s)
	for _, name := range sub.names {
		o := r.operationOf(sub, name, s)
		if o == nil {
			continue
		}
		if t, ok := sub.text(name, rule); ok {
			set(o, t)
		}
	}
	return Text{}, false
}

// mappingByOperation reads a mapping by operation. One that is empty would leave open
// what its author meant to close.
func (r *reader) mappingByOperation(n *yaml.Node, at place, key string, s operated) mapping {
	sub, ok := r.mapping(n, at, key, s.operations())
	if ok && len(n.Content) == 0 {
		r.errorf(at, "%s is an empty mapping, so it says nothing of any operation: give it a value or leave the key out", key)
	}
	return sub
}

func (r *reader) operationOf(sub mapping, name string, s operated) *OperationSpec {
	if !slices.Contains(s.operations().known, name) {
		return nil // reported as unknown or not yet supported
	}
	for _, o := range s.by() {
		if o.Operation == name {
			return o
		}
	}
	r.errorf(sub.entries[name].key, "%s is not among the operations of this %s", name, s.what())
	return nil
}

func (r *reader) scopesByOperation(m mapping, s operated) {
	n, at, ok := m.get("scopes")
	if !ok {
		return
	}
	if n.Kind != yaml.MappingNode {
		texts, _ := r.texts(n, at, "scopes", ruleName)
		texts = r.checkScopes(texts)
		for _, o := range s.by() {
			o.Scopes = texts
		}
		return
	}
	sub := r.mappingByOperation(n, at, "scopes", s)
	for _, name := range sub.names {
		if o := r.operationOf(sub, name, s); o != nil {
			o.Scopes = r.scopes(sub, name)
		}
	}
}

// checkResult checks a result form against its template.
func (r *reader) checkResult(o *OperationSpec) {
	forms := []string{string(ResultHybrid), string(ResultStructured), string(ResultText)}
	switch {
	case !slices.Contains(forms, o.Result.Value):
		r.errorf(o.Result.at, "unknown result %s%s", quoteName(o.Result.Value), r.suggest(o.Result.Value, forms, "; write one of "))
	case o.Result.Value == string(ResultText) && o.Template.Value == "":
		r.errorf(o.Result.at, "result: text needs a template")
	case o.Result.Value != string(ResultText) && o.Template.Value != "":
		r.errorf(o.Template.at, "a template is used with result: text only")
	}
}
