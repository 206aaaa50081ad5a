package surfaces

import "strings"

// uriShape is a template cut where no {name} reaches: at "/", "?", "[" and "]".
// Two templates can only match one URI where they are cut alike.
type uriShape struct {
	parts []uriPart
	cuts  string // the bytes between the parts
}

// uriPart is one part: texts, with a value of at least one byte between each two
// of them. open means that what follows the last text is {+name}, which takes
// all of the rest.
type uriPart struct {
	texts []string
	open  bool
}

const uriCuts = "/?[]"

// uriShapeOf cuts a template that parseURI accepts.
func uriShapeOf(template string) uriShape {
	var s uriShape
	part := uriPart{texts: []string{""}}
	for {
		literal, expression, after, found := nextExpression(template)
		for {
			i := strings.IndexAny(literal, uriCuts)
			if i < 0 {
				part.texts[len(part.texts)-1] += literal
				break
			}
			part.texts[len(part.texts)-1] += literal[:i]
			s.parts, s.cuts = append(s.parts, part), s.cuts+literal[i:i+1]
			part, literal = uriPart{texts: []string{""}}, literal[i+1:]
		}
		if !found {
			s.parts = append(s.parts, part)
			return s
		}
		if strings.HasPrefix(expression, "+") {
			part.open = true
			s.parts = append(s.parts, part)
			return s
		}
		part.texts, template = append(part.texts, ""), after
	}
}

// overlap reports whether one URI could match both. It may say so of two that
// only meet in URIs that are refused as such, and never misses any.
func (s uriShape) overlap(o uriShape) bool {
	for i := range min(len(s.parts), len(o.parts)) {
		if i > 0 && s.cuts[i-1] != o.cuts[i-1] {
			return false
		}
		a, b := s.parts[i], o.parts[i]
		switch {
		case a.open:
			return a.takes(b, i < len(o.parts)-1)
		case b.open:
			return b.takes(a, i < len(s.parts)-1)
		case !a.meets(b):
			return false
		}
	}
	return len(s.parts) == len(o.parts)
}

// meets reports whether one text fits both parts, neither of which is open.
func (p uriPart) meets(o uriPart) bool {
	switch {
	case len(p.texts) == 1:
		return o.fits(p.texts[0])
	case len(o.texts) == 1:
		return p.fits(o.texts[0])
	}
	// Values take what stands in the middle of the other.
	x, y := p.texts, o.texts
	return begins(x[0], y[0]) && ends(x[len(x)-1], y[len(y)-1])
}

// takes reports whether an open part, and its end, fit something that fits the
// other; more says that parts follow the other.
func (p uriPart) takes(o uriPart, more bool) bool {
	if o.open || len(o.texts) > 1 {
		return begins(p.texts[0], o.texts[0])
	}
	rest, ok := p.leading(o.texts[0])
	return ok && (rest != "" || more)
}

// fits reports whether a text fits the part.
func (p uriPart) fits(text string) bool {
	if len(p.texts) == 1 {
		return text == p.texts[0]
	}
	last := len(p.texts) - 1
	rest, ok := uriPart{texts: p.texts[:last]}.leading(text)
	return ok && len(rest) > len(p.texts[last]) && strings.HasSuffix(rest, p.texts[last])
}

// leading takes the texts of the part, with values between them, off a text,
// each as early as it can be.
func (p uriPart) leading(text string) (rest string, ok bool) {
	rest, ok = strings.CutPrefix(text, p.texts[0])
	for _, t := range p.texts[1:] {
		if !ok || rest == "" {
			return "", false
		}
		i := strings.Index(rest[1:], t)
		if ok = i >= 0; ok {
			rest = rest[1+i+len(t):]
		}
	}
	return rest, ok
}

func begins(a, b string) bool { return strings.HasPrefix(a, b) || strings.HasPrefix(b, a) }
func ends(a, b string) bool   { return strings.HasSuffix(a, b) || strings.HasSuffix(b, a) }
