package bridge

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// upstream is the project's token for a person's kept session.
func (w *world) upstream(t testing.TB, who *Person, refused seal.Secret) (seal.Secret, error) {
	t.Helper()
	return w.service.upstreamToken(t.Context(), &w.ep.Project, who.Organization, who.Upstream, refused)
}

func (w *world) mustUpstream(t testing.TB, who *Person) seal.Secret {
	t.Helper()
	token, err := w.upstream(t, who, seal.Secret{})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// ourClient is our OAuth client of the project, registered.
func (w *world) ourClient(t testing.TB) supabase.OAuthClient {
	t.Helper()
	c, err := w.service.ensureClient(t.Context(), w.ep)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestASessionIsKeptSealedAndHandedOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tokens := w.session(t, w.ep, alice)
	who, err := w.service.keepUpstream(t.Context(), w.ep, upstreamSession, "", tokens)
	if err != nil {
		t.Fatal(err)
	}
	if who.Subject != standin.AliceID || who.Email != alice || who.Organization != w.ep.Organization || who.Issuer != w.project.Issuer() {
		t.Errorf("person %+v", who)
	}
	if got := w.mustUpstream(t, who); got != tokens.Access {
		t.Error("another token is handed out")
	}
	var row, refresh []byte
	w.query(t, &row, "select convert_to(u::text, 'utf8') || access_token || refresh_token from upstream_sessions u where id = $1", who.Upstream.UUID())
	for name, token := range map[string]seal.Secret{"access": tokens.Access, "refresh": tokens.Refresh} {
		if bytes.Contains(row, []byte(token.Reveal())) {
			t.Errorf("the %s token is stored in the clear", name)
		}
	}
	w.query(t, &refresh, "select refresh_token from upstream_sessions where id = $1", who.Upstream.UUID())
	key := keyOfUpstream(&w.ep.Project, who.Organization, who.Upstream)
	for name, k := range map[string]upstreamKey{
		"another organization": keyOfUpstream(&w.ep.Project, id.New[id.OrganizationKind](), who.Upstream),
		"another session":      keyOfUpstream(&w.ep.Project, who.Organization, id.New[id.UpstreamKind]()),
	} {
		if _, err := w.service.upstreams.open(k, "refresh_token", refresh); err == nil {
			t.Errorf("opens for %s", name)
		}
	}
	if _, err := w.service.upstreams.open(key, "access_token", refresh); err == nil {
		t.Error("opens as another column")
	}
}

func TestOnlyTheRightKindOfTokenIsKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ours := w.ourClient(t)
	other, err := w.projects.RegisterOAuthClient(t.Context(), projectOf(w.ep), supabase.NewOAuthClient{Name: "other", RedirectURIs: []string{publicURL + CallbackPath}})
	if err != nil {
		t.Fatal(err)
	}
	elsewhere := w.surface(t, w.builder, w.standin(t, nil), "elsewhere", "main", nil)
	made := func(email string, o standin.TokenOptions) supabase.Tokens {
		text, err := w.project.AccessToken(email, o)
		if err != nil {
			t.Fatal(err)
		}
		return supabase.Tokens{Access: seal.NewSecret(text), Refresh: seal.NewSecret("r"), ExpiresIn: time.Hour}
	}
	forged := w.session(t, w.ep, alice)
	text := forged.Access.Reveal()
	forged.Access = seal.NewSecret(text[:len(text)-8] + "AAAAAAAA")
	claims := func(c map[string]any) standin.TokenOptions { return standin.TokenOptions{Claims: c} }
	for _, test := range []struct {
		name   string
		kind   upstreamKind
		client string
		tokens supabase.Tokens
		code   string // "" is kept
	}{
		{"ours", upstreamOAuth, ours.ID, w.oauthTokens(t, w.ep, ours, alice), ""},
		{"of another client", upstreamOAuth, ours.ID, w.oauthTokens(t, w.ep, other, alice), "token_client"},
		{"first-party, where ours is due", upstreamOAuth, ours.ID, w.session(t, w.ep, alice), "token_client"},
		{"of no client we know", upstreamOAuth, "", w.session(t, w.ep, alice), "token_client"},
		{"of a client, where a first-party one is due", upstreamSession, "", w.oauthTokens(t, w.ep, ours, alice), "token_client"},
		{"with a scope only", upstreamSession, "", made(alice, claims(map[string]any{"scope": "email"})), "token_client"},
		{"of a delegated session", upstreamSession, "", made(alice, claims(map[string]any{"amr": []any{map[string]any{"method": "oauth_provider/authorization_code"}}})), "token_client"},
		{"of another project", upstreamSession, "", w.session(t, elsewhere, alice), "token_issuer"},
		{"forged", upstreamSession, "", forged, "token_signature"},
		{"expired", upstreamSession, "", made(alice, standin.TokenOptions{Lifetime: -time.Hour}), "token_expired"},
		{"of an anonymous user", upstreamSession, "", made(alice, claims(map[string]any{"is_anonymous": true})), "token_anonymous_user"},
		{"of another role", upstreamSession, "", made(alice, claims(map[string]any{"role": "staff"})), "token_role"},
		{"of the service role", upstreamSession, "", made(alice, claims(map[string]any{"role": "service_role"})), "token_role"},
	} {
		_, err := w.service.keepUpstream(t.Context(), w.ep, test.kind, test.client, test.tokens)
		code := ""
		if err != nil {
			code = fault.From(err).Code
		}
		if code != test.code {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	roles := w.surface(t, w.builder, w.project, "acme", "staff", func(c *surfaces.Compiled) { c.Access.Roles = []string{"staff", "service_role"} })
	for role, kept := range map[string]bool{"staff": true, "authenticated": false, "service_role": false, "anon": false} {
		if _, err := w.service.keepUpstream(t.Context(), roles, upstreamSession, "", made(alice, claims(map[string]any{"role": role}))); (err == nil) != kept {
			t.Errorf("role %s where staff is allowed: %v", role, err)
		}
	}
}

// Where the project signs with a shared secret nothing can be verified here:
// the project itself says who it is.
func TestASharedSecretProjectVouchesItself(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(o *worldOptions) {
		o.project = func(p *standin.Options) { p.Signing = standin.SigningHS256 }
	})
	who := w.signedIn(t, w.ep, alice)
	if who.Subject != standin.AliceID {
		t.Errorf("person %+v", who)
	}
	w.stale()
	if _, err := w.upstream(t, who, seal.Secret{}); err != nil {
		t.Errorf("refresh: %v", err)
	}
	forged := w.session(t, w.ep, alice)
	head, _, _ := strings.Cut(forged.Access.Reveal(), ".")
	_, rest, _ := strings.Cut(w.session(t, w.ep, bob).Access.Reveal(), ".")
	payload, _, _ := strings.Cut(rest, ".")
	forged.Access = seal.NewSecret(head + "." + payload + "." + forged.Access.Reveal()[strings.LastIndexByte(forged.Access.Reveal(), '.')+1:])
	if _, err := w.service.keepUpstream(t.Context(), w.ep, upstreamSession, "", forged); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a token with Bob's claims and Alice's signature: %v", err)
	}
}

