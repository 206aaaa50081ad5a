package bridge

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	ownHost     = "acme." + surfaceDomain
	testClient  = "https://app.example.test/callback"
	visitorFrom = "192.0.2.7"
)

var visitor = Visitor{Address: visitorFrom, Agent: "browser/1", RequestID: "req-1"}

// hosted is a world whose project signs people in on our pages: its OAuth
// server is off.
func hosted(change ...func(*standin.Options)) func(*worldOptions) {
	return func(o *worldOptions) {
		o.project = func(p *standin.Options) {
			p.OAuthOff = true
			p.RedirectURLs = []string{publicURL + CallbackPath + "**"}
			for _, f := range change {
				f(p)
			}
		}
	}
}

// begun begins a sign-in at ep for a client that it registers.
func (w *world) begun(t testing.TB, ep *tenants.Endpoint) (*SignIn, seal.Secret) {
	t.Helper()
	var n int
	w.query(t, &n, "select count(*) from oauth_clients")
	client := w.client(t, ep, "c"+strings.Repeat("i", n), testClient)
	in, cookie, err := w.service.begin(t.Context(), ep, newSignIn{
		purpose: PurposeAuthorize, client: client, redirectURI: testClient, state: "theirs", stateGiven: true,
		challenge: strings.Repeat("c", 43), scopes: []string{"crm.read"},
	})
	if err != nil {
		t.Fatal(err)
	}
	return in, cookie
}

// reopened is a sign-in as its browser finds it on the next page.
func (w *world) reopened(t testing.TB, in *SignIn, cookie seal.Secret) *SignIn {
	t.Helper()
	again, err := w.service.Open(t.Context(), in.ID, cookie)
	if err != nil {
		t.Fatal(err)
	}
	return again
}

// onOwnHost takes a sign-in to the project's own host.
func (w *world) onOwnHost(t testing.TB, in *SignIn) *SignIn {
	t.Helper()
	there, err := w.service.OpenTicket(t.Context(), ownHost, w.service.Ticket(in))
	if err != nil {
		t.Fatal(err)
	}
	return there
}

// has is a browser with one transaction cookie.
func has(in *SignIn, cookie seal.Secret) func(id.SignIn) seal.Secret {
	return func(other id.SignIn) seal.Secret {
		if other == in.ID {
			return cookie
		}
		return seal.Secret{}
	}
}

func noCookie(id.SignIn) seal.Secret { return seal.Secret{} }

// consent answers the project's consent page as a person, and returns what the
// browser brings to CallbackPath.
func (w *world) consent(t testing.TB, ep *tenants.Endpoint, authorizeURL, email string) url.Values {
	t.Helper()
	to := w.redirectOf(t, http.MethodGet, authorizeURL, "", nil)
	if to.Query().Get("error") != "" {
		return to.Query()
	}
	authorization := ep.Project.Issuer + "/oauth/authorizations/" + to.Query().Get("authorization_id")
	bearer := w.session(t, ep, email).Access.Reveal()
	back := w.redirectOf(t, http.MethodGet, authorization, bearer, nil)
	if back.Query().Get("code") == "" {
		back = w.redirectOf(t, http.MethodPost, authorization+"/consent", bearer, strings.NewReader(`{"action":"approve"}`))
	}
	if got := back.Scheme + "://" + back.Host + back.Path; got != publicURL+CallbackPath {
		t.Fatalf("the browser is sent to %s", got)
	}
	return back.Query()
}

// wantFault expects an error with a public face.
func wantFault(t testing.TB, err error, kind fault.Kind, code string) {
	t.Helper()
	if !fault.Is(err, kind) || fault.From(err).Code != code {
		t.Fatalf("error %v, want %s %s", err, kind, code)
	}
}

func wantStartAgain(t testing.TB, err error) {
	t.Helper()
	wantFault(t, err, fault.NotFound, "start_again")
}

