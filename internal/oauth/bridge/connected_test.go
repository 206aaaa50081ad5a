package bridge

import (
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	alice    = "alice@example.test"
	bob      = "bob@example.test"
	callback = "https://app.example.test/callback"
	loopback = "http://127.0.0.1:7777/callback"
)

var everything = []string{"crm.read", "crm.write"}

// asking is a client's request at ep, by somebody who has signed in.
func (w *world) asking(t testing.TB, ep *tenants.Endpoint, c *Client, who *Person, redirectURI string, scopes ...string) *SignIn {
	t.Helper()
	in, _, err := w.service.begin(t.Context(), ep, newSignIn{
		purpose: PurposeAuthorize, client: c, redirectURI: redirectURI, state: "xyz", stateGiven: true,
		challenge: strings.Repeat("c", 43), scopes: scopes,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.service.setPerson(t.Context(), in, who); err != nil {
		t.Fatal(err)
	}
	return in
}

// allowing answers a question as a page does, and returns the code.
func (w *world) allowing(t testing.TB, in *SignIn, a Answer) seal.Secret {
	t.Helper()
	if _, err := w.service.Question(t.Context(), in); err != nil {
		t.Fatal(err)
	}
	to, err := w.service.Decide(t.Context(), in, a, visitor)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(to)
	if err != nil || u.Query().Get("code") == "" || u.Query().Get("state") != "xyz" || u.Query().Get("iss") != in.Endpoint.Resource.URL() {
		t.Fatalf("the browser is sent to %s", to)
	}
	return seal.NewSecret(u.Query().Get("code"))
}

// allow is everything for the default time.
var allow = Answer{Allow: true, Lifetime: grantLifetime}

// connection is a client that has its tokens.
type connection struct {
	who    *Person
	client *Client
	ep     *tenants.Endpoint
	issued issued
}

// connected is a client that somebody allowed everything at ep.
func (w *world) connected(t testing.TB, ep *tenants.Endpoint, email, client string) *connection {
	t.Helper()
	c := &connection{who: w.signedIn(t, ep, email), client: w.client(t, ep, client, callback), ep: ep}
	c.issued = w.exchanged(t, c, allow)
	return c
}

// exchanged asks and is allowed once more, and gets the tokens.
func (w *world) exchanged(t testing.TB, c *connection, a Answer) issued {
	t.Helper()
	code := w.allowing(t, w.asking(t, c.ep, c.client, c.who, callback, everything...), a)
	out, err := w.service.redeem(t.Context(), c.ep, c.client, code, anyVerifier)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func anyVerifier(string, string) error { return nil }

// access is an access token of the connection, as the token endpoint gives it.
func (w *world) access(t testing.TB, c *connection) string {
	t.Helper()
	token, _, err := w.service.accessToken(t.Context(), c.ep, c.issued, w.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	return token.Reveal()
}

// admitted is the caller that the token makes at ep.
func (w *world) admitted(t testing.TB, ep *tenants.Endpoint, token string) *oauth.Caller {
	t.Helper()
	c, err := w.service.Admit(t.Context(), ep, token)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// refreshed presents a refresh token.
func (w *world) refreshed(t testing.TB, c *connection, token seal.Secret) (issued, error) {
	t.Helper()
	return w.service.rotate(t.Context(), c.ep, c.client, token)
}

// stale moves the clock to where the project's access tokens need a refresh.
func (w *world) stale() { w.clock.Advance(time.Hour - 10*time.Second) }
