package issuers

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/ratelimit"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

func TestIssuerIsAskedAboutAnOpaqueToken(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	s.keeps(t, s.alice, s.ep, "s3cret: of acme")
	s.knows("opaque-1", map[string]any{"iss": nil, "tier": "pro", "user_metadata": map[string]any{"tier": "admin"}, "act": map[string]any{"sub": "agent-7"}})
	who, err := s.AdmitOpaque(t.Context(), s.ep, "opaque-1", address)
	if err != nil {
		t.Fatal(err)
	}
	want := oauth.CallerKey{Surface: s.ep.Surface, Mode: oauth.ModeExternal, Issuer: s.issuer.URL, Subject: "alice", Client: "client-a"}
	if who.Key != want || who.Role != "anon" || !who.Token.IsZero() || who.Actor != "agent-7" || fmt.Sprint(who.Scopes) != "[crm.read]" {
		t.Errorf("caller is %+v", who)
	}
	var claims map[string]any
	if err := json.Unmarshal(who.Claims, &claims); err != nil || claims["tier"] != "pro" || claims["active"] != true || claims["user_metadata"] != nil {
		t.Errorf("claims are %s %v", who.Claims, err)
	}
	if fmt.Sprint(s.issuer.as) != "[chumbo:s3cret%3A+of+acme]" {
		t.Errorf("asked as %v", s.issuer.as)
	}
	if s.issuer.count("/.well-known/openid-configuration") != 0 {
		t.Error("metadata was read although the file says where to ask")
	}
	if log := s.logs.String(); strings.Contains(log, "s3cret") || strings.Contains(log, "opaque-1") || strings.Contains(log, "alice\"") {
		t.Errorf("the log tells too much: %s", log)
	}
}

func TestEveryRefusalOfAnAnswer(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	s.keeps(t, s.alice, s.ep, "secret")
	at := func(d time.Duration) int64 { return s.clock.Now().Add(d).Unix() }
	n := 0
	for name, c := range map[string]struct {
		change map[string]any
		want   string
	}{
		"as it is":              {nil, "in"},
		"audience among others": {map[string]any{"aud": []string{"x", "crm-api"}}, "in"},
		"nonce":                 {map[string]any{"nonce": "n"}, "in"}, // the issuer says itself what the token is
		"inactive":              {map[string]any{"active": false}, "401 token_inactive"},
		"active as text":        {map[string]any{"active": "true"}, "issuer_unavailable"},
		"active as number":      {map[string]any{"active": 1}, "issuer_unavailable"},
		"says nothing":          {map[string]any{"active": nil}, "issuer_unavailable"},
		"another issuer":        {map[string]any{"iss": "https://login.example.test"}, "401 token_issuer"},
		"no subject":            {map[string]any{"sub": nil}, "401 token_malformed"},
		"no expiry":             {map[string]any{"exp": nil}, "401 token_malformed"},
		"expired now":           {map[string]any{"exp": at(0)}, "401 token_expired"},
		"not yet":               {map[string]any{"nbf": at(time.Minute)}, "401 token_not_yet_valid"},
		"another audience":      {map[string]any{"aud": "other"}, "401 token_audience"},
		"refresh token":         {map[string]any{"token_use": "refresh_token"}, "401 token_not_access"},
		"refresh token by type": {map[string]any{"token_type": "refresh_token"}, "401 token_not_access"},
		"bound":                 {map[string]any{"cnf": map[string]any{"x5t#S256": "x"}}, "401 token_bound"},
		"actor":                 {map[string]any{"act": 7}, "401 token_actor"},
	} {
		n++
		token := fmt.Sprint("opaque-", n)
		s.knows(token, c.change)
		for range 2 {
			if _, err := s.AdmitOpaque(t.Context(), s.ep, token, address); code(err) != c.want {
				t.Errorf("%s: %s, want %s", name, code(err), c.want)
			}
		}
	}
	for _, body := range []string{"", "null", "[]", "true", "<html>", `{"active":true`, `{"active":true,"active":true}`, `{"Active":true,"sub":"a"}`, strings.Repeat(" ", maxAnswer) + `{"active":true}`} {
		n++
		token := fmt.Sprint("opaque-", n)
		s.issuer.set(func() { s.issuer.answers[token] = body })
		if _, err := s.AdmitOpaque(t.Context(), s.ep, token, address); body != "" && code(err) != "issuer_unavailable" {
			t.Errorf("%.20q: %s", body, code(err))
		}
	}
	for _, status := range []int{301, 400, 401, 403, 404, 429, 500, 503} {
		s.issuer.set(func() { s.issuer.answered = status })
		_, err := s.AdmitOpaque(t.Context(), s.ep, "unseen", address)
		if f := fault.From(err); code(err) != "issuer_unavailable" || f.RetryAfter < time.Second {
			t.Errorf("status %d: %s %v", status, code(err), f.RetryAfter)
		}
	}
	if !strings.Contains(s.logs.String(), "introspection_refused") {
		t.Error("nobody is told that the issuer refuses our client")
	}
	if _, err := s.AdmitOpaque(t.Context(), changed(s.ep, func(_ *surfaces.Access, i *surfaces.ExternalIssuer) { i.Introspection = nil }), "opaque-1", address); code(err) != "401 token_kind" {
		t.Errorf("without introspection: %s", code(err))
	}
}

