package bridge

import (
	"encoding/base64"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

func wantInvalidGrant(t testing.TB, err error, description string) {
	t.Helper()
	var e *tokenError
	if !errors.As(err, &e) || e.code != "invalid_grant" || e.status != 400 || e.description != description {
		t.Errorf("error %v %+v, want invalid_grant: %s", err, e, description)
	}
}

func (w *world) why(t testing.TB, c *connection) string {
	t.Helper()
	var why string
	w.query(t, &why, "select revoked_why from grants where id = $1", c.issued.grant.UUID())
	return why
}

func TestACodeGivesTokensOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	who, client := w.signedIn(t, w.ep, alice), w.client(t, w.ep, "claude", callback)
	code := w.allowing(t, w.asking(t, w.ep, client, who, callback, everything...), allow)
	wrong := errors.New("wrong verifier")
	if _, err := w.service.redeem(t.Context(), w.ep, client, code, func(challenge, redirectURI string) error {
		if challenge != strings.Repeat("c", 43) || redirectURI != callback {
			t.Errorf("verifying %s and %s", challenge, redirectURI)
		}
		return wrong
	}); !errors.Is(err, wrong) {
		t.Errorf("a wrong verifier: %v", err)
	}
	other, globex := w.client(t, w.ep, "other", callback), w.surface(t, w.member(t, "owner@globex.test", "Globex"), w.project, "globex", "main", nil)
	_, err := w.service.redeem(t.Context(), w.ep, other, code, anyVerifier)
	wantInvalidGrant(t, err, sayCode)
	_, err = w.service.redeem(t.Context(), globex, client, code, anyVerifier)
	wantInvalidGrant(t, err, sayCode)
	_, err = w.service.redeem(t.Context(), w.surface(t, w.builder, w.project, "acme", "sales", nil), client, code, anyVerifier)
	wantInvalidGrant(t, err, sayCode)
	_, err = w.service.redeem(t.Context(), w.ep, client, seal.NewSecret("made-up"), anyVerifier)
	wantInvalidGrant(t, err, sayCode)

	out, err := w.service.redeem(t.Context(), w.ep, client, code, anyVerifier) // none of that spent it
	if err != nil {
		t.Fatal(err)
	}
	if out.subject != who.Subject || out.client != client.ID || !sameScopes(out.scopes, everything) || !strings.HasPrefix(out.refresh.Reveal(), refreshPrefix) {
		t.Errorf("issued %+v", out)
	}
	late := w.allowing(t, w.asking(t, w.ep, client, who, callback, everything...), allow)
	w.clock.Advance(codeLifetime)
	if _, err := w.service.redeem(t.Context(), w.ep, client, late, anyVerifier); err == nil {
		t.Error("a code after its minute")
	}
}

func TestACodeExchangedTwiceAtOnceSucceedsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	who, client := w.signedIn(t, w.ep, alice), w.client(t, w.ep, "claude", callback)
	c := &connection{who: who, client: client, ep: w.ep}
	standing := w.exchanged(t, c, allow) // another computer of hers, with the same client
	for range 5 {
		code := w.allowing(t, w.asking(t, w.ep, client, who, callback, everything...), allow)
		var wg sync.WaitGroup
		var mu sync.Mutex
		var won []issued
		for _, server := range []*world{w, w, w, w} {
			wg.Go(func() {
				out, err := server.service.redeem(t.Context(), w.ep, client, code, anyVerifier)
				mu.Lock()
				defer mu.Unlock()
				if err == nil {
					won = append(won, out)
					return
				}
				wantInvalidGrant(t, err, sayCode)
			})
		}
		wg.Wait()
		if len(won) != 1 {
			t.Fatalf("%d exchanges succeeded", len(won))
		}
		// Somebody may have copied the code: what it gave has ended.
		_, err := w.service.rotate(t.Context(), w.ep, client, won[0].refresh)
		wantInvalidGrant(t, err, sayRevoked)
	}
	c.issued = standing
	if _, err := w.refreshed(t, c, standing.refresh); err != nil || w.why(t, c) != "" {
		t.Errorf("the other computer: %v", err)
	}
	if steps := w.steps.of(w.ep.Surface, events.StepToken); len(steps) == 0 || steps[0].Code != revokedReplayed {
		t.Errorf("steps %+v", steps)
	}
}

