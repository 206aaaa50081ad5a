package standin

import (
	"context"
	"embed"
	"errors"
	"html/template"
	"net/http"
	"net/url"
	"strings"
)

//go:embed pages/*.html
var pageFiles embed.FS

// visitCookie holds the app's own sign-in; it is no token.
const visitCookie = "standin_visit"

// pages are the app's own: sign-in and the OAuth consent page, plain HTML that
// works without a script. They answer
//
//	GET  /oauth/consent?authorization_id=…   asks, or goes on when it was allowed before
//	POST /oauth/consent  authorization_id, action=approve|deny
//	GET  /sign-in?next=…  POST /sign-in  email, password, next
//	POST /sign-out
//	GET  /providers/{provider}  POST /providers/{provider}  state, email
//
// with a first-party cookie session; posts from another site are refused.
func (a *authServer) pages() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /oauth/consent", a.consentPage)
	mux.HandleFunc("POST /oauth/consent", a.consentAnswer)
	mux.HandleFunc("GET /sign-in", a.signInPage)
	mux.HandleFunc("POST /sign-in", a.signInAnswer)
	mux.HandleFunc("POST /sign-out", a.signOut)
	mux.HandleFunc("GET /providers/{provider}", a.providerPage)
	mux.HandleFunc("POST /providers/{provider}", a.providerAnswer)
	mux.HandleFunc("GET /{$}", a.homePage)
	guarded := http.NewCrossOriginProtection().Handler(mux)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := w.Header()
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "no-referrer")
		h.Set("X-Content-Type-Options", "nosniff")
		// No form-action: answering the question leads to the client's own URL.
		h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; frame-ancestors 'none'")
		guarded.ServeHTTP(w, r)
	})
}

// pageData is what the templates read; each uses its part.
type pageData struct {
	Title     string
	Text      string
	Problem   string
	Email     string
	Next      string
	SignIn    bool
	ID        string
	ReturnsTo string
	Scopes    []string
	People    []string
}

