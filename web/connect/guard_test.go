package connect_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/approvals"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/web/connect"
)

func mustURL(s string) *url.URL {
	u, err := url.Parse(s)
	if err != nil {
		panic(err)
	}
	return u
}

// TestEveryFormNeedsItsBrowser sends every form without its value, with
// another browser's, and from another site.
func TestEveryFormNeedsItsBrowser(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.bridge.methods[st.acme.Project.ID] = bridge.Methods{Password: true, EmailCode: true, OwnHost: "https://acme.apps.example.test"}
	grant := st.grantFor(st.acme, "alice@example.test", "Claude")
	waiting := strings.TrimPrefix(st.waits(st.acme, "alice@example.test", "a", `{"id":"7"}`), "/connect/approvals/")
	alice, bob := st.browser(t), st.browser(t)
	question := alice.signedIn(claudeCallback, "alice@example.test")
	apps := alice.csrf("/connect/apps/acme-ref")
	bobs := bob.csrf(bob.signedIn(claudeCallback, "bob@example.test"))
	at := question[strings.LastIndex(question, "/")+1:]
	fill := strings.NewReplacer(":id", at, ":ref", "acme-ref", ":grant", grant.String(), ":ticket", "tsgn_"+at, ":approval", waiting)
	posts := 0
	for host, routes := range connect.Routes(t, pagesURL) {
		alice.at = host
		for _, r := range routes {
			if r.Method != http.MethodPost || strings.HasPrefix(r.Path, "/connect/authorize/") {
				continue
			}
			posts++
			path := fill.Replace(r.Path)
			form := formOf("decision", "allow", "email", "x@example.test", "do", "password", "name", "x", "days", "1", "code", "1")
			values := map[string]string{"nothing": "", "nonsense": "x", "Bob's": bobs}
			if !strings.HasPrefix(r.Path, "/connect/apps/") {
				values["that of the apps' page"] = apps
			}
			for name, value := range values {
				form.Set("csrf", value)
				if a := alice.send(http.MethodPost, path, form, nil); a.status != http.StatusForbidden || !strings.Contains(a.body, "not made for you") {
					t.Errorf("%s with %s: %d %s", path, name, a.status, textOf(a.body))
				}
			}
			for name, change := range map[string]func(*http.Request){
				"another site": func(r *http.Request) {
					r.Header.Set("Sec-Fetch-Site", "cross-site")
					r.Header.Set("Origin", "https://evil.example.test")
				},
				"a neighbour": func(r *http.Request) {
					r.Header.Set("Sec-Fetch-Site", "same-site")
					r.Header.Set("Origin", "https://globex.apps.example.test")
				},
				"an old browser elsewhere": func(r *http.Request) {
					r.Header.Del("Sec-Fetch-Site")
					r.Header.Set("Origin", "https://evil.example.test")
				},
			} {
				if a := alice.send(http.MethodPost, path, form, change); a.status != http.StatusForbidden || !strings.Contains(a.body, "another site") {
					t.Errorf("%s from %s: %d %s", path, name, a.status, textOf(a.body))
				}
			}
		}
	}
	if posts != 13 {
		t.Errorf("%d forms were looked at", posts)
	}
	if len(st.bridge.answers) != 0 || st.bridge.grants[grant].RevokedAt != nil || st.waiting.state(waiting) != approvals.Pending {
		t.Error("something was done all the same")
	}
}

func TestNobodyFramesOrKeepsAPage(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	b := st.browser(t)
	question := b.signedIn(claudeCallback, "alice@example.test")
	for _, page := range []string{question, "/connect/apps/acme-ref", "/connect/nothing", "/connect/sign-in/nonsense", "/connect/authorize/globex-ref"} {
		a := b.get(page)
		h := a.header
		if h.Get("Cache-Control") != "no-store" || h.Get("X-Frame-Options") != "DENY" || h.Get("Referrer-Policy") != "same-origin" || h.Get("Chumbo-Request-Id") == "" {
			t.Errorf("%s: %v", page, h)
		}
		if h.Get("Cross-Origin-Opener-Policy") != "" {
			t.Errorf("%s: a client's popup loses its opener", page)
		}
		if a.body == "" {
			continue // a redirect
		}
		if csp := h.Get("Content-Security-Policy"); !strings.Contains(csp, "frame-ancestors 'none'") || !strings.Contains(csp, "default-src 'none'") || strings.Contains(csp, "unsafe") {
			t.Errorf("%s: %s", page, csp)
		}
		if strings.Contains(a.body, " style=") || strings.Contains(a.body, "<script>") || strings.Contains(a.body, " onclick") {
			t.Errorf("%s has something inline", page)
		}
		if len(a.body) > 100<<10 {
			t.Errorf("%s has %d bytes", page, len(a.body))
		}
	}
}

