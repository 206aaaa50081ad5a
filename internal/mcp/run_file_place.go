package mcp

import (
	"errors"
	"net/url"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// subjectSegment stands in a prefix for the caller's own folder.
const subjectSegment = "{sub}"

// maxFilePath bounds a path in Storage, in bytes.
const maxFilePath = 1024

// folder is the place's folder for this caller, without slashes around it. One
// that is the caller's own is never that of somebody who is no user of the
// project, and never more than one folder.
func (t *asker) folder(p surfaces.FilePlace) (string, error) {
	if !strings.Contains(p.Prefix, subjectSegment) {
		return p.Prefix, nil
	}
	key := t.call.caller.Key
	if !key.Mode.User() || !isSubject(key.Subject) {
		return "", errors.New("caller without a folder of their own")
	}
	parts := strings.Split(p.Prefix, "/")
	for i, part := range parts {
		if part == subjectSegment {
			parts[i] = key.Subject
		}
	}
	return strings.Join(parts, "/"), nil
}

// isSubject reports whether a subject can be the name of a folder as it is:
// those of Supabase Auth are UUIDs. Storage lists folders without telling upper
// from lower case, and takes _ for any character.
func isSubject(s string) bool {
	if s == "" || len(s) > 128 || strings.Trim(s, ".") == "" {
		return false
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		word := c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '-' || c == '.'
		if !word {
			return false
		}
	}
	return true
}

// below is the path of a file or folder below the place. What could lead out of
// it, or be read in two ways, is refused in the name of the argument.
func (t *asker) below(p surfaces.FilePlace, argument, path string) (string, error) {
	switch {
	case len(path) > maxFilePath:
		return "", invalid(argument, "is longer than a path can be")
	case strings.ContainsFunc(path, func(r rune) bool { return r == '\\' || r < ' ' || r == 0x7F }):
		return "", invalid(argument, "must not hold backslashes or control characters")
	}
	for segment := range strings.SplitSeq(path, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return "", invalid(argument, "is a path such as folder/file.txt: without / at its ends, and no part of it empty, . or ..")
		}
	}
	folder, err := t.folder(p)
	if err != nil || folder == "" {
		return path, err
	}
	return folder + "/" + path, nil
}

// fileURI names a file to clients. It is no address.
func fileURI(bucket, path string) string {
	parts := strings.Split(path, "/")
	for i, part := range parts {
		parts[i] = url.PathEscape(part)
	}
	return "storage://" + url.PathEscape(bucket) + "/" + strings.Join(parts, "/")
}