// All calls that come at the end of a token share one refresh, on every
// server, and get one and the same token.
func TestField28_CallsAtExpiryShareOneRefresh(t *testing.T) {
	t.Parallel()
	for name, kind := range map[string]upstreamKind{"session": upstreamSession, "oauth": upstreamOAuth} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			var who *Person
			var err error
			if kind == upstreamOAuth {
				ours := w.ourClient(t)
				who, err = w.service.keepUpstream(t.Context(), w.ep, kind, ours.ID, w.oauthTokens(t, w.ep, ours, alice))
			} else {
				who, err = w.service.keepUpstream(t.Context(), w.ep, kind, "", w.session(t, w.ep, alice))
			}
			if err != nil {
				t.Fatal(err)
			}
			first, servers := w.mustUpstream(t, who), []*world{w, w.replica(t)}
			for round, servers := range [][]*world{servers[:1], servers} {
				w.stale()
				before := w.project.Refreshes()
				tokens := make(chan seal.Secret, 50)
				var wg sync.WaitGroup
				for i := range cap(tokens) {
					wg.Go(func() {
						token, err := servers[i%len(servers)].upstream(t, who, seal.Secret{})
						if err != nil {
							t.Errorf("call: %v", err)
						}
						tokens <- token
					})
				}
				wg.Wait()
				close(tokens)
				if n := w.project.Refreshes() - before; n != 1 {
					t.Errorf("round %d: %d refreshes", round, n)
				}
				now := <-tokens
				for token := range tokens {
					if token != now {
						t.Errorf("round %d: two tokens", round)
					}
				}
				if now == first {
					t.Errorf("round %d: the old token", round)
				}
				first = now
			}
		})
	}
}

