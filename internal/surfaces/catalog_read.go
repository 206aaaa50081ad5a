package surfaces

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// catalogFormat names what the catalog statement of this version returns.
// Functions made by it stay in projects, so a later version goes on reading it.
const catalogFormat = "chumbo.catalog/1"

// catalogDoc is what the catalog statement returns.
type catalogDoc struct {
	Format    string             `json:"format"`
	Postgres  string             `json:"postgres"`
	MaxRows   string             `json:"max_rows"`
	Trigrams  string             `json:"trigrams"`
	Schemas   []catalogNamespace `json:"schemas"`
	Roles     []catalogRole      `json:"roles"`
	Types     []catalogTypeRow   `json:"types"`
	Relations []catalogRelation  `json:"relations"`
	Functions []catalogFunction  `json:"functions"`
	Buckets   json.RawMessage    `json:"buckets"` // []catalogBucket, or null; missing in what older functions answer
}

type catalogNamespace struct {
	Name   string   `json:"name"`
	Exists bool     `json:"exists"`
	Usage  []string `json:"usage"`
}

type catalogRole struct {
	Name    string `json:"name"`
	Timeout string `json:"timeout"` // as it is set, such as 8s
}

// catalogTypeRow is a row of pg_type. Ids only link the parts of one answer.
type catalogTypeRow struct {
	ID         uint32        `json:"id"`
	Schema     string        `json:"schema"`
	Name       string        `json:"name"`
	Kind       string        `json:"kind"`       // b c d e p r m
	Element    uint32        `json:"element"`    // of an array, else 0
	Base       uint32        `json:"base"`       // of a domain, else 0
	Labels     []string      `json:"labels"`     // of an enum
	Attributes []catalogName `json:"attributes"` // of a free-standing composite type
}

type catalogName struct {
	Name string `json:"name"`
	Type uint32 `json:"type"`
}

// ReadCatalog turns what CatalogFunction's function or CatalogQuery returned
// into a snapshot: the same as ImportPostgres makes of the same database and
// objects. The query endpoint's form, a list of one row with one column, is
// read too. Nothing is trusted: it comes from a project. Errors are
// fault.Invalid, fault.TooLarge, or fault.Unprocessable for a schema that the
// database does not have.
func ReadCatalog(raw []byte) (*Snapshot, error) {
	if len(raw) > MaxSnapshotBytes {
		return nil, fault.New(fault.TooLarge, "snapshot_too_large", "The project's schema takes more than %d bytes. Import fewer schemas or tables.", MaxSnapshotBytes)
	}
	if holdsNUL(raw) {
		return nil, invalidCatalog(errors.New("a NUL character"))
	}
	doc, err := decodeCatalog(raw)
	if err != nil {
		return nil, invalidCatalog(err)
	}
	if doc.Format != catalogFormat {
		return nil, fault.New(fault.Invalid, "catalog_format", "The project describes its schema in the format %s; this version reads %s. Put the function chumbo_catalog into the project again.", quoteName(doc.Format), catalogFormat)
	}
	c := &catalogReader{doc: doc, types: map[uint32]*catalogTypeRow{}}
	snap, err := c.snapshot()
	if err != nil {
		return nil, err
	}
	snap.Normalize()
	if err := snap.Validate(); err != nil {
		return nil, err
	}
	return snap, nil
}

func invalidCatalog(cause error) error {
	return fault.Wrap(cause, fault.Invalid, "invalid_catalog", "What the project returned is no description of its schema. Put the function chumbo_catalog into the project again, whole.")
}

