package surfaces

import (
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds of the URIs of resources.
const (
	maxResourceURI = 500 // characters, as declared
	maxVariables   = 8
	// MaxResourceURI is the longest URI that Match looks at, in bytes.
	MaxResourceURI = 8 << 10
)

// Match reports whether a concrete URI is one of the resource's, byte for byte,
// and the values of its variables, each percent-decoded once. It takes time in
// the length of the URI.
//
// {name} is one segment: it has no raw "/", "?" or "#". {+name} goes to the end
// and has no segment that is empty, "." or "..". No value is empty, is other
// than UTF-8 or holds a control character; one that names a file is a whole
// path or a single name, without a backslash.
func (r *Resource) Match(uri string) (values map[string]string, ok bool) {
	if len(uri) > MaxResourceURI {
		return nil, false
	}
	values = map[string]string{}
	rest := r.URI
	for {
		literal, expression, after, found := nextExpression(rest)
		if !found {
			return values, uri == literal
		}
		var cut bool
		if uri, cut = strings.CutPrefix(uri, literal); !cut {
			return nil, false
		}
		name, path := strings.CutPrefix(expression, "+")
		raw, left, fits := takeValue(uri, path, after)
		if !fits {
			return nil, false
		}
		value, good := decodeValue(raw)
		if !good || (path || r.File != nil) && !isPath(value) || r.File != nil && !path && strings.Contains(value, "/") {
			return nil, false
		}
		values[name], uri, rest = value, left, after
	}
}

// Expand is the URI in which the values stand for the variables: what Match
// reads back. Everything but unreserved characters is percent-encoded, in
// {+name} everything but those and reserved ones.
func (r *Resource) Expand(values map[string]string) string {
	var b strings.Builder
	rest := r.URI
	for {
		literal, expression, after, found := nextExpression(rest)
		b.WriteString(literal)
		if !found {
			return b.String()
		}
		if name, path := strings.CutPrefix(expression, "+"); path {
			encode(&b, values[name], uriReserved)
		} else {
			encode(&b, values[name], "")
		}
		rest = after
	}
}

// nextExpression is what stands before the first expression of a template, the
// expression without its braces, and what follows. Of a template without one,
// literal is all of it.
func nextExpression(template string) (literal, expression, after string, found bool) {
	literal, rest, found := strings.Cut(template, "{")
	if !found {
		return template, "", "", false
	}
	expression, after, found = strings.Cut(rest, "}")
	return literal, expression, after, found
}

// takeValue cuts the raw value of an expression off a URI: for {+name} all of
// it, else up to where the text that follows in the template first stands, or
// for the last expression ends the URI.
func takeValue(uri string, path bool, after string) (raw, left string, ok bool) {
	if path {
		return uri, "", isRaw(uri, func(c byte) bool { return segmentByte(c) || strings.IndexByte("/?#[]", c) >= 0 })
	}
	literal, _, _, more := nextExpression(after)
	end := len(uri) - len(literal)
	if more {
		if len(uri) == 0 {
			return "", "", false
		}
		end = strings.Index(uri[1:], literal) + 1
	}
	if end < 1 {
		return "", "", false
	}
	return uri[:end], uri[end:], isRaw(uri[:end], segmentByte)
}

// isRaw reports whether a raw value is of these bytes and whole percent
// encodings, and not empty.
func isRaw(raw string, allowed func(c byte) bool) bool {
	for i := 0; i < len(raw); i++ {
		if raw[i] == '%' {
			if !isEncoded(raw[i:]) {
				return false
			}
			i += 2
			continue
		}
		if !allowed(raw[i]) {
			return false
		}
	}
	return raw != ""
}

func isEncoded(s string) bool { return len(s) >= 3 && hexByte(s[1]) && hexByte(s[2]) }

func hexByte(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

const (
	uriMarks     = "-._~"                     // unreserved (RFC 3986), beside letters and digits
	uriReserved  = ":/?#[]@!$&'()*+,;="       // RFC 3986
	segmentMarks = uriMarks + "!$&'()*+,;=:@" // of pchar
	// separators are the characters that no client leaves as they are in a value,
	// so that they tell where it ends.
	separators = "/?:@&=+$,;[]"
)

func letterOrDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z'
}

// segmentByte reports whether a byte may stand raw in {name}: those of a path
// segment (RFC 3986, pchar), and those beyond ASCII, which people do not encode.
func segmentByte(c byte) bool {
	return letterOrDigit(c) || strings.IndexByte(segmentMarks, c) >= 0 || c >= utf8.RuneSelf
}

// decodeValue percent-decodes a value once.
func decodeValue(raw string) (string, bool) {
	if strings.IndexByte(raw, '%') >= 0 {
		b := make([]byte, 0, len(raw))
		for i := 0; i < len(raw); i++ {
			if raw[i] != '%' {
				b = append(b, raw[i])
				continue
			}
			b = append(b, unhexByte(raw[i+1])<<4|unhexByte(raw[i+2]))
			i += 2
		}
		raw = string(b)
	}
	return raw, raw != "" && utf8.ValidString(raw) && !strings.ContainsFunc(raw, unicode.IsControl)
}

func unhexByte(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}

// isPath reports whether a value names something below where it starts, and
// nothing else.
func isPath(value string) bool {
	if strings.Contains(value, "\\") {
		return false
	}
	for segment := range strings.SplitSeq(value, "/") {
		if segment == "" || segment == "." || segment == ".." {
			return false
		}
	}
	return true
}

func encode(b *strings.Builder, value, keep string) {
	const digits = "0123456789ABCDEF"
	for i := range len(value) {
		c := value[i]
		if letterOrDigit(c) || strings.IndexByte(uriMarks, c) >= 0 || strings.IndexByte(keep, c) >= 0 {
			b.WriteByte(c)
			continue
		}
		b.WriteByte('%')
		b.WriteByte(digits[c>>4])
		b.WriteByte(digits[c&15])
	}
}

// refusedSchemes are those that mean something to browsers and clients, and
// prompt, which rules and records name prompts by.
var refusedSchemes = []string{"http", "https", "file", "data", "javascript", "ui", "prompt"}

// instead are the operators of RFC 6570 that this version does not expand, with
// what says the same.
var instead = map[byte]string{
	'#': "{+%s} at the end", '/': "/{%s}", '.': ".{%s}", ';': ";%[1]s={%[1]s}", '?': "?%[1]s={%[1]s}", '&': "&%[1]s={%[1]s}",
}

// parseURI reads the URI of a resource, or a template, and returns its
// variables. An error says what to write instead.
func parseURI(uri string) ([]Variable, error) {
	if err := checkScheme(uri); err != nil {
		return nil, err
	}
	var variables []Variable
	for rest, first := uri, true; ; first = false {
		literal, expression, after, found := nextExpression(rest)
		if !found && strings.Contains(rest, "{") {
			return nil, fmt.Errorf("it has { without }")
		}
		if err := checkLiteral(literal); err != nil {
			return nil, err
		}
		if found && !first {
			if literal == "" {
				return nil, fmt.Errorf("two expressions stand side by side, so nothing tells where one value ends: put / between them")
			}
			if !strings.ContainsAny(literal, separators) {
				return nil, fmt.Errorf("%s between two expressions could be part of either value: put / or another of %s between them", quoteName(literal), separators)
			}
		}
		if !found {
			return variables, checkSegments(uri)
		}
		v, err := parseExpression(expression, after)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(variables, func(o Variable) bool { return o.Name == v.Name }) {
			return nil, fmt.Errorf("{%s} stands there twice", v.Name)
		}
		if variables = append(variables, v); len(variables) > maxVariables {
			return nil, fmt.Errorf("it has more than %d expressions", maxVariables)
		}
		rest = after
	}
}

func checkScheme(uri string) error {
	scheme, rest, found := strings.Cut(uri, ":")
	if !found || strings.ContainsAny(scheme, "{}/?#") {
		return fmt.Errorf("it has no scheme: begin it with one of your own, such as acme://")
	}
	lower := strings.ToLower(scheme)
	if slices.Contains(refusedSchemes, lower) {
		return fmt.Errorf("%s: means something to clients already: take a scheme of your own, such as acme://", lower)
	}
	for i := range len(scheme) {
		c := scheme[i]
		if c >= 'A' && c <= 'Z' {
			return fmt.Errorf("clients write schemes in lower case: write %s: instead", lower)
		}
		if !letterOrDigit(c) && (i == 0 || strings.IndexByte("+-.", c) < 0) || i == 0 && c <= '9' {
			return fmt.Errorf("%s is not a scheme: a letter, then letters, digits and + - . only", quoteName(scheme))
		}
	}
	if scheme == "" || strings.Trim(rest, "/") == "" {
		return fmt.Errorf("it needs a scheme of its own and something after it, such as acme://guide")
	}
	return nil
}

func checkLiteral(literal string) error {
	for i, c := range literal {
		switch {
		case c == '%' && isEncoded(literal[i:]):
		case c == '#':
			return fmt.Errorf("it has #, and clients cut off what follows one")
		case c == '}':
			return fmt.Errorf("it has } without {")
		case c >= utf8.RuneSelf || !segmentByte(byte(c)) && strings.IndexByte("/?[]", byte(c)) < 0:
			return fmt.Errorf("%s cannot stand in a URI: percent-encode it", quoteName(string(c)))
		}
	}
	return nil
}

// checkSegments refuses what clients would resolve away.
func checkSegments(uri string) error {
	for segment := range strings.SplitSeq(uri, "/") {
		if segment == "." || segment == ".." {
			return fmt.Errorf("it has the segment %s, which clients resolve away", segment)
		}
	}
	return nil
}

// parseExpression reads what stands in braces, and what follows it.
func parseExpression(expression, after string) (Variable, error) {
	if expression == "" {
		return Variable{}, fmt.Errorf("it has {} without a name")
	}
	v := Variable{Name: expression}
	v.Name, v.Path = strings.CutPrefix(expression, "+")
	name := strings.Trim(strings.TrimLeft(v.Name, "#./;?&=,!@|"), " *")
	name, _, _ = strings.Cut(name, ":")
	switch {
	case strings.Contains(v.Name, ","):
		return v, fmt.Errorf("{%s} names several variables: write each in braces of its own, with / between them", oneLine(expression, 80))
	case !v.Path && instead[v.Name[0]] != "" && variableName(name):
		return v, fmt.Errorf("{%s} has the operator %c, which is not supported: write %s", oneLine(expression, 80), v.Name[0], fmt.Sprintf(instead[v.Name[0]], name))
	case !variableName(v.Name) && variableName(name) && !v.Path:
		return v, fmt.Errorf("{%s} has a modifier, which is not supported: write {%s}", oneLine(expression, 80), name)
	case !variableName(v.Name):
		return v, fmt.Errorf("{%s} is not an expression: write {name}, of letters, digits and _ (at most 64), or {+name} at the end", oneLine(expression, 80))
	case v.Path && after != "":
		return v, fmt.Errorf("{+%s} may hold slashes, so it stands at the end only: write {%s} for one segment", v.Name, v.Name)
	}
	return v, nil
}

func variableName(name string) bool {
	for i := range len(name) {
		if c := name[i]; !letterOrDigit(c) && c != '_' {
			return false
		}
	}
	return name != "" && len(name) <= 64
}
