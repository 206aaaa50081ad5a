package bridge

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

func someIssued() issued {
	return issued{
		grant: id.New[id.GrantKind](), chain: id.New[id.ChainKind](), subject: "3f0c1a52-0000-4000-8000-000000000001",
		client: "chc_test", scopes: []string{"crm.read", "crm.write"},
	}
}

func (w *world) mint(t testing.TB, i issued) string {
	t.Helper()
	token, lifetime, err := w.service.accessToken(t.Context(), w.ep, i, w.clock.Now())
	if err != nil {
		t.Fatal(err)
	}
	if lifetime != 10*time.Minute {
		t.Errorf("good for %s", lifetime)
	}
	return token.Reveal()
}

func TestAccessTokensSayWhoTheyAreForAndEveryServerReadsThem(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	i := someIssued()
	text := w.mint(t, i)
	for name, server := range map[string]*world{"the issuing server": w, "another server": w.replica(t)} {
		c, err := server.service.readAccessToken(t.Context(), text)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if c.Issuer != w.ep.Resource.URL() || len(c.Audience) != 1 || c.Audience[0] != w.ep.Resource.URL() || c.Subject != i.subject ||
			c.ClientID != i.client || c.Surface != w.ep.Surface || c.Grant != i.grant || c.Chain != i.chain ||
			strings.Join(c.Scopes, " ") != "crm.read crm.write" || !c.Expires.Equal(w.clock.Now().Add(10*time.Minute)) {
			t.Errorf("%s: claims %+v", name, c)
		}
	}
	raw, err := base64.RawURLEncoding.DecodeString(strings.Split(text, ".")[0])
	if err != nil {
		t.Fatal(err)
	}
	var header map[string]string
	if err := json.Unmarshal(raw, &header); err != nil || header["alg"] != "ES256" || header["typ"] != "at+jwt" || header["kid"] == "" {
		t.Errorf("header %s: %v", raw, err)
	}
}

func TestAccessTokensEndWithTheirTime(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := w.mint(t, someIssued())
	fresh := w.replica(t) // that has not verified it yet
	w.clock.Advance(10*time.Minute + 29*time.Second)
	if _, err := w.service.readAccessToken(t.Context(), text); err != nil {
		t.Errorf("29 s late: %v", err)
	}
	w.clock.Advance(time.Second)
	for _, s := range []*Service{w.service, fresh.service} {
		if _, err := s.readAccessToken(t.Context(), text); !errors.Is(err, errTokenExpired) {
			t.Errorf("30 s late: %v", err)
		}
	}
}