// wantPerson expects somebody to be signed in, on the row too.
func (w *world) wantPerson(t testing.TB, in *SignIn, cookie seal.Secret, email string) {
	t.Helper()
	got := w.reopened(t, in, cookie)
	if got.Person == nil || got.Person.Email != email || got.Factor || got.Email != "" {
		t.Fatalf("signed in %+v, want %s", got.Person, email)
	}
	if got.Person.Organization != in.Endpoint.Organization || got.Person.Project != in.Endpoint.Project.ID {
		t.Fatalf("person of %s %s", got.Person.Organization, got.Person.Project)
	}
}

func TestASignInIsOpenedByItsBrowserOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, cookie := w.begun(t, w.ep)
	other, otherCookie := w.begun(t, w.ep)
	got := w.reopened(t, in, cookie)
	if got.Client == nil || got.Client.ID != in.Client.ID || got.RedirectURI != testClient || got.Person != nil || got.Endpoint.Surface != w.ep.Surface ||
		got.state != "theirs" || !got.stateGiven || len(got.Scopes) != 1 || got.Endpoint.Resource != w.ep.Resource {
		t.Errorf("opened %+v", got)
	}
	for name, try := range map[string]func() error{
		"no cookie":       func() error { _, err := w.service.Open(t.Context(), in.ID, seal.Secret{}); return err },
		"another's":       func() error { _, err := w.service.Open(t.Context(), in.ID, otherCookie); return err },
		"another sign-in": func() error { _, err := w.service.Open(t.Context(), other.ID, cookie); return err },
		"unknown":         func() error { _, err := w.service.Open(t.Context(), id.New[id.SignInKind](), cookie); return err },
	} {
		t.Run(name, func(t *testing.T) { wantStartAgain(t, try()) })
	}
	var stored string
	w.query(t, &stored, "select row_to_json(s)::text from sign_ins s where id = $1", in.ID.UUID())
	if strings.Contains(stored, cookie.Reveal()) {
		t.Error("the cookie is stored")
	}
	w.clock.Advance(signInLifetime)
	_, err := w.service.Open(t.Context(), in.ID, cookie)
	wantStartAgain(t, err)
}

func TestAGivenUpSignInIsOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, cookie := w.begun(t, w.ep)
	back, err := w.service.Cancel(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(back)
	if err != nil || !strings.HasPrefix(back, testClient) {
		t.Fatalf("back to %s", back)
	}
	if q := u.Query(); q.Get("error") != "access_denied" || q.Get("state") != "theirs" || q.Get("iss") != w.ep.Resource.URL() {
		t.Errorf("the client is told %v", q)
	}
	_, err = w.service.Open(t.Context(), in.ID, cookie)
	wantStartAgain(t, err)
	_, err = w.service.Cancel(t.Context(), in)
	wantStartAgain(t, err)
}

// An address can lead to another organization by the time a browser is back.
func TestASignInEndsWhereItsAddressLeadsElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	globex := w.member(t, "owner@globex.example.test", "Globex")
	other := w.surface(t, globex, w.standin(t, nil), "globex", "main", nil)
	in, cookie := w.begun(t, w.ep)
	w.Exec(t, "update sign_ins set url_ref = $1 where id = $2", other.Resource.Ref, in.ID.UUID())
	_, err := w.service.Open(t.Context(), in.ID, cookie)
	wantStartAgain(t, err)
	_, err = w.service.OpenTicket(t.Context(), "globex."+surfaceDomain, w.service.Ticket(in))
	wantStartAgain(t, err)
}