func showPage(w http.ResponseWriter, status int, name string, data pageData) {
	t, err := template.ParseFS(pageFiles, "pages/layout.html", "pages/"+name+".html")
	if err != nil {
		http.Error(w, "The page cannot be shown.", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_ = t.ExecuteTemplate(w, "page", data) // the browser is gone; nothing to do
}

// visitor is who is signed in to the app, nil for nobody.
func (a *authServer) visitor(r *http.Request) (*person, string, error) {
	visit := ""
	for _, cookie := range r.CookiesNamed(visitCookie) {
		visit = cookie.Value
	}
	a.mu.Lock()
	s := a.state.sessions[a.state.visits[visit]]
	a.mu.Unlock()
	if s == nil {
		return nil, "", nil
	}
	p, err := a.personOf(r.Context(), s)
	if err != nil || p == nil || p.banned(a.cfg.now()) {
		return nil, "", err
	}
	return p, s.id, nil
}

func (a *authServer) homePage(w http.ResponseWriter, r *http.Request) {
	p, _, err := a.visitor(r)
	switch {
	case err != nil:
		showProblem(w, err)
	case p == nil:
		showPage(w, http.StatusOK, "notice", pageData{Title: "Stand-in app", Text: "Nobody is signed in.", SignIn: true})
	default:
		showPage(w, http.StatusOK, "notice", pageData{Title: "Stand-in app", Text: "Signed in as " + p.Email + ".", Email: p.Email})
	}
}

func (a *authServer) signInPage(w http.ResponseWriter, r *http.Request) {
	showPage(w, http.StatusOK, "sign-in", pageData{Title: "Sign in", Next: localPath(r.FormValue("next"))})
}

func (a *authServer) signInAnswer(w http.ResponseWriter, r *http.Request) {
	in := credentials{Email: r.PostFormValue("email"), Password: r.PostFormValue("password")}
	next := localPath(r.PostFormValue("next"))
	i, err := a.signInVisitor(r.Context(), &in)
	var refused *authError
	if errors.As(err, &refused) {
		showPage(w, http.StatusBadRequest, "sign-in", pageData{Title: "Sign in", Next: next, Email: in.Email, Problem: refused.msg + "."})
		return
	}
	if err != nil {
		showProblem(w, err)
		return
	}
	cookie := &http.Cookie{Name: visitCookie, Value: randomBase64(24), Path: "/", HttpOnly: true, SameSite: http.SameSiteLaxMode}
	a.mu.Lock()
	a.state.visits[cookie.Value] = i.session.id
	a.mu.Unlock()
	http.SetCookie(w, cookie)
	http.Redirect(w, r, next, http.StatusSeeOther)
}

func (a *authServer) signInVisitor(ctx context.Context, in *credentials) (*issued, error) {
	p, err := a.checkPassword(ctx, in)
	if err != nil {
		return nil, err
	}
	return a.startSession(ctx, p, methodPassword, "", "")
}

func (a *authServer) signOut(w http.ResponseWriter, r *http.Request) {
	p, sessionID, err := a.visitor(r)
	if err != nil {
		showProblem(w, err)
		return
	}
	if p != nil {
		a.mu.Lock()
		a.state.dropSessions(p.ID, func(s *session) bool { return s.id == sessionID })
		a.mu.Unlock()
	}
	http.SetCookie(w, &http.Cookie{Name: visitCookie, Path: "/", MaxAge: -1, HttpOnly: true, SameSite: http.SameSiteLaxMode})
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

// consentPage opens the authorization, which binds it to this person: it is
// asked once per view, and a view after the answer cannot show it again.
func (a *authServer) consentPage(w http.ResponseWriter, r *http.Request) {
	p, _, err := a.visitor(r)
	if err != nil {
		showProblem(w, err)
		return
	}
	if p == nil {
		http.Redirect(w, r, "/sign-in?"+url.Values{"next": {r.URL.RequestURI()}}.Encode(), http.StatusSeeOther)
		return
	}
	id := r.FormValue("authorization_id")
	opened, err := a.openAuthorization(r.Context(), id, p.ID)
	if err != nil {
		showProblem(w, err)
		return
	}
	if opened.redirectURL != "" {
		http.Redirect(w, r, opened.redirectURL, http.StatusSeeOther)
		return
	}
	name := opened.client.name
	if name == "" {
		name = "An unnamed client"
	}
	showPage(w, http.StatusOK, "consent", pageData{
		Title: name + " wants to use your account", ID: id, Email: p.Email,
		ReturnsTo: returnsTo(opened.redirectURI), Scopes: strings.Fields(opened.scope),
	})
}

// returnsTo is the part of a redirect URI that tells a person something: the
// client's name is its own claim.
func returnsTo(redirectURI string) string {
	u, err := url.Parse(redirectURI)
	if err != nil {
		return redirectURI
	}
	return u.Scheme + "://" + u.Host
}

func (a *authServer) consentAnswer(w http.ResponseWriter, r *http.Request) {
	p, _, err := a.visitor(r)
	if err != nil {
		showProblem(w, err)
		return
	}
	id := r.PostFormValue("authorization_id")
	if p == nil {
		back := "/oauth/consent?" + url.Values{"authorization_id": {id}}.Encode()
		http.Redirect(w, r, "/sign-in?"+url.Values{"next": {back}}.Encode(), http.StatusSeeOther)
		return
	}
	to, err := a.decide(id, p.ID, r.PostFormValue("action"))
	if err != nil {
		showProblem(w, err)
		return
	}
	http.Redirect(w, r, to, http.StatusSeeOther)
}

// showProblem tells a person what to do; the details are for nobody.
func showProblem(w http.ResponseWriter, err error) {
	var refused *authError
	if !errors.As(err, &refused) {
		showPage(w, http.StatusInternalServerError, "notice", pageData{Title: "Something went wrong", Text: "Try again in a moment."})
		return
	}
	showPage(w, refused.status, "notice", pageData{Title: "This request cannot be answered",
		Text: "It has expired, was answered before, or belongs to somebody else. Go back to the app you came from and start again."})
}

// localPath keeps redirects on this site.
func localPath(next string) string {
	if !strings.HasPrefix(next, "/") || strings.HasPrefix(next, "//") || strings.ContainsAny(next, "\\\r\n\t") {
		return "/"
	}
	return next
}
