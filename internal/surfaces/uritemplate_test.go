package surfaces

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	reference "github.com/yosida95/uritemplate/v3"
)

func TestURIsOfResourcesAreReadByteForByte(t *testing.T) {
	t.Parallel()
	file := &ReadFilePlan{}
	for _, c := range []struct {
		uri  string
		file bool
		hits map[string]string // URI to values, as name=value name=value
		miss []string
	}{
		{uri: "acme://guide", hits: map[string]string{"acme://guide": ""}, miss: []string{"", "acme://guide/", "ACME://guide", "acme://guid%65", "acme://guide?x", "acme://guide#x"}},
		{uri: "acme://customers/{id}", hits: map[string]string{
			"acme://customers/42": "id=42", "acme://customers/a%2Fb": "id=a/b", "acme://customers/%C3%A4": "id=ä", "acme://customers/ä": "id=ä",
			"acme://customers/alice@example.test": "id=alice@example.test", "acme://customers/..": "id=..", "acme://customers/%252F": "id=%2F", "acme://customers/a+b": "id=a+b", "acme://customers/%5c": "id=\\",
		}, miss: []string{
			"acme://customers/", "acme://customers", "acme://customers/1/2", "acme://customers/1/", "acme://customers/%", "acme://customers/%4", "acme://customers/%zz", "acme://customers/a b", "acme://customers/a?b", "acme://customers/a#b",
			"acme://customers/%00", "acme://customers/%0A", "acme://customers/%7f", "acme://customers/%C2%85", "acme://customers/%FF", "acme://customers/\xff", "acme://customers/a\x00", "acme://customers/a\\b", "acme://customers/{id}", "acme://Customers/1", " acme://customers/1",
			"acme://customers/" + strings.Repeat("a", MaxResourceURI),
		}},
		{uri: "acme://a/{x}/b/{y}.json", hits: map[string]string{"acme://a/1/b/2.json": "x=1 y=2", "acme://a/1/b/.json.json": "x=1 y=.json"}, miss: []string{"acme://a/1/b/.json", "acme://a/1/2/b/3.json", "acme://a//b/2.json", "acme://a/1/b/2.jsonx"}},
		{uri: "acme://t/{x}:{y}", hits: map[string]string{"acme://t/1:2": "x=1 y=2", "acme://t/1:2:3": "x=1 y=2:3", "acme://t/::2": "x=: y=2", "acme://t/1%3A2:3": "x=1:2 y=3"}, miss: []string{"acme://t/:2", "acme://t/1:", "acme://t/12"}},
		{uri: "acme://f/{+path}", file: true, hits: map[string]string{
			"acme://f/a.txt": "path=a.txt", "acme://f/a/b/c.txt": "path=a/b/c.txt", "acme://f/a%2Fb": "path=a/b", "acme://f/a%20b": "path=a b", "acme://f/a?b=[1]": "path=a?b=[1]", "acme://f/...": "path=...", "acme://f/.a": "path=.a", "acme://f/%252e%252e/x": "path=%2e%2e/x",
		}, miss: []string{
			"acme://f/", "acme://f//a", "acme://f/a//b", "acme://f/a/", "acme://f/.", "acme://f/..", "acme://f/../a", "acme://f/a/../b", "acme://f/a/./b", "acme://f/a/..", "acme://f/%2e%2e/a", "acme://f/a%2F..%2Fb", "acme://f/a%2F%2Fb",
			"acme://f/a%5Cb", "acme://f/a\\b", "acme://f/..%5Ca", "acme://f/a%00", "acme://f/%2Fetc", "acme://f/a\n",
		}},
		{uri: "acme://f/{name}", file: true, hits: map[string]string{"acme://f/a.txt": "name=a.txt"}, miss: []string{"acme://f/a%2Fb", "acme://f/..", "acme://f/.", "acme://f/%2e%2e", "acme://f/a%5Cb"}},
		{uri: "acme://g/{+key}", hits: map[string]string{"acme://g/a/b": "key=a/b"}, miss: []string{"acme://g/a/../b", "acme://g/a//b"}},
	} {
		r := Resource{URI: c.uri}
		if c.file {
			r.File = file
		}
		for uri, want := range c.hits {
			values, ok := r.Match(uri)
			if got := shownValues(&r, values); !ok || got != want {
				t.Errorf("%s of %s: %t %q, want %q", uri, c.uri, ok, got, want)
			}
		}
		for _, uri := range c.miss {
			if values, ok := r.Match(uri); ok {
				t.Errorf("%q of %s: %v", uri[:min(len(uri), 80)], c.uri, values)
			}
		}
	}
}