func TestNobodySignsInWhileOwnershipIsMissing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	paused := *w.ep
	paused.Project.SignInPaused = true
	in, _ := w.begun(t, w.ep)
	in.Endpoint = &paused
	in.Email, in.Factor = "alice@example.test", true
	there := w.onOwnHost(t, in)
	there.Endpoint = &paused
	password := seal.NewSecret(standin.CRMPassword)
	for name, try := range map[string]func(context.Context) error{
		"begin": func(ctx context.Context) error {
			_, _, err := w.service.begin(ctx, &paused, newSignIn{purpose: PurposeApps})
			return err
		},
		"methods":  func(ctx context.Context) error { _, err := w.service.Methods(ctx, in, false); return err },
		"oauth":    func(ctx context.Context) error { _, err := w.service.StartOAuth(ctx, in); return err },
		"provider": func(ctx context.Context) error { _, err := w.service.StartProvider(ctx, in, "github"); return err },
		"mail": func(ctx context.Context) error {
			_, err := w.service.SendCode(ctx, in, in.Email, "", visitor)
			return err
		},
		"code": func(ctx context.Context) error {
			_, err := w.service.VerifyEmailCode(ctx, in, "123456", visitor)
			return err
		},
		"factor": func(ctx context.Context) error {
			_, err := w.service.VerifyFactor(ctx, in, "123456", visitor)
			return err
		},
		"password": func(ctx context.Context) error {
			_, err := w.service.Password(ctx, there, "alice@example.test", password, "", visitor)
			return err
		},
		"sign up": func(ctx context.Context) error {
			_, err := w.service.SignUp(ctx, there, "eve@example.test", password, "", visitor)
			return err
		},
		"recognize": func(ctx context.Context) error {
			return w.service.Recognize(ctx, in, &Person{Organization: w.ep.Organization, Project: w.ep.Project.ID})
		},
	} {
		t.Run(name, func(t *testing.T) { wantFault(t, try(t.Context()), fault.Unavailable, "sign_in_paused") })
	}
}

func TestAnotherPersonCanSignInInstead(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, cookie := w.begun(t, w.ep)
	alice, bob := w.signedIn(t, w.ep, "alice@example.test"), w.signedIn(t, w.ep, "bob@example.test")
	if err := w.service.Recognize(t.Context(), in, alice); err != nil {
		t.Fatal(err)
	}
	w.wantPerson(t, in, cookie, "alice@example.test")
	if err := w.service.Again(t.Context(), w.reopened(t, in, cookie)); err != nil {
		t.Fatal(err)
	}
	if got := w.reopened(t, in, cookie); got.Person != nil {
		t.Fatalf("still signed in: %+v", got.Person)
	}
	if err := w.service.Recognize(t.Context(), in, bob); err != nil {
		t.Fatal(err)
	}
	w.wantPerson(t, in, cookie, "bob@example.test")
	w.Exec(t, "update upstream_sessions set ended_at = now(), ended_why = 'session_ended' where id = $1", bob.Upstream.UUID())
	if got := w.reopened(t, in, cookie); got.Person != nil {
		t.Error("somebody is signed in whose session has ended")
	}
}

func TestStepsTellHowASignInWent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosted())
	in, _ := w.begun(t, w.ep)
	there := w.onOwnHost(t, in)
	_, err := w.service.Password(t.Context(), there, "alice@example.test", seal.NewSecret("no, not this"), "", visitor)
	wantFault(t, err, fault.Invalid, "wrong_credentials")
	if _, err := w.service.Password(t.Context(), there, "alice@example.test", seal.NewSecret(standin.CRMPassword), "", visitor); err != nil {
		t.Fatal(err)
	}
	steps := w.steps.of(w.ep.Surface, events.StepSignIn)
	if len(steps) != 2 || !steps[0].Failed || steps[0].Code != "wrong_credentials" || steps[1].Failed || steps[1].SignIn != in.ID || steps[1].Client != in.Client.ID {
		t.Errorf("steps %+v", steps)
	}
	for _, secret := range []string{"no, not this", standin.CRMPassword, "alice@example.test", visitorFrom} {
		if strings.Contains(w.logs.String(), secret) {
			t.Errorf("the log holds %q", secret)
		}
	}
}