// A project that takes its time holds up its own people's calls, and nobody
// else's: no connection to the database waits with them.
func TestNoConnectionIsHeldWhileAProjectAnswers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	people := make([]*Person, 12) // more than there are connections
	for i := range people {
		people[i] = w.signedIn(t, w.ep, alice)
	}
	theirs := w.connected(t, w.ep, bob, "cursor")
	w.clock.Advance(2 * time.Hour)
	release := make(chan struct{})
	slow, calls := w.badAuth(t, func(rw http.ResponseWriter, r *http.Request) {
		<-release
		answerJSON(503, `{}`)(rw, r)
	})
	w.takenAlong(t, slow, people...)
	var wg sync.WaitGroup
	for _, who := range people {
		wg.Go(func() {
			if _, err := w.service.upstreamToken(t.Context(), slow, who.Organization, who.Upstream, seal.Secret{}); !fault.Is(err, fault.Unavailable) {
				t.Errorf("a project that is away: %v", err)
			}
		})
	}
	defer wg.Wait()
	defer close(release)
	eventually(t, "all of them wait for the project", func() bool { return int(calls.Load()) == len(people) })
	began := time.Now()
	if _, err := w.refreshed(t, theirs, theirs.issued.refresh); err != nil {
		t.Errorf("Bob's refresh meanwhile: %v", err)
	}
	if d := time.Since(began); d > 5*time.Second {
		t.Errorf("it took %s", d)
	}
}

func TestARefusedTokenIsRenewedOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	who := w.signedIn(t, w.ep, alice)
	refused := w.mustUpstream(t, who)
	w.clock.Advance(time.Second)
	before := w.project.Refreshes()
	var wg sync.WaitGroup
	for range 20 {
		wg.Go(func() {
			if token, err := w.upstream(t, who, refused); err != nil || token == refused {
				t.Errorf("renewed to the refused token, or %v", err)
			}
		})
		wg.Go(func() {
			if _, err := w.upstream(t, who, seal.Secret{}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	if n := w.project.Refreshes() - before; n != 1 {
		t.Errorf("%d refreshes", n)
	}
}

// The server that held the lease is gone, and so is what the project gave it.
func TestACrashBetweenRefreshAndStoreLosesNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	tokens := w.session(t, w.ep, alice)
	who, err := w.service.keepUpstream(t.Context(), w.ep, upstreamSession, "", tokens)
	if err != nil {
		t.Fatal(err)
	}
	w.stale()
	w.Exec(t, "update upstream_sessions set refresh_until = $1, refresh_by = $2", w.clock.Now().Add(refreshLease), uuid.New())
	if _, err := w.projects.RefreshSession(t.Context(), projectOf(w.ep), tokens.Refresh); err != nil {
		t.Fatal(err)
	}
	got := make(chan error, 1)
	go func() {
		_, err := w.upstream(t, who, seal.Secret{})
		got <- err
	}()
	select {
	case err := <-got:
		t.Fatalf("did not wait for the holder of the lease: %v", err)
	case <-time.After(3 * refreshPoll):
	}
	w.clock.Advance(refreshLease)
	if err := <-got; err != nil {
		t.Fatalf("after the lease: %v", err)
	}
	if n := w.project.Refreshes(); n != 2 {
		t.Errorf("%d refreshes", n)
	}
	w.stale()
	if _, err := w.upstream(t, who, seal.Secret{}); err != nil {
		t.Errorf("and the next one: %v", err)
	}
}

// badAuth is a project's Auth that answers a refresh as told.
func (w *world) badAuth(t testing.TB, answer http.HandlerFunc) (*tenants.ProjectRef, *atomic.Int32) {
	t.Helper()
	var calls atomic.Int32
	server := httptest.NewServer(http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/keys" { // they share the origin
			keys, err := w.projects.KeySet(r.Context(), "keys", w.ep.Project.JWKSURI)
			if err != nil {
				t.Error(err)
			}
			_, _ = rw.Write(keys)
			return
		}
		calls.Add(1)
		answer(rw, r)
	}))
	t.Cleanup(server.Close)
	p := w.ep.Project
	p.APIOrigin, p.JWKSURI = server.URL, server.URL+"/keys"
	return &p, &calls
}

