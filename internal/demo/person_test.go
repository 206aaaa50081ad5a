package demo

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// person is somebody with a browser that runs no scripts: it follows redirects
// and fills in the forms it is shown.
type person struct {
	email, password string
	browser         *http.Client
	pages           []string // paths of the pages with a form that were answered
}

func newPerson(t testing.TB, email string) *person {
	t.Helper()
	for _, u := range running.Users {
		if u.Email == email {
			return personOf(t, email, u.Password)
		}
	}
	t.Fatalf("no such demo user: %s", email)
	return nil
}

// personOf is somebody with an account at any project.
func personOf(t testing.TB, email, password string) *person {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &person{email: email, password: password, browser: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

const callbackURL = "http://127.0.0.1:33418/callback"

// authorize opens an authorization URL and goes on until the browser is sent
// to the client's callback, whose query it returns.
func (p *person) authorize(ctx context.Context, start string) (url.Values, error) {
	u, err := url.Parse(start)
	if err != nil {
		return nil, err
	}
	callback := callbackURL
	if asked := u.Query().Get("redirect_uri"); asked != "" {
		callback = asked
	}
	end, err := p.walk(ctx, start, func(next string) bool { return strings.HasPrefix(next, callback) })
	if err != nil {
		return nil, err
	}
	if u, err = url.Parse(end); err != nil {
		return nil, err
	}
	return u.Query(), nil
}

// walk opens a page and goes on, following redirects and filling in forms,
// until the browser is sent somewhere that until knows. It returns that
// address, which is not opened.
func (p *person) walk(ctx context.Context, start string, until func(next string) bool) (string, error) {
	method, target, form := http.MethodGet, start, url.Values(nil)
	for range 16 {
		var body io.Reader
		if form != nil {
			body = strings.NewReader(form.Encode())
		}
		req, err := http.NewRequestWithContext(ctx, method, target, body)
		if err != nil {
			return "", err
		}
		if form != nil {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		resp, err := p.browser.Do(req)
		if err != nil {
			return "", err
		}
		page, err := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if err != nil {
			return "", err
		}
		if location := resp.Header.Get("Location"); location != "" {
			next, err := req.URL.Parse(location)
			if err != nil {
				return "", err
			}
			if until(next.String()) {
				return next.String(), nil
			}
			method, target, form = http.MethodGet, next.String(), nil
			continue
		}
		if resp.StatusCode != http.StatusOK {
			return "", fmt.Errorf("%s %s: %s: %s", method, target, resp.Status, page)
		}
		method, target, form, err = p.fillIn(req.URL, string(page))
		if err != nil {
			return "", err
		}
		p.pages = append(p.pages, req.URL.Path)
	}
	return "", fmt.Errorf("no end after many pages")
}

// get opens one page without following anything.
func (p *person) get(t testing.TB, target string) reply {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, target, nil)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := p.browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply{status: resp.StatusCode, header: resp.Header, body: string(body)}
}

// deliver is authorize with a browser that also opens the client's callback,
// where a program waits for it.
func (p *person) deliver(ctx context.Context, start string) error {
	back, err := p.authorize(ctx, start)
	if err != nil {
		return err
	}
	u, err := url.Parse(start)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.Query().Get("redirect_uri")+"?"+back.Encode(), nil)
	if err != nil {
		return err
	}
	resp, err := p.browser.Do(req)
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// fillIn answers the first form of a page: credentials where asked, and the
// button that allows.
func (p *person) fillIn(page *url.URL, text string) (method, target string, form url.Values, err error) {
	doc, err := html.Parse(strings.NewReader(text))
	if err != nil {
		return "", "", nil, err
	}
	f := find(doc, "form")
	if f == nil {
		return "", "", nil, fmt.Errorf("no form on %s: %s", page, text)
	}
	form = url.Values{}
	allowed := false
	for n := range f.Descendants() {
		name, value := attr(n, "name"), attr(n, "value")
		switch {
		case n.Type != html.ElementNode || name == "":
		case n.Data == "input" && attr(n, "type") == "password":
			form.Set(name, p.password)
		case n.Data == "input" && attr(n, "type") == "email":
			form.Set(name, p.email)
		case n.Data == "input" && attr(n, "type") == "radio": // what is chosen already
			if hasAttr(n, "checked") {
				form.Set(name, value)
			}
		case n.Data == "input":
			form.Set(name, value)
		case n.Data == "select":
			if option := find(n, "option"); option != nil {
				form.Set(name, attr(option, "value"))
			}
		case n.Data == "button" && (value == "approve" || value == "allow") && !allowed:
			form.Set(name, value)
			allowed = true
		}
	}
	action, err := page.Parse(attr(f, "action"))
	if err != nil {
		return "", "", nil, err
	}
	return strings.ToUpper(attr(f, "method")), action.String(), form, nil
}

func find(n *html.Node, tag string) *html.Node {
	for d := range n.Descendants() {
		if d.Type == html.ElementNode && d.Data == tag {
			return d
		}
	}
	return nil
}

func hasAttr(n *html.Node, name string) bool {
	for _, a := range n.Attr {
		if a.Key == name {
			return true
		}
	}
	return false
}

func attr(n *html.Node, name string) string {
	for _, a := range n.Attr {
		if a.Key == name {
			return a.Val
		}
	}
	return ""
}