func TestAReplayedCodeEndsTheGrantThatItAloneGave(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	who, client := w.signedIn(t, w.ep, alice), w.client(t, w.ep, "claude", callback)
	c := &connection{who: who, client: client, ep: w.ep}
	code := w.allowing(t, w.asking(t, w.ep, client, who, callback, everything...), allow)
	var err error
	if c.issued, err = w.service.redeem(t.Context(), w.ep, client, code, anyVerifier); err != nil {
		t.Fatal(err)
	}
	token := w.access(t, c)
	w.admitted(t, w.ep, token)
	w.clock.Advance(2 * time.Minute)
	_, err = w.service.redeem(t.Context(), w.ep, client, code, anyVerifier)
	wantInvalidGrant(t, err, sayCode)
	if w.why(t, c) != revokedReplayed {
		t.Errorf("revoked %q", w.why(t, c))
	}
	eventually(t, "the access token is refused", func() bool { _, err := w.service.Admit(t.Context(), w.ep, token); return err != nil })
}

func TestParallelRefreshesGetTheSameToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c, second := w.connected(t, w.ep, alice, "claude"), w.replica(t)
	current := c.issued.refresh
	for round := range 3 {
		w.clock.Advance(time.Hour)
		tokens := make(chan seal.Secret, 20)
		var wg sync.WaitGroup
		for i := range cap(tokens) {
			wg.Go(func() {
				out, err := []*world{w, second}[i%2].service.rotate(t.Context(), w.ep, c.client, current)
				if err != nil {
					t.Errorf("refresh: %v", err)
				}
				tokens <- out.refresh
			})
		}
		wg.Wait()
		close(tokens)
		next := <-tokens
		for token := range tokens {
			if token != next {
				t.Errorf("round %d: two refresh tokens", round)
			}
		}
		if next == current {
			t.Errorf("round %d: no rotation", round)
		}
		w.clock.Advance(retryWindow)
		if again, err := w.refreshed(t, c, current); err != nil || again.refresh != next {
			t.Errorf("round %d: a retry within a minute: %v", round, err)
		}
		current = next
	}
	if n := w.project.Refreshes(); n != 3 {
		t.Errorf("%d refreshes at the project", n)
	}
}

func TestAnOldRefreshTokenTakesTheAccessAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for name, test := range map[string]struct {
		wait   time.Duration
		rounds int
	}{"the one before, after the window": {retryWindow + time.Second, 1}, "an older one, at once": {0, 2}} {
		c := w.connected(t, w.ep, alice, strings.Fields(name)[1])
		current := c.issued.refresh
		for range test.rounds {
			out, err := w.refreshed(t, c, current)
			if err != nil {
				t.Fatal(err)
			}
			current = out.refresh
		}
		w.clock.Advance(test.wait)
		_, err := w.refreshed(t, c, c.issued.refresh)
		wantInvalidGrant(t, err, sayReused)
		_, err = w.refreshed(t, c, current)
		wantInvalidGrant(t, err, sayReused)
		if w.why(t, c) != revokedReused {
			t.Errorf("%s: revoked %q", name, w.why(t, c))
		}
	}
}

// Computers that share a client id share a grant, and never end each other.
func TestComputersOfOnePersonDoNotEndEachOther(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connected(t, w.ep, alice, "claude")
	second := w.exchanged(t, c, allow)
	if second.grant != c.issued.grant || second.chain == c.issued.chain {
		t.Fatalf("issued %v and %v", c.issued, second)
	}
	one, two := c.issued.refresh, second.refresh
	for range 3 {
		w.clock.Advance(time.Hour)
		a, err := w.refreshed(t, c, one)
		if err != nil {
			t.Fatal(err)
		}
		w.clock.Advance(time.Hour)
		b, err := w.refreshed(t, c, two)
		if err != nil {
			t.Fatal(err)
		}
		one, two = a.refresh, b.refresh
	}
	if err := w.service.revokeToken(t.Context(), w.ep, c.client, one.Reveal()); err != nil {
		t.Fatal(err)
	}
	_, err := w.refreshed(t, c, one)
	wantInvalidGrant(t, err, sayRevoked)
	c.issued = second
	token := w.access(t, c)
	w.admitted(t, w.ep, token)
	if err := w.service.revokeToken(t.Context(), w.ep, c.client, token); err != nil {
		t.Fatal(err)
	}
	if w.why(t, c) != revokedByUser {
		t.Error("the grant outlives its last chain")
	}
	_, err = w.refreshed(t, c, two)
	wantInvalidGrant(t, err, sayRevoked)
}

func TestAGrantHasSoManyChainsAtMost(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connected(t, w.ep, alice, "claude")
	w.Exec(t, `insert into refresh_chains (organization_id, id, grant_id, generation, rotated_at, created_at, idle_until)
		select organization_id, gen_random_uuid(), id, 1, $1, $1, $2 from grants, generate_series(1, 60)`, w.clock.Now().Add(time.Second), w.clock.Now().Add(time.Hour))
	w.clock.Advance(time.Minute)
	last := w.exchanged(t, c, allow)
	var n int
	w.query(t, &n, "select count(*) from refresh_chains where ended_at is null")
	if n != chainsOfGrant {
		t.Errorf("%d chains", n)
	}
	if _, err := w.refreshed(t, c, last.refresh); err != nil {
		t.Errorf("the newest chain: %v", err)
	}
	_, err := w.refreshed(t, c, c.issued.refresh)
	wantInvalidGrant(t, err, sayRevoked)
}

func TestRefreshTokensRunOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	idle := w.connected(t, w.ep, alice, "idle")
	busy := w.connected(t, w.ep, alice, "busy")
	short := &connection{who: busy.who, client: w.client(t, w.ep, "short", callback), ep: w.ep}
	short.issued = w.exchanged(t, short, Answer{Allow: true, Lifetime: 24 * time.Hour})
	current := busy.issued.refresh
	for day := range 90 {
		w.clock.Advance(24 * time.Hour)
		switch day {
		case 0:
			_, err := w.refreshed(t, short, short.issued.refresh)
			wantInvalidGrant(t, err, sayExpired)
		case 29:
			_, err := w.refreshed(t, idle, idle.issued.refresh)
			wantInvalidGrant(t, err, sayIdle)
		case 89:
			_, err := w.refreshed(t, busy, current)
			wantInvalidGrant(t, err, sayExpired)
			return
		}
		if day%25 == 24 {
			out, err := w.refreshed(t, busy, current)
			if err != nil {
				t.Fatalf("day %d: %v", day, err)
			}
			current = out.refresh
		}
	}
}

// What is no refresh token of this client at this surface is answered as
// OAuth wants it; a failure that passes keeps everything.
func TestField27_ADeadRefreshTokenIsAnInvalidGrant(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.connected(t, w.ep, alice, "claude")
	globex := w.surface(t, w.member(t, "owner@globex.test", "Globex"), w.project, "globex", "main", nil)
	theirs := w.connected(t, globex, bob, "claude")
	sales := w.surface(t, w.builder, w.project, "acme", "sales", nil)
	raw, err := base64.RawURLEncoding.DecodeString(strings.TrimPrefix(c.issued.refresh.Reveal(), refreshPrefix))
	if err != nil {
		t.Fatal(err)
	}
	changed := func(at int) seal.Secret {
		b := append([]byte(nil), raw...)
		b[at] ^= 1
		return seal.NewSecret(refreshPrefix + base64.RawURLEncoding.EncodeToString(b))
	}
	for name, token := range map[string]seal.Secret{
		"nothing": {}, "made up": seal.NewSecret("chr_abc"), "an access token": seal.NewSecret(w.access(t, c)), "another chain": changed(0),
		"another generation": changed(19), "another MAC": changed(len(raw) - 1), "Bob's, of another organization": theirs.issued.refresh,
		"with more": seal.NewSecret(c.issued.refresh.Reveal() + "A"), "without prefix": seal.NewSecret(strings.TrimPrefix(c.issued.refresh.Reveal(), refreshPrefix)),
	} {
		_, err := w.refreshed(t, c, token)
		var e *tokenError
		if !errors.As(err, &e) || e.code != "invalid_grant" {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err = w.service.rotate(t.Context(), sales, c.client, c.issued.refresh)
	wantInvalidGrant(t, err, sayUnknown)
	_, err = w.service.rotate(t.Context(), globex, c.client, c.issued.refresh)
	wantInvalidGrant(t, err, sayUnknown)
	_, err = w.service.rotate(t.Context(), w.ep, w.client(t, w.ep, "other", callback), c.issued.refresh)
	wantInvalidGrant(t, err, sayUnknown)

	w.stale()
	ep, _ := *w.ep, 0
	bad, _ := w.badAuth(t, answerJSON(503, `{}`))
	w.takenAlong(t, bad)
	w.clock.Advance(time.Hour)
	ep.Project = *bad
	if _, err := w.service.rotate(t.Context(), &ep, c.client, c.issued.refresh); !fault.Is(err, fault.Unavailable) {
		t.Errorf("with the project away: %v", err)
	}
	w.clock.Advance(refreshAgain)
	w.takenAlong(t, &w.ep.Project)
	if _, err := w.refreshed(t, c, c.issued.refresh); err != nil {
		t.Errorf("none of that took anything away: %v", err)
	}
	if err := w.service.revokeToken(t.Context(), w.ep, c.client, theirs.issued.refresh.Reveal()); err != nil {
		t.Errorf("revoking Bob's: %v", err)
	}
	if err := w.service.revokeToken(t.Context(), globex, c.client, w.access(t, c)); err != nil {
		t.Errorf("revoking elsewhere: %v", err)
	}
	if w.why(t, theirs) != "" || w.why(t, c) != "" {
		t.Error("somebody else's token was revoked")
	}
	pool := w.Store.Pool()
	pool.Close()
	if _, err := w.refreshed(t, c, c.issued.refresh); !fault.Is(err, fault.Unavailable) {
		t.Errorf("with the database away: %v", err)
	}
}