func shownValues(r *Resource, values map[string]string) string {
	var list []string
	variables, err := parseURI(r.URI)
	if err != nil {
		return err.Error()
	}
	for _, v := range variables {
		list = append(list, v.Name+"="+values[v.Name])
	}
	return strings.Join(list, " ")
}

func TestURIsThatCannotBeDeclaredSayWhatToWrite(t *testing.T) {
	t.Parallel()
	for uri, words := range map[string]string{
		"guide": "no scheme", "/guide": "no scheme", "{a}://x": "no scheme", "acme:": "something after it", "acme://": "something after it", "://a": "something after it",
		"http://example.com/a": "scheme of your own", "HTTPS://example.com": "scheme of your own", "file:///a": "scheme of your own", "data:a": "scheme of your own", "javascript:a": "scheme of your own", "ui://a": "scheme of your own", "prompt:review": "scheme of your own",
		"Acme://a": "write acme:", "1acme://a": "is not a scheme", "ac_me://a": "is not a scheme", "a b://x": "is not a scheme",
		"acme://a b": "percent-encode", "acme://ä": "percent-encode", "acme://a\"": "percent-encode", "acme://a%4": "percent-encode", "acme://a\\b": "percent-encode", "acme://a^b": "percent-encode",
		"acme://a#b": "cut off", "acme://a/../b": "resolve away", "acme://./b": "resolve away", "acme://a}b": "} without {", "acme://a{b": "{ without }",
		"acme://{}": "without a name", "acme://{a}{b}": "side by side", "acme://{a}-{b}": "part of either", "acme://{a}%2F{b}": "part of either", "acme://{a}/{a}": "twice",
		"acme://a{#b}": "write {+b} at the end", "acme://a{/b}": "write /{b}", "acme://a{.b}": "write .{b}", "acme://a{;b}": "write ;b={b}", "acme://a{?b}": "write ?b={b}", "acme://a{&b}": "write &b={b}",
		"acme://{a,b}": "braces of its own", "acme://{?a,b}": "braces of its own", "acme://{a*}": "write {a}", "acme://{a:3}": "write {a}", "acme://a{/b*}": "write /{b}", "acme://{a b}": "is not an expression", "acme://{a-b}": "is not an expression", "acme://{ä}": "is not an expression", "acme://{=a}": "write {a}", "acme://{+}": "is not an expression",
		"acme://{" + strings.Repeat("a", 65) + "}": "is not an expression", "acme://{+a}/b": "at the end only", "acme://{+a}{+b}": "at the end only", "acme://{{a}}": "is not an expression",
		"acme://" + strings.Repeat("{a}/", 9): "twice", "acme://{a}/{b}/{c}/{d}/{e}/{f}/{g}/{h}/{i}": "more than 8",
	} {
		if v, err := parseURI(uri); err == nil || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v, %v; want %q", uri, v, err, words)
		}
	}
	for uri, want := range map[string]string{
		"acme://guide": "", "acme:guide": "", "urn:acme:guide": "", "a+b-c.d://x?y=1&z=[2]": "", "acme://a%20b": "", "acme://{a}": "a", "acme://{a}/{b}": "a b", "acme://x/{a}:{b};{+c}": "a b +c", "acme://q?x={x}&y={y}": "x y", "acme://{a}.json": "a",
	} {
		variables, err := parseURI(uri)
		var got []string
		for _, v := range variables {
			got = append(got, map[bool]string{true: "+"}[v.Path]+v.Name)
		}
		if err != nil || strings.Join(got, " ") != want {
			t.Errorf("%s: %v, %v", uri, got, err)
		}
	}
}

