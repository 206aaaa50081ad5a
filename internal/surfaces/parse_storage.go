package surfaces

import (
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v4"
)

// Sizes of files, in bytes.
const (
	DefaultInline = 64 << 10
	MaxInline     = 1 << 20
	MaxUpload     = 700_000 // base64 of it fits into the largest request
)

// maxTypes is how many media types an upload may list.
const maxTypes = 50

// subjectSegment stands for the caller's subject in a prefix.
const subjectSegment = "{sub}"

var (
	// bucketName is what Storage accepts as a bucket's id.
	bucketName = regexp.MustCompile(`^[\w!\-.*'() &$@=;:+,?]{1,100}$`)
	// fileSegment is what it accepts between the slashes of a path.
	fileSegment = regexp.MustCompile(`^[\w!\-.*'() &$@=;:+,?]+$`)
	// acceptedType is a media type, or all of a kind.
	acceptedType = regexp.MustCompile(`^[a-z0-9][a-z0-9!#$&^_.+-]{0,63}/(\*|[a-z0-9][a-z0-9!#$&^_.+-]{0,126})$`)
)

func (s *StorageSpec) by() operationSpecs { return s.By }
func (s *StorageSpec) operations() keys   { return fileOperations }
func (s *StorageSpec) what() string       { return "bucket" }

func (s *StorageSpec) offers(operation string) bool {
	return slices.ContainsFunc(s.Operations, func(t Text) bool { return t.Value == operation })
}

// storageTool reads tools over the files of a bucket.
func (r *reader) storageTool(n *yaml.Node, at place) *ToolSpec {
	m, _ := r.mapping(n, at, "a tool", storageKeys)
	t := &ToolSpec{at: at, public: at}
	r.common(m, t)
	s := &StorageSpec{FilePlaceSpec: r.filePlace(m)}
	t.Storage = s
	s.Operations = r.fileOperations(m)
	for _, op := range s.Operations {
		s.By = append(s.By, &OperationSpec{Operation: op.Value, Result: Text{Value: string(ResultHybrid), at: at}, at: at})
	}
	s.Base, s.Noun, s.About = r.named(m, s)
	r.scopesByOperation(m, s)
	r.policyByOperation(m, s)
	r.confirmByOperation(m, s)
	r.fileLimits(m, s)
	return t
}

// filePlace reads a part of a bucket: storage, prefix and public_bucket.
func (r *reader) filePlace(m mapping) FilePlaceSpec {
	s := FilePlaceSpec{public: m.entries["public_bucket"].at}
	s.Public, _ = m.boolean("public_bucket")
	t, ok := m.text("storage", textRule{max: 100, oneLine: true})
	if ok && !bucketName.MatchString(t.Value) {
		r.errorf(t.at, "%s is not the name of a bucket; a folder in it is written as prefix", quoteName(t.Value))
	}
	s.Bucket = t
	if t, ok := m.text("prefix", textRule{max: 500, oneLine: true}); ok {
		s.Prefix = t
		r.checkPrefix(t)
	}
	return s
}

// checkPrefix refuses what is no folder.
func (r *reader) checkPrefix(t Text) {
	if trimmed := strings.Trim(t.Value, "/"); trimmed != t.Value {
		r.errorf(t.at, "a prefix has no slash around it: write prefix: %s", trimmed)
		return
	}
	for segment := range strings.SplitSeq(t.Value, "/") {
		switch {
		case segment == subjectSegment:
		case strings.ContainsAny(segment, "{}"):
			r.errorf(t.at, "%s stands for the caller's subject as a whole folder, such as reports/{sub}; nothing else is filled in", subjectSegment)
			return
		case segment == "" || segment == "." || segment == ".." || !fileSegment.MatchString(segment):
			r.errorf(t.at, "%s is not the name of a folder in Storage", quoteName(segment))
			return
		}
	}
}

func (r *reader) fileOperations(m mapping) []Text {
	texts, ok := m.list("operations", ruleName)
	if !ok {
		if !m.given("operations") {
			return []Text{{Value: opList, at: m.at}, {Value: opRead, at: m.at}}
		}
		return nil
	}
	var ops []Text
	for _, t := range texts {
		switch why := neverFiles[t.Value]; {
		case slices.Contains(fileOperations.known, t.Value):
			ops = append(ops, t)
		case why != "":
			r.errorf(t.at, "%s is no operation on files: %s", t.Value, why)
		default:
			r.errorf(t.at, "unknown operation %s%s", quoteName(t.Value), r.suggest(t.Value, fileOperations.known, "; files have "))
		}
	}
	if len(texts) == 0 {
		r.errorf(m.entries["operations"].at, "operations is an empty list: name some of %s", strings.Join(fileOperations.known, ", "))
	}
	return ops
}

// fileLimits reads what bounds single operations. What none of them has would
// hold nobody back.
func (r *reader) fileLimits(m mapping, s *StorageSpec) {
	for _, b := range []struct{ key, operation string }{
		{"limit", opList}, {"inline", opRead}, {"types", opUpload}, {"max_bytes", opUpload}, {"overwrite", opUpload},
	} {
		if m.given(b.key) && !s.offers(b.operation) && len(s.Operations) > 0 {
			r.errorf(m.entries[b.key].key, "%s belongs to the operation %s, which this bucket does not offer: add it to operations, or leave %s out", b.key, b.operation, b.key)
		}
	}
	if s.offers(opList) {
		s.Limit = r.limit(m)
	}
	s.Inline = DefaultInline
	if v, ok := m.integer("inline", 0, MaxInline); ok {
		s.Inline = v
	}
	if !s.offers(opUpload) {
		return
	}
	s.Overwrite, _ = m.boolean("overwrite")
	s.MaxBytes, s.maxBytes = MaxUpload, m.entries["max_bytes"].at
	if v, ok := m.integer("max_bytes", 1, MaxUpload); ok {
		s.MaxBytes = v
	}
	s.Types, _ = m.list("types", ruleName)
	if e, ok := m.entries["types"]; ok && (len(s.Types) == 0 || len(s.Types) > maxTypes) {
		r.errorf(e.at, "types lists from 1 to %d media types; leave it out for any", maxTypes)
	}
	for _, t := range s.Types {
		if !acceptedType.MatchString(t.Value) {
			r.errorf(t.at, "%s is not a media type: write one in lower case, such as application/pdf, or all of a kind, such as image/*", quoteName(t.Value))
		}
	}
}
