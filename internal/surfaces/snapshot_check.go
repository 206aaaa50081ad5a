package surfaces

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// MaxComment is where comments are cut, in characters.
const MaxComment = 1024

// Bounds of a snapshot.
const (
	MaxSnapshotBytes = 8 << 20
	maxRelations     = 5000
	maxFunctions     = 5000
	maxName          = 256 // bytes; Postgres's own limit is 63
	maxSchemas       = 100
	maxRoles         = 64  // and of one list of roles
	maxArguments     = 100 // Postgres's own limit
	maxColumns       = 1664
	maxKeys          = 1000 // indexes, unique keys, foreign keys of one relation
	maxKeyColumns    = 32   // Postgres's own limit
)

// ParseSnapshot reads a snapshot from JSON, strictly. Errors are fault.Invalid
// or fault.TooLarge.
func ParseSnapshot(data []byte) (*Snapshot, error) {
	if len(data) > MaxSnapshotBytes {
		return nil, fault.New(fault.TooLarge, "snapshot_too_large", "The schema snapshot is larger than %d bytes. Import fewer schemas.", MaxSnapshotBytes)
	}
	if holdsNUL(data) {
		return nil, fault.New(fault.Invalid, "invalid_snapshot", "The schema snapshot holds a NUL character, which Postgres cannot have. Make one with chumbo import.")
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.DisallowUnknownFields()
	var snap Snapshot
	if err := decoder.Decode(&snap); err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "invalid_snapshot", "This is not a schema snapshot of format %s. Make one with chumbo import.", SnapshotFormat)
	}
	if _, err := decoder.Token(); !errors.Is(err, io.EOF) {
		return nil, fault.New(fault.Invalid, "invalid_snapshot", "Something follows the schema snapshot. Send one JSON object.")
	}
	snap.Normalize()
	if err := snap.Validate(); err != nil {
		return nil, err
	}
	return &snap, nil
}

// holdsNUL reports whether JSON says NUL anywhere: \u0000 whose backslash is
// not itself escaped.
func holdsNUL(data []byte) bool {
	for i := 0; i < len(data); i++ {
		if data[i] != '\\' {
			continue
		}
		if bytes.HasPrefix(data[i:], []byte(`\u0000`)) {
			return true
		}
		i++ // what the backslash escapes
	}
	return false
}

