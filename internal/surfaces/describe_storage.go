package surfaces

import (
	"fmt"
	"strings"
)

func (s *StorageSpec) title(o *OperationSpec) string {
	if o.Title.Value != "" {
		return o.Title.Value
	}
	noun := s.Noun.Value
	if noun == "" {
		noun = humanize(s.Bucket.Value)
	}
	if len(s.By) == 1 && s.Noun.Value != "" {
		return noun
	}
	return noun + ": " + map[string]string{opList: "list files", opRead: "read a file", opUpload: "upload a file"}[o.Operation]
}

// describe tells a model what a tool over files does, in the builder's words
// where there are some.
func (s *StorageSpec) describe(o *OperationSpec, t *Tool) string {
	lead := map[string]string{
		opList: "Lists the files and folders of " + s.words() + ".", opRead: "Reads one file of " + s.words() + ".", opUpload: "Uploads one file to " + s.words() + ".",
	}[o.Operation]
	switch {
	case o.Description.Value != "":
		lead = ended(o.Description.Value)
	case s.About.Value != "":
		lead += " " + ended(s.About.Value)
	}
	switch o.Operation {
	case opList:
		return lead + fmt.Sprintf(" Returns name, folder, size, type and updated_at, %d a page, %d at most. While has_more is true, call again with cursor set to next_cursor.", t.Files.DefaultLimit, t.Files.MaxLimit)
	case opRead:
		return lead + " Text is returned as text, a small file of another kind as it is, a larger one as a link that works for a minute. A file the caller may not see is not found."
	}
	exists := "A file that is there already is not replaced."
	if t.Upload.Overwrite {
		exists = "A file that is there already is replaced."
	}
	kinds := ""
	if len(t.Upload.Types) > 0 {
		kinds = " of " + strings.Join(t.Upload.Types, ", ")
	}
	return lead + fmt.Sprintf(" At most %d bytes%s, as text or base64. %s", t.Upload.MaxBytes, kinds, exists)
}

// words name the bucket, and the folder where there is one.
func (s *StorageSpec) words() string {
	switch {
	case s.Prefix.Value == "":
		return s.Bucket.Value
	case strings.Contains(s.Prefix.Value, subjectSegment):
		return s.Bucket.Value + " (the caller's own folder)"
	}
	return s.Bucket.Value + " (the folder " + s.Prefix.Value + ")"
}