func TestAnswersCountForAWhile(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	s.keeps(t, s.alice, s.ep, "secret")
	ask := func(token string) string {
		_, err := s.AdmitOpaque(t.Context(), s.ep, token, address)
		return code(err)
	}
	asked := func() int { return s.issuer.count("/introspect") }
	s.knows("long", nil)
	s.knows("short", map[string]any{"exp": s.clock.Now().Add(5 * time.Second).Unix()})
	if ask("long") != "in" || ask("short") != "in" || ask("none") != "401 token_inactive" {
		t.Fatal("the first answers are wrong")
	}
	s.issuer.set(func() { s.issuer.answers = map[string]any{} }) // all are revoked
	s.clock.Advance(5 * time.Second)
	if before := asked(); ask("long") != "in" || ask("none") != "401 token_inactive" || asked() != before {
		t.Error("what is known was asked again")
	}
	if ask("short") == "in" {
		t.Error("an answer outlived the token")
	}
	s.knows("none", nil)
	s.clock.Advance(5 * time.Second) // 10 s
	if ask("none") != "in" {
		t.Error("a refusal counts longer than 10 s")
	}
	s.clock.Advance(answerFor - 10*time.Second - time.Second)
	if ask("long") != "in" {
		t.Error("an answer counts less than 30 s")
	}
	s.clock.Advance(time.Second)
	if ask("long") != "401 token_inactive" {
		t.Error("an answer counts longer than 30 s")
	}
	// Another client or endpoint is another answer.
	before := asked()
	s.knows("long", nil)
	s.clock.Advance(rejectedFor)
	ask("long")
	moved := changed(s.ep, func(_ *surfaces.Access, i *surfaces.ExternalIssuer) {
		i.Introspection = &surfaces.Introspection{ClientID: "other", Endpoint: i.URL + "/introspect"}
	})
	if _, err := s.AdmitOpaque(t.Context(), moved, "long", address); err != nil || asked() != before+2 {
		t.Errorf("the answer to another client counts: %v, %d questions", err, asked()-before)
	}
	// Rules of the surface run on remembered answers, too.
	strict := changed(s.ep, func(a *surfaces.Access, _ *surfaces.ExternalIssuer) { a.Require = []string{"hr"} })
	if _, err := s.AdmitOpaque(t.Context(), strict, "long", address); code(err) != "insufficient_scope" {
		t.Errorf("a required scope: %s", code(err))
	}
}