// Normalize sorts what has no order of its own, cuts comments, and writes
// empty lists as such, so that equal databases give equal bytes.
func (s *Snapshot) Normalize() {
	s.Schemas, s.Roles = notNil(s.Schemas), notNil(s.Roles)
	s.Enums, s.Composites = notNil(s.Enums), notNil(s.Composites)
	s.Relations, s.Functions = notNil(s.Relations), notNil(s.Functions)
	for i := range s.Schemas {
		s.Schemas[i].Usage = sortedNames(s.Schemas[i].Usage)
	}
	slices.SortFunc(s.Roles, func(a, b RoleInfo) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(s.Enums, func(a, b EnumType) int { return compareNames(a.Schema, a.Name, b.Schema, b.Name) })
	slices.SortFunc(s.Composites, func(a, b CompositeType) int { return compareNames(a.Schema, a.Name, b.Schema, b.Name) })
	slices.SortFunc(s.Relations, func(a, b RelationSchema) int { return compareNames(a.Schema, a.Name, b.Schema, b.Name) })
	slices.SortFunc(s.Buckets, func(a, b BucketInfo) int { return cmp.Compare(a.Name, b.Name) })
	for i := range s.Buckets {
		s.Buckets[i].MIMETypes = sortedNames(s.Buckets[i].MIMETypes)
	}
	for i := range s.Enums {
		s.Enums[i].Labels = notNil(s.Enums[i].Labels)
	}
	for i := range s.Composites {
		s.Composites[i].Attributes = notNil(s.Composites[i].Attributes)
	}
	for i := range s.Relations {
		s.Relations[i].normalize()
	}
	for i := range s.Functions {
		f := &s.Functions[i]
		f.Comment = cut(f.Comment)
		f.Arguments, f.Execute = notNil(f.Arguments), sortedNames(f.Execute)
	}
	slices.SortFunc(s.Functions, func(a, b FunctionSchema) int {
		if c := compareNames(a.Schema, a.Name, b.Schema, b.Name); c != 0 {
			return c
		}
		return cmp.Compare(argumentKey(a), argumentKey(b))
	})
}

func (r *RelationSchema) normalize() {
	r.Comment = cut(r.Comment)
	r.Columns, r.PrimaryKey = notNil(r.Columns), notNil(r.PrimaryKey)
	r.Unique, r.ForeignKeys, r.Indexes = notNil(r.Unique), notNil(r.ForeignKeys), notNil(r.Indexes)
	r.Delete, r.Public = sortedNames(r.Delete), sortedNames(r.Public)
	for i := range r.PolicyRoles {
		r.PolicyRoles[i].Commands = sortedNames(r.PolicyRoles[i].Commands)
	}
	r.PolicyRoles = slices.DeleteFunc(r.PolicyRoles, func(p PolicyRole) bool { return len(p.Commands) == 0 })
	slices.SortFunc(r.PolicyRoles, func(a, b PolicyRole) int { return cmp.Compare(a.Role, b.Role) })
	for i := range r.Columns {
		c := &r.Columns[i]
		c.Comment = cut(c.Comment)
		c.Select, c.Insert, c.Update = sortedNames(c.Select), sortedNames(c.Insert), sortedNames(c.Update)
	}
	slices.SortFunc(r.Unique, func(a, b UniqueKey) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(r.ForeignKeys, func(a, b ForeignKey) int { return cmp.Compare(a.Name, b.Name) })
	slices.SortFunc(r.Indexes, func(a, b IndexSchema) int { return cmp.Compare(a.Name, b.Name) })
	for i := range r.Indexes {
		r.Indexes[i].Keys = notNil(r.Indexes[i].Keys)
	}
}

// Validate checks what the compiler relies on. Its error is fault.Invalid with
// an issue per thing that is wrong.
func (s *Snapshot) Validate() error {
	v := &snapshotCheck{}
	if s.Format != SnapshotFormat {
		v.addf("format", "is %q; this version reads %s", s.Format, SnapshotFormat)
	}
	if s.MaxRows < 1 || s.MaxRows > 1_000_000_000 {
		v.addf("max_rows", "must be a positive number")
	}
	if len(s.Schemas) == 0 {
		v.addf("schemas", "name at least one exposed schema")
	}
	if len(s.Relations) > maxRelations || len(s.Functions) > maxFunctions {
		v.addf("relations", "at most %d relations and %d functions: import fewer schemas", maxRelations, maxFunctions)
		return v.err()
	}
	if v.sizes(s); len(v.issues) > 0 {
		return v.err() // nothing that is too large is looked at closely
	}
	exposed := map[string]bool{}
	for i, schema := range s.Schemas {
		v.name(fmt.Sprintf("schemas[%d].name", i), schema.Name, exposed)
	}
	names := map[string]bool{}
	for i := range s.Relations {
		v.relation(fmt.Sprintf("relations[%d]", i), &s.Relations[i], exposed, names)
	}
	for i := range s.Functions {
		v.function(fmt.Sprintf("functions[%d]", i), &s.Functions[i], exposed)
	}
	buckets := map[string]bool{}
	for i, b := range s.Buckets {
		v.name(fmt.Sprintf("buckets[%d].name", i), b.Name, buckets)
		if b.FileSizeLimit < 0 {
			v.addf(fmt.Sprintf("buckets[%d].file_size_limit", i), "must be a positive number, or missing")
		}
	}
	enums := map[string]bool{}
	for i, e := range s.Enums {
		v.name(fmt.Sprintf("enums[%d]", i), e.Schema+"."+e.Name, enums)
	}
	return v.err()
}

// Digest is SHA-256 over the RFC 8785 form of the snapshot, in hex.
func (s *Snapshot) Digest() (string, error) { return canonicalDigest(s) }

// sizes bounds every list of which each entry is held against others: no
// database has more, and a hostile one would take hours.
func (v *snapshotCheck) sizes(s *Snapshot) {
	most := func(path string, n, limit int) {
		if n > limit {
			v.addf(path, "%d entries; at most %d", n, limit)
		}
	}
	most("schemas", len(s.Schemas), maxSchemas)
	most("roles", len(s.Roles), maxRoles)
	most("buckets", len(s.Buckets), maxBuckets)
	for i, b := range s.Buckets {
		most(fmt.Sprintf("buckets[%d].mime_types", i), len(b.MIMETypes), maxKeys)
	}
	for i, schema := range s.Schemas {
		most(fmt.Sprintf("schemas[%d].usage", i), len(schema.Usage), maxRoles)
	}
	for i := range s.Relations {
		r, at := &s.Relations[i], fmt.Sprintf("relations[%d].", i)
		most(at+"columns", len(r.Columns), maxColumns)
		most(at+"policy_roles", len(r.PolicyRoles), maxRoles)
		most(at+"delete", len(r.Delete), maxRoles)
		most(at+"public", len(r.Public), len(commands))
		most(at+"indexes", len(r.Indexes), maxKeys)
		most(at+"unique", len(r.Unique), maxKeys)
		most(at+"foreign_keys", len(r.ForeignKeys), maxKeys)
		columns := len(r.PrimaryKey)
		for _, x := range r.Indexes {
			columns = max(columns, len(x.Keys))
		}
		for _, x := range r.Unique {
			columns = max(columns, len(x.Columns))
		}
		for _, x := range r.ForeignKeys {
			columns = max(columns, len(x.Columns), len(x.ReferencedColumns))
		}
		most(at+"keys", columns, maxKeyColumns)
		roles := 0
		for _, c := range r.Columns {
			roles = max(roles, len(c.Select), len(c.Insert), len(c.Update))
		}
		most(at+"columns.rights", roles, maxRoles)
	}
	for i := range s.Functions {
		f, at := &s.Functions[i], fmt.Sprintf("functions[%d].", i)
		most(at+"arguments", len(f.Arguments), maxArguments)
		most(at+"returns.columns", len(f.Returns.Columns), maxColumns)
		most(at+"execute", len(f.Execute), maxRoles)
	}
}

// snapshotCheck collects issues.
type snapshotCheck struct{ issues []fault.Issue }

func (v *snapshotCheck) addf(path, format string, args ...any) {
	if len(v.issues) < 100 {
		v.issues = append(v.issues, fault.Issue{Path: path, Message: fmt.Sprintf(format, args...)})
	}
}

func (v *snapshotCheck) err() error {
	if len(v.issues) == 0 {
		return nil
	}
	return fault.New(fault.Invalid, "invalid_snapshot", "The schema snapshot is not valid. Make one with chumbo import.").WithIssues(v.issues...)
}

// name checks a name and that it is the only one.
func (v *snapshotCheck) name(path, name string, seen map[string]bool) {
	if name == "" || len(name) > 2*maxName || !utf8.ValidString(name) {
		v.addf(path, "must be a name of 1 to %d bytes", 2*maxName)
		return
	}
	if seen[name] {
		v.addf(path, "%s is there twice", quoteName(name))
	}
	seen[name] = true
}

func (v *snapshotCheck) relation(path string, r *RelationSchema, exposed, names map[string]bool) {
	if !exposed[r.Schema] {
		v.addf(path+".schema", "%s is not among schemas", quoteName(r.Schema))
	}
	v.name(path+".name", r.Schema+"."+r.Name, names)
	if !slices.Contains([]string{KindTable, KindView, KindMaterializedView, KindForeignTable}, r.Kind) {
		v.addf(path+".kind", "unknown kind %s", quoteName(r.Kind))
	}
	columns := map[string]bool{}
	for i, c := range r.Columns {
		v.name(fmt.Sprintf("%s.columns[%d].name", path, i), c.Name, columns)
		v.typeRef(fmt.Sprintf("%s.columns[%d].type", path, i), c.Type)
	}
	for i, name := range r.PrimaryKey {
		if !columns[name] {
			v.addf(fmt.Sprintf("%s.primary_key[%d]", path, i), "%s is not among the columns", quoteName(name))
		}
	}
}

func (v *snapshotCheck) function(path string, f *FunctionSchema, exposed map[string]bool) {
	if !exposed[f.Schema] {
		v.addf(path+".schema", "%s is not among schemas", quoteName(f.Schema))
	}
	if f.Name == "" || len(f.Name) > maxName {
		v.addf(path+".name", "must be a name of 1 to %d bytes", maxName)
	}
	if !slices.Contains([]string{VolatilityImmutable, VolatilityStable, VolatilityVolatile}, f.Volatility) {
		v.addf(path+".volatility", "unknown volatility %s", quoteName(f.Volatility))
	}
	v.typeRef(path+".returns.type", f.Returns.Type)
	for i, a := range f.Arguments {
		v.typeRef(fmt.Sprintf("%s.arguments[%d].type", path, i), a.Type)
	}
	for i, a := range f.Returns.Columns {
		v.typeRef(fmt.Sprintf("%s.returns.columns[%d].type", path, i), a.Type)
	}
}

// typeRef checks that a type has a name, and that its base is fully resolved.
func (v *snapshotCheck) typeRef(path string, t TypeRef) {
	for depth := 0; ; depth++ {
		if t.Name == "" || t.Schema == "" || len(t.Name) > maxName || len(t.Schema) > maxName {
			v.addf(path, "must name a type and its schema")
			return
		}
		if t.Base == nil {
			return
		}
		if depth > 2 {
			v.addf(path, "base must be the type below all domains")
			return
		}
		t = *t.Base
	}
}

func notNil[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}

func sortedNames(s []string) []string { return notNil(slices.Compact(slices.Sorted(slices.Values(s)))) }

func compareNames(as, an, bs, bn string) int { return cmp.Or(cmp.Compare(as, bs), cmp.Compare(an, bn)) }

func cut(s string) string {
	if utf8.RuneCountInString(s) <= MaxComment {
		return s
	}
	return string([]rune(s)[:MaxComment])
}

func argumentKey(f FunctionSchema) string {
	var key strings.Builder
	for _, a := range f.Arguments[:min(len(f.Arguments), maxArguments)] {
		fmt.Fprintf(&key, "%s %s.%s %t,", a.Name, a.Type.Schema, a.Type.Name, a.Type.Array)
	}
	return key.String()
}
