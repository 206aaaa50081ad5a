package oauth

import (
	"fmt"
	"net/http"
	"testing"
)

func TestMemoIsBoundedInBytes(t *testing.T) {
	t.Parallel()
	b := setup(t)
	m, err := newMemo(b.clock.Now, 100*(entryOverhead+1000))
	if err != nil {
		t.Fatalf("new memo: %v", err)
	}
	for i := range 5000 {
		m.put(keyOf(b.ep.Project.ID, fmt.Sprint(i)), &verified{claims: &claims{rest: make([]byte, 1000)}})
		m.reject(keyOf(b.ep.Project.ID, fmt.Sprint(i)), reasonSignature)
	}
	m.good.CleanUp()
	if got := m.good.EstimatedSize(); got > 100 {
		t.Errorf("holds %d entries, want at most 100", got)
	}
}

func TestFloodOfBadTokensEvictsNoGoodOne(t *testing.T) {
	t.Parallel()
	b := setup(t)
	good := b.token(nil)
	b.accepts(b.ep, good)
	wrong := newES256(t, "k1")
	for i := range 200 {
		b.refuses(b.ep, b.signed(wrong, b.claimsOf(b.ep, map[string]any{"sub": fmt.Sprint(i)})), reasonSignature)
	}
	if b.auth.memo.get(keyOf(b.ep.Project.ID, good)) == nil {
		t.Error("the good token is forgotten")
	}
}

func TestRejectedTokenIsRememberedTenSeconds(t *testing.T) {
	t.Parallel()
	b := setup(t)
	bad := b.signed(newES256(t, "k1"), b.claimsOf(b.ep, nil))
	key := keyOf(b.ep.Project.ID, bad)
	b.refuses(b.ep, bad, reasonSignature)
	if b.auth.memo.rejection(key) != reasonSignature {
		t.Error("not remembered")
	}
	b.clock.Advance(rejectedFor)
	if b.auth.memo.rejection(key) != "" {
		t.Error("remembered too long")
	}
	b.refuses(b.ep, bad, reasonSignature)
}

func TestExpiredTokenLeavesTheMemo(t *testing.T) {
	t.Parallel()
	b := setup(t)
	token := b.token(map[string]any{"exp": b.clock.Now().Unix() + 60})
	b.accepts(b.ep, token)
	b.clock.Advance(91e9)
	b.refuses(b.ep, token, reasonExpired)
	if b.auth.memo.get(keyOf(b.ep.Project.ID, token)) != nil {
		t.Error("still held")
	}
}

func BenchmarkAuthenticateWarm(b *testing.B) {
	s := setup(b)
	h := bearerHeader(s.token(nil))
	ctx := b.Context()
	if _, err := s.auth.Authenticate(ctx, s.ep, h, ""); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if _, err := s.auth.Authenticate(ctx, s.ep, h, ""); err != nil {
				b.Error(err)
				return
			}
		}
	})
}

func BenchmarkAuthenticateCold(b *testing.B) {
	s := setup(b)
	token := s.token(nil)
	h, key := bearerHeader(token), keyOf(s.ep.Project.ID, token)
	b.ReportAllocs()
	for b.Loop() {
		s.auth.memo.forget(key)
		if _, err := s.auth.Authenticate(b.Context(), s.ep, h, ""); err != nil {
			b.Fatal(err)
		}
	}
}

func FuzzAuthorization(f *testing.F) {
	s := setup(f)
	for _, seed := range []string{"", "Bearer", "Bearer x", "bearer a.b.c", "Basic YTpi", "Bearer chk_1", "Bearer " + s.token(nil)} {
		f.Add(seed)
	}
	good := "Bearer " + s.token(nil)
	f.Fuzz(func(t *testing.T, value string) {
		caller, err := s.auth.Authenticate(t.Context(), s.ep, http.Header{"Authorization": {value}}, "")
		if (caller == nil) == (err == nil) {
			t.Fatalf("%q: caller %v, error %v", value, caller, err)
		}
		var challenge *Challenge
		if err != nil && !asChallenge(err, &challenge) && value != good {
			t.Fatalf("%q: %v", value, err)
		}
	})
}

func FuzzToken(f *testing.F) {
	s := setup(f)
	f.Add(`{"alg":"ES256","kid":"k1"}`, `{"iss":"https://ref.example.test/auth/v1","sub":"a","exp":1}`)
	f.Add(`{"alg":"ES256","kid":"k1","crit":["b64"],"b64":false}`, `{"sub":"a","exp":1e999}`)
	f.Add(`{"alg":"none"}`, `{"a":{"a":1,"a":2}}`)
	f.Fuzz(func(t *testing.T, header, payload string) {
		text := forged(header, payload, "signature")
		if c, err := s.auth.Authenticate(t.Context(), s.ep, bearerHeader(text), ""); err == nil {
			t.Fatalf("a forged token was accepted: %+v", c.Key)
		}
		parsed, err := parseClaims([]byte(payload))
		if err != nil {
			return
		}
		again, err := parseClaims(parsed.rest)
		if err != nil || again.subject != parsed.subject || again.issuer != parsed.issuer || again.delegated != parsed.delegated || !again.expires.Equal(parsed.expires) {
			t.Fatalf("claims change when written: %+v, %+v, %v", parsed, again, err)
		}
	})
}
