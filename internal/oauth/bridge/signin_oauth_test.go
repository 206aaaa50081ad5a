package bridge

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/standin"
)

// started begins (a) and returns where the browser is sent.
func (w *world) started(t testing.TB, in *SignIn) *url.URL {
	t.Helper()
	to, err := w.service.StartOAuth(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(to)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestPeopleSignInAtTheProjectsOAuthServer(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(*standin.Options){
		"ES256": nil,
		"HS256": func(o *standin.Options) { o.Signing = standin.SigningHS256 },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, func(o *worldOptions) { o.project = change })
			in, cookie := w.begun(t, w.ep)
			m, err := w.service.Methods(t.Context(), in, false)
			if err != nil || !m.OAuth || m.Password || m.EmailCode || m.OwnHost != "" || len(m.Providers) != 0 {
				t.Fatalf("methods %+v, %v", m, err)
			}
			to := w.started(t, in)
			q := to.Query()
			if !strings.HasPrefix(to.String(), w.ep.Project.Issuer+"/oauth/authorize?") || q.Get("scope") != "email" || q.Has("resource") ||
				q.Get("code_challenge_method") != "S256" || len(q.Get("state")) != 43 || q.Get("redirect_uri") != publicURL+CallbackPath {
				t.Fatalf("the browser is sent to %s", to)
			}
			got, out, err := w.service.Callback(t.Context(), w.consent(t, w.ep, to.String(), "alice@example.test"), has(in, cookie), visitor)
			if err != nil || out.Person == nil || out.Factor || got.ID != in.ID {
				t.Fatalf("%+v, %v", out, err)
			}
			w.wantPerson(t, in, cookie, "alice@example.test")
			second, secondCookie := w.begun(t, w.ep)
			if w.reopened(t, second, secondCookie).Person != nil {
				t.Error("another sign-in knows who signed in")
			}
			if again := w.started(t, second); again.Query().Get("client_id") != q.Get("client_id") {
				t.Error("another client was registered")
			}
			var stored string
			w.query(t, &stored, "select row_to_json(s)::text || (select row_to_json(g)::text from sign_in_settings g) from sign_ins s where id = $1", second.ID.UUID())
			if strings.Contains(stored, q.Get("state")) || !strings.Contains(stored, q.Get("client_id")) {
				t.Errorf("stored %s", stored)
			}
		})
	}
}

func TestReplicasRegisterOneClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.replica(t)
	var group sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		group.Add(1)
		go func() {
			defer group.Done()
			s := w.service
			if i%2 == 1 {
				s = other.service
			}
			c, err := s.ensureClient(t.Context(), w.ep)
			if err != nil {
				t.Error(err)
			}
			ids[i] = c.ID
		}()
	}
	group.Wait()
	if n := len(w.project.RequestsTo("/auth/v1/oauth/clients/register")); n != 1 {
		t.Errorf("%d clients were registered", n)
	}
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Errorf("clients %v", ids)
			break
		}
	}
}

// A server that died while it registered does not stop the others for long.
func TestALostRegistrationIsTakenOver(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, leased, err := w.service.leaseRegistration(t.Context(), w.ep); err != nil || !leased {
		t.Fatal(leased, err)
	}
	if _, leased, err := w.service.leaseRegistration(t.Context(), w.ep); err != nil || leased {
		t.Fatalf("two at once: %v, %v", leased, err)
	}
	w.clock.Advance(registrationLease)
	if c, err := w.service.ensureClient(t.Context(), w.ep); err != nil || c.ID == "" {
		t.Fatalf("%+v, %v", c, err)
	}
}