// takenAlong makes the kept sessions p's, as if they had been begun there: all
// of them, or those of some people.
func (w *world) takenAlong(t testing.TB, p *tenants.ProjectRef, some ...*Person) {
	t.Helper()
	ids := []uuid.UUID{}
	for _, who := range some {
		ids = append(ids, who.Upstream.UUID())
	}
	w.Exec(t, "update upstream_sessions set api_origin = $1 where cardinality($2::uuid[]) = 0 or id = any($2)", p.APIOrigin, ids)
}

func answerJSON(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func TestPassingFailuresKeepTheSession(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connected(t, w.ep, alice, "claude")
	for name, test := range map[string]struct {
		answer http.HandlerFunc
		after  time.Duration
	}{
		"500": {answerJSON(500, `{"code":500,"error_code":"unexpected_failure","msg":"x"}`), refreshAgain},
		"gateway page": {func(rw http.ResponseWriter, _ *http.Request) {
			rw.WriteHeader(http.StatusBadGateway)
			_, _ = rw.Write([]byte("<html>"))
		}, refreshAgain},
		"conflict":    {answerJSON(409, `{"code":409,"error_code":"conflict","msg":"x"}`), refreshAgain},
		"rate limit":  {answerJSON(429, `{"code":429,"error_code":"over_request_rate_limit","msg":"For security purposes, you can only request this after 47 seconds."}`), 47 * time.Second},
		"a hook's no": {answerJSON(403, `{"code":403,"error_code":"unknown","msg":"no"}`), refreshAgain},
	} {
		w.clock.Advance(2 * time.Hour)
		bad, calls := w.badAuth(t, test.answer)
		ask := func(p *tenants.ProjectRef) (seal.Secret, error) {
			w.takenAlong(t, p)
			return w.service.upstreamToken(t.Context(), p, c.who.Organization, c.who.Upstream, seal.Secret{})
		}
		_, err := ask(bad)
		if !fault.Is(err, fault.Unavailable) || fault.From(err).RetryAfter != test.after {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := ask(bad); !fault.Is(err, fault.Unavailable) || calls.Load() != 1 {
			t.Errorf("%s: %d calls, then %v", name, calls.Load(), err)
		}
		w.clock.Advance(test.after)
		if _, err := ask(&w.ep.Project); err != nil {
			t.Errorf("%s: afterwards %v", name, err)
		}
	}
	// Near its end, a token that still lives serves.
	w.stale()
	bad, _ := w.badAuth(t, answerJSON(500, `{}`))
	w.takenAlong(t, bad)
	if _, err := w.service.upstreamToken(t.Context(), bad, c.who.Organization, c.who.Upstream, seal.Secret{}); err != nil {
		t.Errorf("a token that lives: %v", err)
	}
	var live bool
	w.query(t, &live, "select revoked_at is null from grants where id = $1", c.issued.grant.UUID())
	if !live {
		t.Error("the grant ended")
	}
}

// The app's own sign-out, everywhere, ends what was connected: cleanly, and
// with the reason told to everybody.
func TestField29_SignOutInTheAppEndsTheConnection(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, theirs := w.connected(t, w.ep, alice, "claude"), w.connected(t, w.ep, bob, "cursor")
	token := w.access(t, c)
	w.admitted(t, w.ep, token)
	if err := w.project.EndSessions(t.Context(), alice); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(9 * time.Hour)
	_, err := w.refreshed(t, c, c.issued.refresh)
	wantInvalidGrant(t, err, saySession)
	if _, err := w.upstream(t, c.who, seal.Secret{}); !fault.Is(err, fault.Unauthenticated) || fault.From(err).Code != "session_ended" {
		t.Errorf("a call: %v", err)
	}
	_, err = w.refreshed(t, c, c.issued.refresh)
	wantInvalidGrant(t, err, saySession)
	var why, left string
	w.query(t, &why, "select revoked_why from grants where id = $1", c.issued.grant.UUID())
	w.query(t, &left, "select ended_why || length(access_token) || length(refresh_token) from upstream_sessions where id = $1", c.who.Upstream.UUID())
	if why != revokedUpstream || left != endedSession+"00" {
		t.Errorf("grant %q, session %q", why, left)
	}
	if ends := w.steps.of(w.ep.Surface, events.StepEnded); len(ends) != 1 || ends[0].Code != revokedUpstream || ends[0].Grant != c.issued.grant {
		t.Errorf("steps %+v", ends)
	}
	wantDenied(t, w, c.ep, w.access(t, c), "session_ended")
	if _, err := w.refreshed(t, theirs, theirs.issued.refresh); err != nil {
		t.Errorf("Bob's: %v", err)
	}
}

func TestAClientThatIsGoneEndsItsSessions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	ours := w.ourClient(t)
	who, err := w.service.keepUpstream(t.Context(), w.ep, upstreamOAuth, ours.ID, w.oauthTokens(t, w.ep, ours, alice))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.project.DeleteClient(t.Context(), ours.ID); err != nil {
		t.Fatal(err)
	}
	w.stale()
	if _, err := w.upstream(t, who, seal.Secret{}); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("refresh without a client: %v", err)
	}
	var why string
	w.query(t, &why, "select ended_why from upstream_sessions where id = $1", who.Upstream.UUID())
	if why != endedClient {
		t.Errorf("ended %q", why)
	}
	if again := w.ourClient(t); again.ID == ours.ID {
		t.Error("the client that is gone was not forgotten")
	}
	// Another client cannot refresh what the first one began.
	stays, err := w.service.keepUpstream(t.Context(), w.ep, upstreamOAuth, w.ourClient(t).ID, w.oauthTokens(t, w.ep, w.ourClient(t), alice))
	if err != nil {
		t.Fatal(err)
	}
	w.Exec(t, "update upstream_sessions set client_id = 'another' where id = $1", stays.Upstream.UUID())
	w.stale()
	if _, err := w.upstream(t, stays, seal.Secret{}); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("refresh as another client: %v", err)
	}
}

