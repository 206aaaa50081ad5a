package connect

import (
	"encoding/base64"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

const (
	signInCookie = "txn-" // one for each sign-in under way
	visitCookie  = "app-" // one for each project

	signInFor = 10 * time.Minute
	visitFor  = 12 * time.Hour

	// maxSignIns is how many sign-ins a browser has under way at most: the
	// oldest give way, so that the header stays small.
	maxSignIns = 8
)

// plainID is an id in an address or the name of a cookie: 32 hex digits.
func plainID[K id.Kind](i id.ID[K]) string {
	return strings.ReplaceAll(i.UUID().String(), "-", "")
}

// cookieName carries the promise of its attributes (RFC 6265bis section
// 4.1.3.2) wherever browsers accept it, which is https only.
func (s *site) cookieName(name string) string {
	if s.secure {
		return "__Host-" + name
	}
	return name
}

func (s *site) setCookie(c echo.Context, name string, value seal.Secret, lives time.Duration) {
	cookie := &http.Cookie{
		Name: s.cookieName(name), Value: value.Reveal(), Path: "/", MaxAge: int(lives / time.Second),
		Secure: s.secure, HttpOnly: true, SameSite: http.SameSiteLaxMode,
	}
	if value.IsZero() {
		cookie.MaxAge = -1
	}
	http.SetCookie(c.Response(), cookie)
}

func (s *site) clearCookie(c echo.Context, name string) { s.setCookie(c, name, seal.Secret{}, 0) }

// cookie is what the browser sent; zero for nothing.
func (s *site) cookie(c echo.Context, name string) seal.Secret {
	sent, err := c.Cookie(s.cookieName(name))
	if err != nil {
		return seal.Secret{}
	}
	return seal.NewSecret(sent.Value)
}

func signInName(i id.SignIn) string { return signInCookie + plainID(i) }

func visitName(project id.Project) string { return visitCookie + plainID(project) }

// begin hands the browser the cookie of a sign-in that begins.
func (s *site) begin(c echo.Context, in *bridge.SignIn, secret seal.Secret) {
	prefix := s.cookieName(signInCookie)
	var under []string // ids sort by age
	for _, sent := range c.Cookies() {
		if rest, ok := strings.CutPrefix(sent.Name, prefix); ok {
			under = append(under, rest)
		}
	}
	slices.Sort(under)
	for ; len(under) >= maxSignIns; under = under[1:] {
		s.clearCookie(c, signInCookie+under[0])
	}
	s.setCookie(c, signInName(in.ID), secret, signInFor)
}

// endVisit forgets who signed in to the project on this browser.
func (s *site) endVisit(c echo.Context, project id.Project) error {
	cookie := s.cookie(c, visitName(project))
	if cookie.IsZero() {
		return nil
	}
	s.clearCookie(c, visitName(project))
	return s.Bridge.EndVisit(c.Request().Context(), project, cookie)
}

// formValue is what the forms of one browser carry: it needs the cookie they
// are bound to. kind keeps the forms of sign-ins, visits and tickets apart.
func (s *site) formValue(kind string, bound seal.Secret) string {
	return base64.RawURLEncoding.EncodeToString(s.Keys.MAC(seal.CSRF, formMessage(kind, bound)))
}

func formMessage(kind string, bound seal.Secret) []byte {
	return seal.AD("connect", kind, bound.Reveal())
}

// checkForm refuses a form that was not made for what it is bound to.
func (s *site) checkForm(c echo.Context, kind string, bound seal.Secret) error {
	given, err := base64.RawURLEncoding.DecodeString(posted(c, "csrf"))
	if err != nil || bound.IsZero() || !s.Keys.VerifyMAC(seal.CSRF, formMessage(kind, bound), given) {
		return fault.New(fault.Forbidden, "form_not_yours", "Nothing was done: this form was not made for you. Open the page again and repeat it there.")
	}
	return nil
}

// asked is what an answer to the question is bound to: the browser, and whom
// the question was shown to. Another person can sign in to the same sign-in in
// another tab, and has not been asked.
func asked(cookie seal.Secret, who *bridge.Person) seal.Secret {
	return seal.NewSecret(string(seal.AD(cookie.Reveal(), who.Issuer, who.Subject)))
}

// The kinds of forms.
const (
	formSignIn = "sign-in"
	formAnswer = "answer"
	formVisit  = "visit"
	formTicket = "ticket"
)
