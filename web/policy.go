package web

import "strings"

// Policy is what a page's Content-Security-Policy admits beside our own files.
// The zero value admits nothing else.
type Policy struct {
	FormActions []string // where forms may lead, redirects after them included: origins or schemes
	Scripts     []string // origins
	Frames      []string
	Styles      []string
	Connects    []string
}

// String is the value of the header.
func (p Policy) String() string {
	directives := []string{
		"default-src 'none'",
		directive("style-src", p.Styles),
		directive("script-src", p.Scripts),
		"img-src 'self'",
		directive("connect-src", p.Connects),
	}
	if len(p.Frames) > 0 {
		directives = append(directives, "frame-src "+strings.Join(p.Frames, " "))
	}
	return strings.Join(append(directives, "base-uri 'none'", directive("form-action", p.FormActions), "frame-ancestors 'none'"), "; ")
}

func directive(name string, sources []string) string {
	return strings.Join(append([]string{name, "'self'"}, sources...), " ")
}

// With admits what either policy does.
func (p Policy) With(other Policy) Policy {
	return Policy{
		FormActions: append(p.FormActions[:len(p.FormActions):len(p.FormActions)], other.FormActions...),
		Scripts:     append(p.Scripts[:len(p.Scripts):len(p.Scripts)], other.Scripts...),
		Frames:      append(p.Frames[:len(p.Frames):len(p.Frames)], other.Frames...),
		Styles:      append(p.Styles[:len(p.Styles):len(p.Styles)], other.Styles...),
		Connects:    append(p.Connects[:len(p.Connects):len(p.Connects)], other.Connects...),
	}
}