// decodeCatalog reads the object, or the object in the one column of the one
// row of a list.
func decodeCatalog(raw []byte) (*catalogDoc, error) {
	raw = bytes.TrimSpace(raw)
	if bytes.HasPrefix(raw, []byte("[")) {
		var rows []map[string]json.RawMessage
		if err := json.Unmarshal(raw, &rows); err != nil {
			return nil, err
		}
		if len(rows) != 1 || len(rows[0]) != 1 {
			return nil, errors.New("not one row of one column")
		}
		for _, column := range rows[0] {
			raw = column
		}
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.DisallowUnknownFields()
	var doc *catalogDoc
	if err := decoder.Decode(&doc); err != nil {
		return nil, err
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) || doc == nil {
		return nil, errors.New("not one object")
	}
	return doc, nil
}

// catalogReader makes a snapshot of one answer.
type catalogReader struct {
	doc    *catalogDoc
	types  map[uint32]*catalogTypeRow
	failed error // the first type that cannot be resolved
}

func (c *catalogReader) snapshot() (*Snapshot, error) {
	snap := &Snapshot{Format: SnapshotFormat, MaxRows: defaultMaxRows, Trigrams: c.doc.Trigrams}
	snap.Postgres, _, _ = strings.Cut(c.doc.Postgres, " ")
	if n, err := strconv.Atoi(c.doc.MaxRows); err == nil && n > 0 {
		snap.MaxRows = n
	}
	for _, s := range c.doc.Schemas {
		if !s.Exists {
			return nil, fault.New(fault.Unprocessable, "no_schema", "There is no schema %s in this database. Name the schemas that the Data API exposes.", quoteName(s.Name))
		}
		snap.Schemas = append(snap.Schemas, SchemaInfo{Name: s.Name, Usage: s.Usage})
	}
	for _, r := range c.doc.Roles {
		snap.Roles = append(snap.Roles, RoleInfo{Name: r.Name, StatementTimeoutMS: milliseconds(r.Timeout)})
	}
	for i := range c.doc.Types {
		c.types[c.doc.Types[i].ID] = &c.doc.Types[i]
	}
	for i := range c.doc.Types {
		switch t := &c.doc.Types[i]; {
		case t.Kind == "e":
			snap.Enums = append(snap.Enums, EnumType{Schema: t.Schema, Name: t.Name, Labels: t.Labels})
		case len(t.Attributes) > 0:
			snap.Composites = append(snap.Composites, CompositeType{Schema: t.Schema, Name: t.Name, Attributes: c.attributes(t.Attributes)})
		}
	}
	for i := range c.doc.Relations {
		snap.Relations = append(snap.Relations, c.relation(&c.doc.Relations[i]))
	}
	for i := range c.doc.Functions {
		snap.Functions = append(snap.Functions, c.function(&c.doc.Functions[i]))
	}
	if c.failed != nil {
		return nil, invalidCatalog(c.failed)
	}
	var err error
	snap.Buckets, err = c.buckets()
	return snap, err
}

// maxTypeDepth bounds domains over arrays over domains.
const maxTypeDepth = 16

// typeRef names a type.
func (c *catalogReader) typeRef(id uint32) TypeRef { return c.typeRefAt(id, 0) }

func (c *catalogReader) typeRefAt(id uint32, depth int) TypeRef {
	t, ok := c.types[id]
	if !ok || depth > maxTypeDepth {
		c.failed = errors.New("a type that is not described, or that is part of itself")
		return TypeRef{}
	}
	if t.Element != 0 {
		ref := c.typeRefAt(t.Element, depth+1)
		ref.Array = true
		return ref
	}
	ref := TypeRef{Schema: t.Schema, Name: t.Name}
	if t.Kind == "d" && t.Base != 0 {
		base := c.typeRefAt(t.Base, depth+1)
		if base.Base != nil && !base.Array {
			base = *base.Base
		}
		ref.Base = &base
	}
	return ref
}

func (c *catalogReader) attributes(names []catalogName) []Attribute {
	attributes := make([]Attribute, len(names))
	for i, n := range names {
		attributes[i] = Attribute{Name: n.Name, Type: c.typeRef(n.Type)}
	}
	return attributes
}

var durationPattern = regexp.MustCompile(`^([0-9]{1,9})\s*(ms|s|min|h|d)?$`)

// milliseconds reads a duration as Postgres keeps it; 0 for none.
func milliseconds(setting string) int {
	m := durationPattern.FindStringSubmatch(setting)
	if m == nil {
		return 0
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		return 0
	}
	unit := map[string]int{"": 1, "ms": 1, "s": 1000, "min": 60_000, "h": 3_600_000, "d": 86_400_000}
	return n * unit[m[2]]
}
