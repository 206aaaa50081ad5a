package surfaces

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/gowebpki/jcs"
)

// compilerVersion is part of every digest. It moves when the same file and
// schema compile to something else.
const compilerVersion = 2

// used is what of a snapshot a file depends on. Only what changes the compiled
// form is in it: not rights, indexes or policies.
type used struct {
	MaxRows   int                      `json:"max_rows"`            // of pages of lists
	MostRows  int                      `json:"most_rows,omitempty"` // of what functions return
	Default   string                   `json:"default_schema"`
	Relations map[string]*usedRelation `json:"relations"`
	Functions map[string]usedFunction  `json:"functions"`
	Enums     map[string][]string      `json:"enums"`

	// Which way over which foreign key, and what is at its end. Left out, as all
	// that came later, where a file has none.
	Embeds []Embed `json:"embeds,omitempty"`
	// Defaults, identities, unique keys and rights decide what may be written,
	// what must be given, and how a guard moves on: the plans say it all.
	Creates    []*CreatePlan          `json:"creates,omitempty"`
	Updates    []*UpdatePlan          `json:"updates,omitempty"`
	Deletes    []*DeletePlan          `json:"deletes,omitempty"`
	Composites map[string][]Attribute `json:"composites,omitempty"`
	Buckets    map[string]BucketInfo  `json:"buckets,omitempty"` // those that are known
}

type usedRelation struct {
	Kind       string                `json:"kind"`
	Comment    string                `json:"comment"`
	PrimaryKey []string              `json:"primary_key"`
	Columns    map[string]usedColumn `json:"columns"`
}

type usedColumn struct {
	Type    TypeRef `json:"type"`
	NotNull bool    `json:"not_null"`
	Comment string  `json:"comment"`
}

type usedFunction struct {
	Comment    string             `json:"comment"`
	Arguments  []FunctionArgument `json:"arguments"`
	Volatility string             `json:"volatility"`
	Returns    FunctionReturns    `json:"returns"`
}

func newUsed() *used {
	return &used{Relations: map[string]*usedRelation{}, Functions: map[string]usedFunction{}, Enums: map[string][]string{}, Composites: map[string][]Attribute{}}
}

func (u *used) relation(ix *index, r *RelationSchema, columns []string) {
	// Above the largest page the cap changes nothing.
	u.MaxRows, u.Default = min(ix.snap.MaxRows, MaxLimit+1), ix.defaultSchema()
	key := r.Schema + "." + r.Name
	have := u.Relations[key]
	if have == nil {
		have = &usedRelation{Kind: r.Kind, Comment: r.Comment, PrimaryKey: slices.Clone(r.PrimaryKey), Columns: map[string]usedColumn{}}
		u.Relations[key] = have
	}
	for _, name := range columns {
		c := r.column(name)
		have.Columns[name] = usedColumn{Type: c.Type, NotNull: c.NotNull, Comment: c.Comment}
		u.typ(ix, c.Type)
	}
}

func (u *used) function(ix *index, f *FunctionSchema) {
	u.Default = ix.defaultSchema()
	if f.Returns.Set {
		u.MostRows = ix.snap.MaxRows
	}
	u.Functions[f.Schema+"."+f.Name] = usedFunction{Comment: f.Comment, Arguments: f.Arguments, Volatility: f.Volatility, Returns: f.Returns}
	if !f.Returns.Row {
		u.typ(ix, f.Returns.Type) // of a row, Columns are what counts
	}
	for _, a := range f.Arguments {
		u.typ(ix, a.Type)
	}
	for _, a := range f.Returns.Columns {
		u.typ(ix, a.Type)
	}
}

// bucket notes a bucket that files are read from or written to.
func (u *used) bucket(ix *index, name string) {
	if b := ix.buckets[name]; b != nil {
		if u.Buckets == nil {
			u.Buckets = map[string]BucketInfo{}
		}
		u.Buckets[name] = *b
	}
}

// typ notes what schemas say of a type beyond its name.
func (u *used) typ(ix *index, t TypeRef) {
	for t.Base != nil {
		t = *t.Base
	}
	key := t.Schema + "." + t.Name
	if labels, ok := ix.enums[key]; ok {
		u.Enums[key] = labels
	}
	attributes, ok := ix.composites[key]
	if _, noted := u.Composites[key]; !ok || noted {
		return
	}
	u.Composites[key] = attributes
	for _, a := range attributes {
		u.typ(ix, a.Type)
	}
}

// digest is SHA-256 over RFC 8785 JSON of {file with defaults, digest of the
// schema objects it uses, compiler version}, in hex.
func (c *compiler) digest() (string, error) {
	objects, err := canonicalDigest(c.used)
	if err != nil {
		return "", err
	}
	return canonicalDigest(struct {
		File     *File  `json:"file"`
		Schema   string `json:"schema"`
		Compiler int    `json:"compiler"`
	}{c.file, objects, compilerVersion})
}

func canonicalDigest(v any) (string, error) {
	raw, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("marshal for digest: %w", err)
	}
	canonical, err := jcs.Transform(raw)
	if err != nil {
		return "", fmt.Errorf("canonicalize for digest: %w", err)
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}