func TestOneQuestionForManyRequests(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	s.keeps(t, s.alice, s.ep, "secret")
	s.knows("opaque", nil)
	hold := make(chan struct{})
	s.issuer.set(func() { s.issuer.hold = hold })
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			if _, err := s.AdmitOpaque(t.Context(), s.ep, "opaque", address); err != nil {
				t.Error(err)
			}
		})
	}
	for s.issuer.count("/introspect") == 0 {
		time.Sleep(time.Millisecond)
	}
	close(hold)
	group.Wait()
	if n := s.issuer.count("/introspect"); n != 1 || len(s.limits.taken) != 1 {
		t.Errorf("%d questions, %d counted", n, len(s.limits.taken))
	}
}

func TestGuessesAreCountedByAddress(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	s.keeps(t, s.alice, s.ep, "secret")
	s.knows("good", nil)
	full := fault.New(fault.RateLimited, "rate", "Too often.").WithRetryAfter(time.Minute)
	s.limits.refuse = func(b ratelimit.Bound) error {
		if strings.HasSuffix(b.Key, " 192.0.2.66") {
			return full
		}
		return nil
	}
	if _, err := s.AdmitOpaque(t.Context(), s.ep, "good", "192.0.2.66"); code(err) != "rate" || s.issuer.count("/introspect") != 0 {
		t.Errorf("one who may guess no more: %s, %d questions", code(err), s.issuer.count("/introspect"))
	}
	if _, err := s.AdmitOpaque(t.Context(), s.ep, "good", "2001:db8::1"); err != nil {
		t.Errorf("another address: %v", err)
	}
	if _, err := s.AdmitOpaque(t.Context(), s.ep, "good", "192.0.2.66"); err != nil {
		t.Errorf("what is known needs no question: %v", err)
	}
	bound := s.limits.taken[len(s.limits.taken)-1]
	if bound.Key != s.ep.Surface.String()+" 2001:db8::/64" || bound.Rate != (ratelimit.Rate{N: 60, Per: time.Minute}) || bound.Name != "introspection" {
		t.Errorf("counted as %+v", bound)
	}
	// A flood from the one does not decide about a token that both bring.
	var group sync.WaitGroup
	s.clock.Advance(answerFor)
	for i := range 40 {
		from := address
		if i%2 == 0 {
			from = "192.0.2.66"
		}
		group.Go(func() {
			_, err := s.AdmitOpaque(t.Context(), s.ep, "good", from)
			if from == address && err != nil {
				t.Errorf("refused beside a flood: %v", err)
			}
		})
	}
	group.Wait()
}

func TestEndpointOfMetadataMustBeAtTheIssuersOrigin(t *testing.T) {
	t.Parallel()
	s := newStored(t)
	s.keeps(t, s.alice, s.ep, "secret")
	s.knows("opaque", nil)
	found := changed(s.ep, func(_ *surfaces.Access, i *surfaces.ExternalIssuer) {
		i.Introspection = &surfaces.Introspection{ClientID: "chumbo"}
	})
	if _, err := s.AdmitOpaque(t.Context(), found, "opaque", address); err != nil || s.issuer.count("/introspect") != 1 {
		t.Errorf("the metadata says where to ask: %v", err)
	}
	thief := newIssuer(t)
	for _, where := range []any{thief.URL + "/introspect", "", nil} {
		s.issuer.set(func() { s.issuer.metadata["introspection_endpoint"] = where })
		s.clock.Advance(pageMaxAge)
		if _, err := s.AdmitOpaque(t.Context(), found, "opaque", address); code(err) != "issuer_unavailable" {
			t.Errorf("%v: %s", where, code(err))
		}
	}
	stolen := changed(s.ep, func(_ *surfaces.Access, i *surfaces.ExternalIssuer) {
		i.Introspection = &surfaces.Introspection{ClientID: "chumbo", Endpoint: thief.URL + "/introspect"}
	})
	if _, err := s.AdmitOpaque(t.Context(), stolen, "opaque", address); code(err) != "issuer_unavailable" {
		t.Errorf("a file that names another origin: %s", code(err))
	}
	if n := thief.count("/introspect"); n != 0 {
		t.Errorf("the token was sent elsewhere %d times", n)
	}
}