func TestOverlapsAreSeen(t *testing.T) {
	t.Parallel()
	for pair, want := range map[[2]string]bool{
		{"acme://a", "acme://a"}: true, {"acme://a", "acme://b"}: false, {"acme://a", "acme://a/"}: false,
		{"acme://{x}", "acme://a"}: true, {"acme://{x}", "acme://a/b"}: false, {"acme://{x}", "acme://"}: false,
		{"acme://{x}/b", "acme://a/{y}"}: true, {"acme://{x}/b", "acme://a/c"}: false, {"acme://{x}/b", "acme://{y}/c"}: false,
		{"acme://c/{id}", "acme://c/by-status/{s}"}: false, {"acme://c/{id}", "acme://c/by-{s}"}: true,
		{"acme://{x}.json", "acme://{y}.xml"}: false, {"acme://{x}.json", "acme://a.{y}"}: true, {"acme://{x}.json", "acme://.json"}: false, {"acme://{x}.json", "acme://a.json"}: true,
		{"acme://{x}:{y}", "acme://a"}: false, {"acme://{x}:{y}", "acme://a:b"}: true, {"acme://{x}:{y}", "acme://:b"}: false, {"acme://{x}:{y}", "acme://a:"}: false, {"acme://{x}:{y}", "acme://::b"}: true,
		{"acme://{x}:{y}", "acme://{z}"}: true, {"acme://a{x}:{y}", "acme://b{z}"}: false, {"acme://{x}:1:{y}", "acme://{x}:2:{y}"}: true,
		{"acme://f/{+p}", "acme://f/{n}"}: true, {"acme://f/{+p}", "acme://f/"}: false, {"acme://f/{+p}", "acme://f"}: false, {"acme://f/{+p}", "acme://f/a/b"}: true, {"acme://f/{+p}", "acme://{x}/a"}: true, {"acme://f/{+p}", "acme://g/{+p}"}: false,
		{"acme://f/{+p}", "acme://f/a{+q}"}: true, {"acme://f/a{+p}", "acme://f/b{+q}"}: false, {"acme://f/ab{+p}", "acme://f/a"}: false, {"acme://f/ab{+p}", "acme://f/a/b"}: false, {"acme://f/a{+p}", "acme://f/a/b"}: true, {"acme://f/a{+p}", "acme://f/a"}: false,
		{"acme://{x}:{+p}", "acme://a/b:c"}: false, {"acme://{x}:{+p}", "acme://a:b/c"}: true, {"acme://{x}:{+p}", "acme://a:/c"}: true, {"acme://q?x={x}", "acme://q?y={x}"}: false, {"acme://q?x={x}", "acme://q/x={x}"}: false, {"acme://{x}?a", "acme://b?{y}"}: true,
	} {
		a, b := uriShapeOf(pair[0]), uriShapeOf(pair[1])
		if a.overlap(b) != want || b.overlap(a) != want {
			t.Errorf("%s and %s: %t and %t, want %t", pair[0], pair[1], a.overlap(b), b.overlap(a), want)
		}
	}
}

// randomTemplate is made of few pieces, so that two often meet.
func randomTemplate(r *rand.Rand) string {
	pieces := []string{"a", "b", "ab", "/", "/", ":", "?", "%41", "{}", "{}", "{}", "{+}"}
	uri := "s:"
	for i := range 1 + r.IntN(7) {
		uri += strings.ReplaceAll(strings.ReplaceAll(pieces[r.IntN(len(pieces))], "{}", fmt.Sprintf("{v%d}", i)), "{+}", fmt.Sprintf("{+v%d}", i))
	}
	return uri
}

func randomValue(r *rand.Rand, path bool) string {
	pieces := []string{"a", "b", "ab", ":", "?", "%41", "1", "ä", "~", "@", "[", "A"}
	if !path {
		pieces = append(pieces, "/", "..")
	}
	value := ""
	for range 1 + r.IntN(4) {
		value += pieces[r.IntN(len(pieces))]
	}
	if path && r.IntN(2) == 0 {
		value += "/" + randomValue(r, false)
		if !isPath(value) {
			return "a/b"
		}
	}
	return value
}

// TestWhatIsExpandedIsReadBack, and no URI that one template makes is another's
// unless the two are said to overlap.
func TestWhatIsExpandedIsReadBack(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2))
	var templates []Resource
	for len(templates) < 200 {
		r := Resource{URI: randomTemplate(random)}
		if variables, err := parseURI(r.URI); err == nil {
			r.Variables = variables
			templates = append(templates, r)
		}
	}
	met, apart := 0, 0
	for i := range templates {
		r := &templates[i]
		for range 40 {
			values := map[string]string{}
			for _, v := range r.Variables {
				values[v.Name] = randomValue(random, v.Path)
			}
			uri := r.Expand(values)
			if got, ok := r.Match(uri); !ok || !maps.Equal(got, values) {
				t.Fatalf("%s with %q is %s, read as %t %q", r.URI, values, uri, ok, got)
			}
			for j := range templates {
				o := &templates[j]
				if _, both := o.Match(uri); !both {
					continue
				}
				if !uriShapeOf(r.URI).overlap(uriShapeOf(o.URI)) {
					t.Fatalf("%s is one of %s and of %s, which are not said to overlap", uri, r.URI, o.URI)
				}
				met++
			}
		}
		for j := range templates {
			if !uriShapeOf(r.URI).overlap(uriShapeOf(templates[j].URI)) {
				apart++
			}
		}
	}
	if met < 1000 || apart < 1000 {
		t.Errorf("%d met, %d pairs apart: too few to show anything", met, apart)
	}
}