// A refresh that brings somebody else's token must not make Alice's client
// act as Bob.
func TestARefreshThatBringsSomebodyElseEndsTheGrant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connected(t, w.ep, alice, "claude")
	w.clock.Advance(2 * time.Hour)
	theirs := w.session(t, w.ep, bob)
	body, err := json.Marshal(map[string]any{
		"access_token": theirs.Access.Reveal(), "refresh_token": theirs.Refresh.Reveal(), "token_type": "bearer", "expires_in": 3600,
	})
	if err != nil {
		t.Fatal(err)
	}
	bad, _ := w.badAuth(t, answerJSON(200, string(body)))
	w.takenAlong(t, bad)
	token, err := w.service.upstreamToken(t.Context(), bad, c.who.Organization, c.who.Upstream, seal.Secret{})
	if !fault.Is(err, fault.Unauthenticated) || !token.IsZero() {
		t.Errorf("Bob's token for Alice: %v", err)
	}
	var why string
	w.query(t, &why, "select u.ended_why || ' ' || g.revoked_why from upstream_sessions u join grants g on g.upstream_session_id = u.id where u.id = $1", c.who.Upstream.UUID())
	if why != endedSubject+" "+revokedUpstream {
		t.Errorf("ended %q", why)
	}
}

func TestASessionIsSignedOutWithTheLastThatNeedsIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connected(t, w.ep, alice, "claude")
	other := &connection{who: c.who, client: w.client(t, w.ep, "cursor", callback), ep: w.ep}
	other.issued = w.exchanged(t, other, allow)
	visit, err := w.service.NewVisit(t.Context(), c.who)
	if err != nil {
		t.Fatal(err)
	}
	here := func() int { return w.project.Sessions(alice) }
	began := here()
	if err := w.service.Revoke(t.Context(), c.who, c.issued.grant); err != nil {
		t.Fatal(err)
	}
	if here() != began {
		t.Error("signed out while another grant needs the session")
	}
	if err := w.service.Revoke(t.Context(), c.who, other.issued.grant); err != nil {
		t.Fatal(err)
	}
	if here() != began {
		t.Error("signed out while a visit needs the session")
	}
	w.clock.Advance(2 * time.Hour) // the access token has expired meanwhile
	if err := w.service.EndVisit(t.Context(), c.who.Project, visit); err != nil {
		t.Fatal(err)
	}
	w.service.releaseUpstream(t.Context(), &w.ep.Project, c.who.Organization, c.who.Upstream)
	if here() != began-1 {
		t.Errorf("%d sessions of %d are left", here(), began)
	}
	if _, err := w.upstream(t, c.who, seal.Secret{}); !fault.Is(err, fault.Unauthenticated) {
		t.Errorf("a session that was signed out: %v", err)
	}
}