func TestAClientThatTheProjectForgotIsRegisteredAgain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, _ := w.begun(t, w.ep)
	first := w.started(t, in).Query().Get("client_id")
	if err := w.project.DeleteClient(t.Context(), first); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(metadataFor) // what is remembered of it is over
	in, cookie := w.begun(t, w.ep)
	to := w.started(t, in)
	second := to.Query().Get("client_id")
	if second == first {
		t.Fatal("the browser is sent with a client that is gone")
	}
	// And where it goes between the way there and the way back.
	query := w.consent(t, w.ep, to.String(), "alice@example.test")
	if err := w.project.DeleteClient(t.Context(), second); err != nil {
		t.Fatal(err)
	}
	_, _, err := w.service.Callback(t.Context(), query, has(in, cookie), visitor)
	wantFault(t, err, fault.Unavailable, "client_gone")
	to = w.started(t, w.reopened(t, in, cookie))
	if _, _, err := w.service.Callback(t.Context(), w.consent(t, w.ep, to.String(), "bob@example.test"), has(in, cookie), visitor); err != nil {
		t.Fatal(err)
	}
	w.wantPerson(t, in, cookie, "bob@example.test")
}

func TestACallbackWithoutTheCookieSpendsNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, cookie := w.begun(t, w.ep)
	bobs, bobsCookie := w.begun(t, w.ep)
	query := w.consent(t, w.ep, w.started(t, in).String(), "alice@example.test")
	w.project.ForgetRequests()
	both := url.Values{"sign_in": query["state"], "state": query["state"], "code": query["code"]}
	twice := url.Values{"state": {query.Get("state"), query.Get("state")}, "code": query["code"]}
	moved := url.Values{"sign_in": query["state"], "code": query["code"]}
	for name, try := range map[string]func() error{
		"no cookie": func() error { _, _, err := w.service.Callback(t.Context(), query, noCookie, visitor); return err },
		"Bob's": func() error {
			_, _, err := w.service.Callback(t.Context(), query, has(bobs, bobsCookie), visitor)
			return err
		},
		"Bob's for this one": func() error {
			_, _, err := w.service.Callback(t.Context(), query, has(in, bobsCookie), visitor)
			return err
		},
		"no state": func() error {
			_, _, err := w.service.Callback(t.Context(), url.Values{"code": query["code"]}, has(in, cookie), visitor)
			return err
		},
		"two states": func() error { _, _, err := w.service.Callback(t.Context(), both, has(in, cookie), visitor); return err },
		"state twice": func() error {
			_, _, err := w.service.Callback(t.Context(), twice, has(in, cookie), visitor)
			return err
		},
		"state of another kind": func() error {
			_, _, err := w.service.Callback(t.Context(), moved, has(in, cookie), visitor)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) { wantStartAgain(t, try()) })
	}
	if n := len(w.project.Requests()); n != 0 {
		t.Fatalf("the project was asked %d times", n)
	}
	if _, _, err := w.service.Callback(t.Context(), query, has(in, cookie), visitor); err != nil {
		t.Fatal(err)
	}
	w.wantPerson(t, in, cookie, "alice@example.test")
	if got := w.reopened(t, bobs, bobsCookie); got.Person != nil {
		t.Error("Bob's browser is signed in as Alice")
	}
	w.project.ForgetRequests()
	_, _, err := w.service.Callback(t.Context(), query, has(in, cookie), visitor)
	wantStartAgain(t, err)
	if n := len(w.project.Requests()); n != 0 {
		t.Error("a state counted twice")
	}
}

func TestAStateCountsOnceAlsoAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, cookie := w.begun(t, w.ep)
	query := w.consent(t, w.ep, w.started(t, in).String(), "alice@example.test")
	w.project.ForgetRequests()
	var group sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		group.Add(1)
		go func() {
			defer group.Done()
			_, _, errs[i] = w.service.Callback(t.Context(), query, has(in, cookie), Visitor{})
		}()
	}
	group.Wait()
	good := 0
	for _, err := range errs {
		if err == nil {
			good++
			continue
		}
		wantStartAgain(t, err)
	}
	if n := len(w.project.RequestsTo("/auth/v1/oauth/token")); good != 1 || n != 1 {
		t.Errorf("%d came through, %d exchanges", good, n)
	}
}