// TestOverlapsAreFoundWhereTheyAre: whatever two templates are said to have in
// common, some URI of short pieces is both's.
func TestOverlapsAreFoundWhereTheyAre(t *testing.T) {
	t.Parallel()
	var uris []string
	var grow func(prefix string, depth int)
	grow = func(prefix string, depth int) {
		uris = append(uris, prefix)
		if depth > 0 {
			for _, piece := range []string{"a", "b", "/", ":"} {
				grow(prefix+piece, depth-1)
			}
		}
	}
	grow("s:", 6)
	templates := []string{"s:a", "s:{x}", "s:a{x}", "s:{x}b", "s:{x}/b", "s:{x}:{y}", "s:a{x}:b", "s:{+x}", "s:a{+x}", "s:{x}/{+y}", "s:a/b", "s:{x}:{+y}", "s:a:{x}/b", "s:a/", "s:b:a"}
	for i, one := range templates {
		for _, other := range templates[i:] {
			a, b, found := Resource{URI: one}, Resource{URI: other}, false
			for _, uri := range uris {
				_, x := a.Match(uri)
				_, y := b.Match(uri)
				found = found || x && y
			}
			// {+x} takes the rest of a URI by its raw text, and then refuses "/b" and "a/".
			if said := uriShapeOf(one).overlap(uriShapeOf(other)); said != found && (!said || !strings.Contains(one+other, "{+")) {
				t.Errorf("%s and %s: said %t, found %t", one, other, said, found)
			}
		}
	}
}

// FuzzResourceURI holds templates and values to the reference for RFC 6570 and
// to each other, and URIs to what is never read.
func FuzzResourceURI(f *testing.F) {
	f.Add("acme://customers/{id}", "42", "b", "acme://customers/%2e%2E")
	f.Add("acme://f/{x}:{+path}", "a b", "a/ä?.txt", "acme://f/a:%00")
	f.Add("acme://q?x={x}&y={y}", "1&y=2", "{}", "acme://q?x=1&y=2")
	f.Add("acme://{+p}", "%41", "..", "acme://a//b")
	f.Add("{", "}", "{{", "%")
	f.Fuzz(func(t *testing.T, template, one, two, uri string) {
		r := Resource{URI: template}
		variables, err := parseURI(template)
		if err != nil || len(template) > maxResourceURI {
			_, _ = r.Match(uri)
			_ = r.Expand(nil)
			return
		}
		if shape := uriShapeOf(template); !shape.overlap(shape) {
			t.Fatalf("%s does not meet itself", template)
		}
		if values, ok := r.Match(uri); ok {
			for _, v := range variables {
				value := values[v.Name]
				if value == "" || !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) || v.Path && !isPath(value) {
					t.Fatalf("%q of %s: %q", uri, template, values)
				}
			}
			if again, ok := r.Match(r.Expand(values)); !ok || !maps.Equal(again, values) {
				t.Fatalf("%q of %s: %q, then %q", uri, template, values, again)
			}
		}
		values, all := map[string]string{}, reference.Values{}
		for i, v := range variables {
			value := []string{one, two}[i%2]
			if v.Path && strings.Contains(value, "%") {
				return // the reference keeps what looks encoded
			}
			if value == "" || !utf8.ValidString(value) || strings.ContainsFunc(value, unicode.IsControl) || strings.ContainsRune(value, utf8.RuneError) || v.Path && !isPath(value) {
				return
			}
			values[v.Name] = value
			all.Set(v.Name, reference.String(value))
		}
		expanded := r.Expand(values)
		parsed, err := reference.New(template)
		if err != nil {
			t.Fatalf("the reference refuses %s: %v", template, err)
		}
		// Beyond ASCII the reference does not encode as UTF-8, which RFC 6570 wants.
		ascii := !strings.ContainsFunc(one+two, func(c rune) bool { return c >= utf8.RuneSelf })
		if want, err := parsed.Expand(all); ascii && (err != nil || want != expanded) {
			t.Fatalf("%s with %q: %s, the reference has %s (%v)", template, values, expanded, want, err)
		}
		if got, ok := r.Match(expanded); len(expanded) <= MaxResourceURI && (!ok || !maps.Equal(got, values)) {
			t.Fatalf("%s with %q is %s, read as %t %q", template, values, expanded, ok, got)
		}
	})
}
