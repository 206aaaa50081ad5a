package demo

import (
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// visitor is somebody in the dashboard, with a browser that runs no scripts.
type visitor struct {
	t    *testing.T
	base string
	jar  http.CookieJar
}

func (w *world) visitor(t *testing.T) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t: t, base: w.url, jar: jar}
}

// signedIn is a visitor who has signed in.
func (w *world) signedIn(t *testing.T, email, password string) *visitor {
	t.Helper()
	v := w.visitor(t)
	answer := v.post("/app/sign-in", url.Values{"email": {email}, "password": {password}}, sameSite(w.url))
	if answer.status != http.StatusSeeOther || v.cookie() == "" {
		t.Fatalf("sign in: %d %s", answer.status, answer.body)
	}
	return v
}

// sameSite is what a browser adds to a form of our own page.
func sameSite(origin string) http.Header {
	return http.Header{"Origin": {origin}, "Sec-Fetch-Site": {"same-origin"}, "Sec-Fetch-Mode": {"navigate"}}
}

func (v *visitor) get(path string) reply { return v.send(http.MethodGet, path, nil, nil) }

func (v *visitor) post(path string, form url.Values, header http.Header) reply {
	h := header.Clone()
	h.Set("Content-Type", "application/x-www-form-urlencoded")
	return v.send(http.MethodPost, path, form, h)
}

func (v *visitor) send(method, path string, form url.Values, header http.Header) reply {
	v.t.Helper()
	req, err := http.NewRequestWithContext(v.t.Context(), method, v.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	req.Header = header
	if req.Header == nil {
		req.Header = http.Header{}
	}
	client := &http.Client{Jar: v.jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return reply{status: res.StatusCode, header: res.Header, body: string(body)}
}

// cookie is the value of the session's cookie; empty for none.
func (v *visitor) cookie() string {
	for _, c := range v.jar.Cookies(v.at("/app")) {
		if strings.HasSuffix(c.Name, "chumbo") {
			return c.Value
		}
	}
	return ""
}

// plant puts a session's cookie into the browser, as an attacker would who
// once got hold of it or of a neighbouring page.
func (v *visitor) plant(value string) {
	v.jar.SetCookies(v.at("/app"), []*http.Cookie{{Name: "chumbo", Value: value, Path: "/"}})
}

func (v *visitor) at(path string) *url.URL {
	u, err := url.Parse(v.base + path)
	if err != nil {
		v.t.Fatal(err)
	}
	return u
}

// form is one form of a page.
type form struct {
	page, action string
	values       url.Values // as the page fills them in
	free         []string   // what a person may fill in with text
}

// pages visits every page that links lead to from a start, and every page's
// forms.
func (v *visitor) pages(start ...string) (pages map[string]reply, forms []form) {
	v.t.Helper()
	pages = map[string]reply{}
	for queue := start; len(queue) > 0; queue = queue[1:] {
		path := queue[0]
		if _, seen := pages[path]; seen {
			continue
		}
		answer := v.get(path)
		pages[path] = answer
		doc, err := html.Parse(strings.NewReader(answer.body))
		if err != nil {
			v.t.Fatal(err)
		}
		for n := range doc.Descendants() {
			switch {
			case n.Type != html.ElementNode:
			case n.Data == "a":
				if to := within(v.base, path, attr(n, "href")); to != "" {
					queue = append(queue, to)
				}
			case n.Data == "form" && strings.EqualFold(attr(n, "method"), "post"):
				f := formOf(n)
				f.page, f.action = path, within(v.base, path, attr(n, "action"))
				if !slices.ContainsFunc(forms, func(other form) bool { return other.action == f.action && slices.Equal(other.free, f.free) }) {
					forms = append(forms, f)
				}
			}
		}
		if to := within(v.base, path, answer.header.Get("Location")); to != "" {
			queue = append(queue, to)
		}
	}
	return pages, forms
}

// within is a link to another page of the dashboard, without its fragment.
func within(base, page, link string) string {
	from, err := url.Parse(base + page)
	if err != nil {
		return ""
	}
	to, err := from.Parse(link)
	if err != nil || to.Host != from.Host || !strings.HasPrefix(to.Path, "/app") || strings.HasSuffix(to.Path, "/events") {
		return ""
	}
	return to.RequestURI()
}

func formOf(n *html.Node) form {
	f := form{values: url.Values{}}
	for c := range n.Descendants() {
		name, kind := attr(c, "name"), attr(c, "type")
		switch {
		case c.Type != html.ElementNode || name == "":
		case c.Data == "textarea", c.Data == "select", c.Data == "input" && kind != "hidden" && kind != "submit" && kind != "file":
			f.free = append(f.free, name)
			f.values.Set(name, attr(c, "value"))
			if c.Data == "textarea" && c.FirstChild != nil {
				f.values.Set(name, c.FirstChild.Data)
			}
		default:
			f.values.Set(name, attr(c, "value"))
		}
	}
	return f
}