// One address takes back the browsers of every project. A project that sends
// a browser to another one, with our client there and its own state, gets a
// code of that project to see and no tokens for it; and what it answers itself
// counts for itself only.
func TestAProjectCannotMixAnotherOneIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	victim := w.standin(t, nil)
	globex := w.member(t, "owner@globex.example.test", "Globex")
	honest := w.surface(t, globex, victim, "globex", "main", nil)
	// Our client at the honest project is known to whoever looks.
	theirs, err := w.service.ensureClient(t.Context(), honest)
	if err != nil {
		t.Fatal(err)
	}

	there := *w // whose pages are the honest project's
	there.project = victim
	in, cookie := w.begun(t, w.ep)
	q := w.started(t, in).Query()
	q.Set("client_id", theirs.ID)
	query := there.consent(t, honest, honest.Project.Issuer+"/oauth/authorize?"+q.Encode(), "alice@example.test")
	victim.ForgetRequests()
	w.project.ForgetRequests()
	if _, _, err := w.service.Callback(t.Context(), query, has(in, cookie), visitor); err == nil {
		t.Fatal("a code of another project signed somebody in")
	}
	if n := len(victim.RequestsTo("/auth/v1/oauth/token")); n != 0 {
		t.Error("the code was exchanged at the other project")
	}
	if n := len(w.project.RequestsTo("/auth/v1/oauth/token")); n != 1 {
		t.Errorf("the sign-in's own project was asked %d times", n)
	}
	if got := w.reopened(t, in, cookie); got.Person != nil {
		t.Fatalf("signed in %+v", got.Person)
	}

	// The dishonest project answers with tokens that it got elsewhere.
	stolen := there.oauthTokens(t, honest, theirs, "alice@example.test")
	again := w.started(t, w.reopened(t, in, cookie))
	query = w.consent(t, w.ep, again.String(), "bob@example.test")
	w.project.AnswerNext("/auth/v1/oauth/token", http.HandlerFunc(func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(rw).Encode(map[string]any{"access_token": stolen.Access.Reveal(), "refresh_token": stolen.Refresh.Reveal(), "token_type": "bearer", "expires_in": 3600})
	}))
	if _, _, err := w.service.Callback(t.Context(), query, has(in, cookie), visitor); err == nil {
		t.Fatal("tokens of another project signed somebody in")
	}
	if got := w.reopened(t, in, cookie); got.Person != nil {
		t.Fatalf("signed in %+v", got.Person)
	}
}

func TestSayingNoAtTheProjectGoesBackToTheClient(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, cookie := w.begun(t, w.ep)
	query := url.Values{"error": {"access_denied"}, "state": {w.started(t, in).Query().Get("state")}}
	_, _, err := w.service.Callback(t.Context(), query, has(in, cookie), visitor)
	back, ok := err.(*BackToClient) //nolint:errorlint // the documented type
	if !ok || back.Code != "access_denied" {
		t.Fatalf("error %v", err)
	}
	u, err := url.Parse(back.URL)
	if err != nil || u.Query().Get("error") != "access_denied" || u.Query().Get("state") != "theirs" || u.Query().Get("iss") != w.ep.Resource.URL() {
		t.Errorf("back to %s", back.URL)
	}
	_, err = w.service.Open(t.Context(), in.ID, cookie)
	wantStartAgain(t, err)

	apps, appsCookie, err := w.service.begin(t.Context(), w.ep, newSignIn{purpose: PurposeApps})
	if err != nil {
		t.Fatal(err)
	}
	query.Set("state", w.started(t, apps).Query().Get("state"))
	_, _, err = w.service.Callback(t.Context(), query, has(apps, appsCookie), visitor)
	wantFault(t, err, fault.Forbidden, "access_denied")
}