func TestLargeFormsAreRefused(t *testing.T) {
	t.Parallel()
	b := newStage(t).browser(t)
	if a := b.send(http.MethodPost, "/connect/authorize/acme-ref", formOf("state", strings.Repeat("x", 70<<10)), nil); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("%d", a.status)
	}
	if a := b.send(http.MethodPost, "/connect/authorize/acme-ref", formOf("state", strings.Repeat("x", 20<<10)), nil); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("%d", a.status)
	}
}

func TestPanicIsAPage(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	st.bridge.signIns = nil // a write to it panics
	a := st.browser(t).get("/connect/authorize/acme-ref?state=sesame")
	if a.status != http.StatusInternalServerError || strings.Contains(a.body, "nil map") {
		t.Errorf("%d %s", a.status, textOf(a.body))
	}
	says(t, textOf(a.body), "Something went wrong on our side", a.header.Get("Chumbo-Request-Id"))
	if strings.Contains(st.log.String(), "sesame") {
		t.Error("the address is logged")
	}
}

// TestProxyThatNamesTheHost: the origin of a form is compared with the host
// that people see, also where a browser sends nothing but the origin.
func TestProxyThatNamesTheHost(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	own := "https://acme.apps.example.test"
	st.bridge.methods[st.acme.Project.ID] = bridge.Methods{Password: true, OwnHost: own}
	b := st.browser(t)
	ticket := strings.TrimPrefix(b.get(b.authorize(claudeCallback)).location, own)
	b.at = own
	form := formOf("csrf", b.csrf(ticket), "do", "password")
	for origin, want := range map[string]int{own: http.StatusSeeOther, "https://evil.example.test": http.StatusForbidden} {
		if a := b.send(http.MethodPost, ticket, form, func(r *http.Request) {
			r.Host = "10.0.0.5:8080"
			r.Header.Set("X-Forwarded-Host", "acme.apps.example.test")
			r.Header.Del("Sec-Fetch-Site")
			r.Header.Set("Origin", origin)
		}); a.status != want {
			t.Errorf("from %s: %d %s", origin, a.status, textOf(a.body))
		}
	}
}

// Two tabs of one browser: while the question to Alice stands in one, Bob
// signs in to the same sign-in in the other. Her answer is not his.
func TestAnAnswerIsOfThePersonWhoWasAsked(t *testing.T) {
	t.Parallel()
	st := newStage(t)
	b := st.browser(t)
	question := b.signedIn(claudeCallback, "alice@example.test")
	hers := formOf("decision", "allow", "reach", "all", "lifetime", "86400", "csrf", b.csrf(question))
	at := strings.Replace(question, "consent", "sign-in", 1)
	if a := b.send(http.MethodPost, at+"/again", formOf("csrf", b.notMe(question)), nil); a.status != http.StatusSeeOther {
		t.Fatalf("not me: %d", a.status)
	}
	st.bridge.outcome = bridge.Outcome{Person: st.person(st.acme, "bob@example.test")}
	if a := b.get("/connect/callback?state=" + at[strings.LastIndex(at, "/")+1:]); a.location != question {
		t.Fatalf("Bob is sent to %s", a.location)
	}
	if a := b.send(http.MethodPost, question, hers, nil); a.status != http.StatusForbidden || len(st.bridge.answers) != 0 {
		t.Errorf("Alice's answer counts for Bob: %d, %v", a.status, st.bridge.answers)
	}
	his := formOf("decision", "allow", "reach", "all", "lifetime", "86400", "csrf", b.csrf(question))
	if a := b.send(http.MethodPost, question, his, nil); a.status != http.StatusSeeOther || len(st.bridge.answers) != 1 {
		t.Errorf("Bob's own answer: %d, %v", a.status, st.bridge.answers)
	}
}
