package surfaces

import (
	"fmt"
	"slices"
	"strings"
)

// Lengths of what a caller says of a file, in characters.
const (
	maxFilePath    = 1024
	maxFileSearch  = 100
	maxContentType = 200
)

// storage compiles tools over the files of a bucket.
func (c *compiler) storage(t *ToolSpec) {
	s, before := t.Storage, len(c.problems)
	bucket := c.bucket(s.FilePlaceSpec, !slices.Contains(c.roles(t), "anon"))
	if bucket != nil && s.offers(opUpload) {
		c.uploadFits(s, bucket)
	}
	if HasErrors(c.problems[before:]) {
		return
	}
	c.used.bucket(c.ix, s.Bucket.Value)
	for _, o := range s.By {
		c.fileTool(t, o, bucket)
	}
}

// bucket checks a part of a bucket, and returns what is known of it. users says
// whether every caller has a session of the project.
func (c *compiler) bucket(s FilePlaceSpec, users bool) *BucketInfo {
	if s.Bucket.Value == "" {
		return nil // reported before
	}
	if strings.Contains(s.Prefix.Value, subjectSegment) && !users {
		c.errorf(s.Prefix.at, "%s is the subject of the caller's session, and some callers have none: leave them out of access.mode and leave public out, or write a prefix without it", subjectSegment)
	}
	if c.ix.buckets == nil {
		c.warnf(s.Bucket.at, "nothing is known of this project's buckets, so nobody can tell whether %s is there: import the schema again (chumbo import)", quoteName(s.Bucket.Value))
		return nil
	}
	b := c.ix.buckets[s.Bucket.Value]
	switch {
	case b == nil:
		var names []string
		for _, one := range c.ix.snap.Buckets {
			names = append(names, one.Name)
		}
		c.errorf(s.Bucket.at, "there is no bucket %s in the imported schema%s If it is new, import the schema again (chumbo import)",
			quoteName(s.Bucket.Value), ended(c.suggest(s.Bucket.Value, names, "; there are ")))
	case b.Public && !s.Public:
		c.errorf(s.Bucket.at, "the bucket %s is public: Row Level Security does not count when its files are read, and whoever knows a path reads it without a token. If that is meant, write public_bucket: true; if not, make the bucket private in Supabase", quoteName(b.Name))
	case !b.Public && s.Public:
		c.errorf(s.public, "the bucket %s is private: leave public_bucket out", quoteName(b.Name))
	}
	return b
}

// place is the part of a bucket as plans have it.
func (s FilePlaceSpec) place() FilePlace {
	return FilePlace{Bucket: s.Bucket.Value, Prefix: s.Prefix.Value}
}

// uploadFits holds what the file accepts against what the bucket does.
func (c *compiler) uploadFits(s *StorageSpec, b *BucketInfo) {
	if b.FileSizeLimit > 0 && b.FileSizeLimit < int64(s.MaxBytes) {
		if s.maxBytes.line > 0 {
			c.errorf(s.maxBytes, "the bucket takes files of %d bytes at most: write max_bytes: %d, or leave it out", b.FileSizeLimit, b.FileSizeLimit)
		}
	}
	for _, t := range s.Types {
		if len(b.MIMETypes) > 0 && !slices.ContainsFunc(b.MIMETypes, func(allowed string) bool { return mediaTypeWithin(t.Value, allowed) }) {
			c.errorf(t.at, "the bucket does not take %s: it takes %s", t.Value, sentenceList(b.MIMETypes))
		}
	}
}

// mediaTypeWithin reports whether all that one media type stands for is of
// another, such as image/*.
func mediaTypeWithin(t, allowed string) bool {
	kind, all := strings.CutSuffix(strings.ToLower(allowed), "*")
	return strings.EqualFold(t, allowed) || all && strings.HasPrefix(t, kind) && (kind == "" || strings.HasSuffix(kind, "/"))
}