// A session belongs to one organization and one project, whoever names it.
func TestSessionsAreOnlyTheirOrganizations(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	globex := w.surface(t, w.member(t, "owner@globex.test", "Globex"), w.project, "globex", "main", nil)
	mine, theirs := w.signedIn(t, w.ep, alice), w.signedIn(t, globex, bob)
	w.mustUpstream(t, mine)
	for name, ask := range map[string]func() (seal.Secret, error){
		"another organization": func() (seal.Secret, error) {
			return w.service.upstreamToken(t.Context(), &globex.Project, theirs.Organization, mine.Upstream, seal.Secret{})
		},
		"another organization's project": func() (seal.Secret, error) {
			return w.service.upstreamToken(t.Context(), &globex.Project, mine.Organization, mine.Upstream, seal.Secret{})
		},
		"nobody's": func() (seal.Secret, error) {
			return w.service.upstreamToken(t.Context(), &w.ep.Project, mine.Organization, id.New[id.UpstreamKind](), seal.Secret{})
		},
	} {
		if token, err := ask(); !fault.Is(err, fault.Unauthenticated) || !token.IsZero() {
			t.Errorf("%s: %v", name, err)
		}
	}
	w.service.releaseUpstream(t.Context(), &globex.Project, theirs.Organization, mine.Upstream)
	w.mustUpstream(t, mine)
}

func TestTokensNeverReachTheLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connected(t, w.ep, alice, "claude")
	w.stale()
	upstream := w.mustUpstream(t, c.who)
	next, err := w.refreshed(t, c, c.issued.refresh)
	if err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(2 * time.Minute)
	_, _ = w.refreshed(t, c, c.issued.refresh)
	logged := w.logs.String()
	for name, secret := range map[string]string{
		"upstream token": upstream.Reveal(), "refresh token": c.issued.refresh.Reveal(), "next one": next.refresh.Reveal(), "access token": w.access(t, c), "email": alice,
	} {
		if strings.Contains(logged, secret) {
			t.Errorf("the log has the %s", name)
		}
	}
	if !strings.Contains(logged, c.issued.grant.String()) {
		t.Error("the log does not say that access was taken away")
	}
}