// An OAuth server that is switched on and has no consent page cannot sign
// anybody in; our pages can.
func TestAHalfConfiguredOAuthServerIsLeftAlone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *worldOptions) { o.project = func(p *standin.Options) { p.NoConsentPath = true } })
	in, cookie := w.begun(t, w.ep)
	query := w.consent(t, w.ep, w.started(t, in).String(), "alice@example.test")
	_, _, err := w.service.Callback(t.Context(), query, has(in, cookie), visitor)
	wantFault(t, err, fault.Unavailable, "upstream_authorization")
	m, err := w.service.Methods(t.Context(), w.reopened(t, in, cookie), false)
	if err != nil || m.OAuth || !m.EmailCode {
		t.Errorf("methods %+v, %v", m, err)
	}
	// Anybody can come back with an error: it changes nobody else's sign-in.
	other, _ := w.begun(t, w.ep)
	if m, err := w.service.Methods(t.Context(), other, false); err != nil || !m.OAuth {
		t.Errorf("another browser is offered %+v, %v", m, err)
	}
}

func TestWithoutRegistrationAPastedClientIsUsed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *worldOptions) { o.project = func(p *standin.Options) { p.RegistrationOff = true } })
	in, cookie := w.begun(t, w.ep)
	if m, err := w.service.Methods(t.Context(), in, false); err != nil || m.OAuth {
		t.Fatalf("methods %+v, %v", m, err)
	}
	w.project.SetRegistration(true)
	made, err := w.service.cfg.Projects.RegisterOAuthClient(t.Context(), projectOf(w.ep), ourRegistration())
	if err != nil {
		t.Fatal(err)
	}
	w.project.SetRegistration(false)
	if _, err := w.service.ChangeSignIn(t.Context(), w.builder, w.ep.Project.ID, SignInChange{ClientID: &made.ID, ClientSecret: made.Secret}); err != nil {
		t.Fatal(err)
	}
	to := w.started(t, in)
	if to.Query().Get("client_id") != made.ID {
		t.Fatalf("sent to %s", to)
	}
	if _, _, err := w.service.Callback(t.Context(), w.consent(t, w.ep, to.String(), "alice@example.test"), has(in, cookie), visitor); err != nil {
		t.Fatal(err)
	}
	w.wantPerson(t, in, cookie, "alice@example.test")

	// Once it is deleted there, only its builder can mend it.
	if err := w.project.DeleteClient(t.Context(), made.ID); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(metadataFor)
	in, _ = w.begun(t, w.ep)
	_, err = w.service.StartOAuth(t.Context(), in)
	wantFault(t, err, fault.Unavailable, "client_gone")
	if got, err := w.service.SignInSettings(t.Context(), w.builder, w.ep.Project.ID); err != nil || got.ClientID != made.ID {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestTheBuildersChoiceOfMethodHolds(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, _ := w.begun(t, w.ep)
	hosted, oauth := methodHosted, methodOAuth
	change := func(c SignInChange) {
		if _, err := w.service.ChangeSignIn(t.Context(), w.builder, w.ep.Project.ID, c); err != nil {
			t.Fatal(err)
		}
	}
	change(SignInChange{Method: &hosted})
	if m, err := w.service.Methods(t.Context(), in, false); err != nil || m.OAuth || !m.EmailCode {
		t.Errorf("methods %+v, %v", m, err)
	}
	_, err := w.service.StartOAuth(t.Context(), in)
	wantFault(t, err, fault.Invalid, "not_offered")
	w.project.SetOAuth(false)
	change(SignInChange{Method: &oauth})
	if m, err := w.service.Methods(t.Context(), in, false); err != nil || !m.OAuth {
		t.Errorf("methods %+v, %v", m, err)
	}
	_, err = w.service.StartOAuth(t.Context(), in)
	wantFault(t, err, fault.Unavailable, "registration_off")
}

func TestAProjectThatDoesNotAnswerIsSaidToBeAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	in, _ := w.begun(t, w.ep)
	ep := *w.ep
	ep.Project.APIOrigin = "http://127.0.0.1:1"
	in.Endpoint = &ep
	_, err := w.service.Methods(t.Context(), in, false)
	wantFault(t, err, fault.Unavailable, "sign_in_unavailable")
}