// fileTool makes one tool.
func (c *compiler) fileTool(t *ToolSpec, o *OperationSpec, b *BucketInfo) {
	s := t.Storage
	tool := c.common(t, o)
	tool.Title = s.title(o)
	tool.Annotations = Annotations{ReadOnly: true, Idempotent: true}
	switch o.Operation {
	case opList:
		tool.Files = &FilesPlan{Place: s.place(), DefaultLimit: s.Limit.Default, MaxLimit: s.Limit.Max}
		tool.Input, tool.Output = c.raw(t.at, s.listInput()), c.raw(t.at, filesOutput())
	case opRead:
		tool.ReadFile = &ReadFilePlan{Place: s.place(), Inline: s.Inline}
		tool.Input = c.raw(t.at, readInput())
	case opUpload:
		plan := &UploadFilePlan{Place: s.place(), Overwrite: s.Overwrite, Types: values(s.Types), MaxBytes: s.MaxBytes}
		if b != nil && b.FileSizeLimit > 0 {
			plan.MaxBytes = int(min(int64(plan.MaxBytes), b.FileSizeLimit))
		}
		if b != nil && len(plan.Types) == 0 {
			plan.Types = lower(b.MIMETypes)
		}
		tool.Upload = plan
		tool.Annotations = Annotations{Destructive: s.Overwrite, Idempotent: s.Overwrite}
		tool.Input, tool.Output = c.raw(t.at, uploadInput(plan)), c.raw(t.at, uploadOutput())
	}
	tool.Description = s.describe(o, &tool)
	c.asking(&tool, o, false)
	base := s.Bucket.Value
	if s.Base.Value != "" {
		base = s.Base.Value
	}
	m := made{tool: tool, at: o.at, key: base + "_" + o.Operation}
	m.tool.Name = derivedName(base, "_"+o.Operation)
	if o.Name.Value != "" {
		m.explicit, m.at, m.tool.Name = true, o.Name.at, o.Name.Value
	}
	c.made = append(c.made, m)
}

func lower(list []string) []string {
	var out []string
	for _, s := range list {
		out = append(out, strings.ToLower(s))
	}
	return out
}

// nameReadTools tells each list of files which tool reads one.
func (c *compiler) nameReadTools() {
	readers := map[FilePlace]string{}
	for _, m := range c.made {
		if m.tool.ReadFile != nil && readers[m.tool.ReadFile.Place] == "" {
			readers[m.tool.ReadFile.Place] = m.tool.Name
		}
	}
	for i := range c.made {
		if list := c.made[i].tool.Files; list != nil {
			list.ReadTool = readers[list.Place]
		}
	}
}

func (s *StorageSpec) listInput() *schema {
	in := inputObject()
	in.Properties.add("folder", &schema{Type: "string", MaxLength: ptr(maxFilePath), Description: "The folder to look in, such as 2026/reports. Left out: the topmost one."})
	in.Properties.add("search", &schema{Type: "string", MaxLength: ptr(maxFileSearch), Description: "Only files and folders whose names contain this."})
	in.Properties.add("limit", &schema{
		Type: "integer", Minimum: ptr(1), Maximum: ptr(s.Limit.Max), Default: s.Limit.Default,
		Description: fmt.Sprintf("How many to return, at most %d.", s.Limit.Max),
	})
	in.Properties.add("cursor", &schema{Type: "string", MaxLength: ptr(MaxCursor), Description: "next_cursor of the page before, with the same folder and search; leave out for the first page."})
	return in
}

func filesOutput() *schema {
	file := outputObject()
	file.Properties.add("name", &schema{Type: "string"})
	file.Properties.add("folder", &schema{Type: "boolean"})
	file.Properties.add("size", (&schema{Type: "integer"}).orNull())
	file.Properties.add("type", (&schema{Type: "string"}).orNull())
	file.Properties.add("updated_at", (&schema{Type: "string"}).orNull())
	file.Required = []string{"name", "folder"}
	return pageOutput(file)
}

func readInput() *schema {
	in := inputObject()
	in.Properties.add("path", &schema{Type: "string", MinLength: ptr(1), MaxLength: ptr(maxFilePath), Description: "The file, with its folders, such as 2026/reports/march.pdf."})
	in.Required = []string{"path"}
	return in
}

func uploadInput(p *UploadFilePlan) *schema {
	in := readInput()
	kinds := "Its media type, such as text/plain."
	if len(p.Types) > 0 {
		kinds = "Its media type: " + strings.Join(p.Types, ", ") + "."
	}
	in.Properties.add("content_type", &schema{Type: "string", MinLength: ptr(3), MaxLength: ptr(maxContentType), Description: kinds})
	in.Properties.add("text", &schema{Type: "string", MaxLength: ptr(p.MaxBytes), Description: fmt.Sprintf("What the file holds, as text: at most %d bytes of UTF-8. Exactly one of text and base64 is given.", p.MaxBytes)})
	in.Properties.add("base64", &schema{Type: "string", MaxLength: ptr((p.MaxBytes + 2) / 3 * 4), Description: fmt.Sprintf("What the file holds, in base64: at most %d bytes decoded.", p.MaxBytes)})
	in.Required = []string{"path", "content_type"}
	return in
}

func uploadOutput() *schema {
	out := outputObject()
	out.Properties.add("path", &schema{Type: "string"})
	out.Properties.add("size", &schema{Type: "integer"})
	out.Properties.add("content_type", &schema{Type: "string"})
	out.Required = []string{"path", "size", "content_type"}
	return out
}