func TestOnlyAccessTokensSignedByOurKeysAreRead(t *testing.T) {
	t.Parallel()
	w, stranger := newWorld(t), newWorld(t)
	text := w.mint(t, someIssued())
	parts := strings.Split(text, ".")
	key, err := w.service.signingKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sign := func(typ, payload string) string {
		signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: key.private, KeyID: key.kid}},
			(&jose.SignerOptions{}).WithType(jose.ContentType(typ)))
		if err != nil {
			t.Fatal(err)
		}
		signed, err := signer.Sign([]byte(payload))
		if err != nil {
			t.Fatal(err)
		}
		out, err := signed.CompactSerialize()
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.service.readAccessToken(t.Context(), sign("at+jwt", string(payload))); err != nil {
		t.Fatalf("our own signature over the same claims: %v", err)
	}
	changed := "A" + parts[2][1:]
	if changed == parts[2] {
		changed = "B" + parts[2][1:]
	}
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none","typ":"at+jwt"}`))
	for name, c := range map[string]struct {
		text string
		want error
	}{
		"another instance's":    {stranger.mint(t, someIssued()), errTokenKey},
		"changed signature":     {parts[0] + "." + parts[1] + "." + changed, errTokenSignature},
		"no signature":          {none + "." + parts[1] + ".", errTokenMalformed},
		"another type":          {sign("JWT", string(payload)), errTokenMalformed},
		"a claim twice":         {sign("at+jwt", strings.Replace(string(payload), "{", `{"sub":"eve",`, 1)), errTokenMalformed},
		"a claim in upper case": {sign("at+jwt", strings.Replace(string(payload), `"sub"`, `"SUB"`, 1)), errTokenMalformed},
		"without its grant":     {sign("at+jwt", strings.Replace(string(payload), `"gid"`, `"xid"`, 1)), errTokenMalformed},
		"too large":             {text + strings.Repeat("A", maxAccessToken), errTokenMalformed},
		"empty":                 {"", errTokenMalformed},
		"a refresh token":       {"chr_abc", errTokenMalformed},
	} {
		if _, err := w.service.readAccessToken(t.Context(), c.text); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

func TestKeysAreMadeOnceHoweverManyServersAsk(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.replica(t)
	var wg sync.WaitGroup
	for range 4 {
		for _, s := range []*Service{w.service, other.service} {
			wg.Go(func() {
				if err := s.RotateKeys(t.Context()); err != nil {
					t.Error(err)
				}
			})
		}
	}
	wg.Wait()
	if n := w.countKeys(t); n != 1 {
		t.Errorf("%d keys", n)
	}
}

func (w *world) countKeys(t testing.TB) int {
	t.Helper()
	var n int
	w.query(t, &n, "select count(*) from signing_keys")
	return n
}

func TestKeysArePublishedBeforeTheySignAndKeptAfter(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	kid := func() string {
		key, err := w.service.signingKey(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return key.kid
	}
	rotate := func() {
		if err := w.service.RotateKeys(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	first := kid()
	w.clock.Advance(89*24*time.Hour - time.Minute)
	rotate()
	if n := w.countKeys(t); n != 1 {
		t.Fatalf("%d keys more than a day before the end", n)
	}
	w.clock.Advance(time.Minute)
	rotate()
	rotate()
	if n := w.countKeys(t); n != 2 {
		t.Fatalf("%d keys a day before the end", n)
	}
	if kid() != first {
		t.Error("the next key signs before its time")
	}
	w.clock.Advance(24*time.Hour - time.Second)
	if kid() != first {
		t.Error("the next key signs a second before its time")
	}
	late := w.mint(t, someIssued())
	w.clock.Advance(time.Second)
	if kid() == first {
		t.Error("the old key signs on")
	}
	w.clock.Advance(9 * time.Minute)
	if _, err := w.service.readAccessToken(t.Context(), late); err != nil {
		t.Errorf("a token of the old key: %v", err)
	}
	w.clock.Advance(24*time.Hour - 9*time.Minute)
	rotate()
	if n := w.countKeys(t); n != 1 {
		t.Errorf("%d keys a day after the switch", n)
	}
}

func TestAnInstanceThatSleptBeyondItsKeysMakesOneThatSignsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.mint(t, someIssued())
	w.clock.Advance(200 * 24 * time.Hour)
	text := w.mint(t, someIssued())
	if _, err := w.replica(t).service.readAccessToken(t.Context(), text); err != nil {
		t.Error(err)
	}
}

func TestAKeyMadeElsewhereIsFoundAtOnceAndMadeUpOnesCostLittle(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	other := w.replica(t)
	if keys, err := other.service.keys.published(t.Context()); err != nil || len(keys) != 0 {
		t.Fatalf("%d keys, %v", len(keys), err)
	}
	text := w.mint(t, someIssued())
	if _, err := other.service.readAccessToken(t.Context(), text); err != nil {
		t.Errorf("a key that the server had not read: %v", err)
	}
	read := other.service.keys.known.Load()
	for range 50 {
		if _, ok, err := other.service.keys.public(t.Context(), "made-up"); ok || err != nil {
			t.Fatalf("a made-up key: %v %v", ok, err)
		}
	}
	if other.service.keys.known.Load() != read {
		t.Error("made-up keys make the server read the table")
	}
}

func TestKeysThatCannotBeReadAreNotAChallenge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	text := w.mint(t, someIssued())
	w.Exec(t, "alter table signing_keys rename to signing_keys_away")
	w.clock.Advance(2 * time.Minute)
	if _, err := w.service.readAccessToken(t.Context(), text); err != nil {
		t.Errorf("2 min after the last reading: %v", err)
	}
	w.clock.Advance(4 * time.Minute)
	if _, err := w.service.readAccessToken(t.Context(), text); !fault.Is(err, fault.Unavailable) {
		t.Errorf("6 min after the last reading: %v, want unavailable", err)
	}
	if _, err := w.replica(t).service.readAccessToken(t.Context(), text); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a server that never read them: %v, want unavailable", err)
	}
}

func TestPrivateKeysAreSealedAndNeverPublished(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	key, err := w.service.signingKey(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	document, err := w.service.keySetDocument(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var set jose.JSONWebKeySet
	if err := json.Unmarshal(document, &set); err != nil || len(set.Keys) != 1 || !set.Keys[0].IsPublic() || set.Keys[0].KeyID != key.kid || set.Keys[0].Algorithm != "ES256" {
		t.Errorf("%s: %v", document, err)
	}
	if strings.Contains(string(document), `"d"`) {
		t.Error("the private part is published")
	}
	w.Exec(t, "update signing_keys set kid = 'another'")
	if _, err := w.replica(t).service.keys.published(t.Context()); !fault.Is(err, fault.Unavailable) {
		t.Errorf("a key moved to another row opens: %v", err)
	}
}
