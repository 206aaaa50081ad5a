package supabase

import (
	"net/url"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// Limits of names in Storage, in characters (all are ASCII).
const (
	maxBucket = 100
	maxPath   = 1024
)

// routes are the names of Storage's own below /object/: a bucket of such a name
// cannot be told from the route where a path has none before it.
var routes = map[string]bool{
	"authenticated": true, "public": true, "sign": true, "info": true, "list": true, "list-v2": true,
	"upload": true, "copy": true, "move": true,
}

// objectPath is a file's path as it goes into a URL: bucket and path escaped
// segment by segment. plain says that no route name comes before them.
func objectPath(bucket, path string, plain bool) (string, error) {
	b, err := bucketSegment(bucket, plain)
	if err != nil {
		return "", err
	}
	if len(path) > maxPath {
		return "", badPath()
	}
	out := []string{b}
	for segment := range strings.SplitSeq(path, "/") {
		if !isSegment(segment) {
			return "", badPath()
		}
		out = append(out, url.PathEscape(segment))
	}
	return strings.Join(out, "/"), nil
}

func bucketSegment(bucket string, plain bool) (string, error) {
	if !isSegment(bucket) || len(bucket) > maxBucket {
		return "", unsent(fault.Invalid, "bucket_name", "This cannot be the name of a bucket. Names have at most 100 of the characters A-Z a-z 0-9, space and _ ! - . * ' ( ) & $ @ = ; : + , ?.")
	}
	if plain && routes[strings.ToLower(bucket)] {
		return "", unsent(fault.Invalid, "bucket_name", "A bucket of this name cannot be reached: Storage has a route of the same name. Use another bucket.")
	}
	return url.PathEscape(bucket), nil
}

func badPath() error {
	return unsent(fault.Invalid, "file_path", "This cannot be a file's path. Its names can have A-Z a-z 0-9, space and _ ! - . * ' ( ) & $ @ = ; : + , ? only, with / between folders; none may be empty, . or .., and all have at most 1024 characters.")
}

// isSegment reports whether Storage takes the name for one name.
func isSegment(s string) bool { return s != "" && s != "." && s != ".." && isKey(s) }

// marks are the characters that names may have besides letters and digits.
const marks = "_!-.*'() &$@=;:+,?"

// isKey reports whether all characters are ones that Storage takes.
func isKey(s string) bool {
	for i := range len(s) {
		c := s[i]
		word := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !word && strings.IndexByte(marks, c) < 0 {
			return false
		}
	}
	return true
}
