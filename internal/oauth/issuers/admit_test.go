package issuers

import (
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestGoodTokenMakesACallerWhoRunsAsAnon(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	who, err := w.Admit(t.Context(), w.ep, w.token(t, map[string]any{
		"scp": []string{"crm.write", "crm.read"}, "tier": "pro", "user_metadata": map[string]any{"tier": "admin"}, "act": map[string]any{"sub": "agent-7"},
	}))
	if err != nil {
		t.Fatal(err)
	}
	want := oauth.CallerKey{Surface: w.ep.Surface, Mode: oauth.ModeExternal, Issuer: w.issuer.URL, Subject: "alice", Client: "client-a"}
	if who.Key != want || who.Role != "anon" || !who.Token.IsZero() || who.Session != nil || who.Actor != "agent-7" || who.Key.Mode.User() {
		t.Errorf("caller is %+v", who)
	}
	if !reflect.DeepEqual(who.Scopes, []string{"crm.read", "crm.write"}) || !who.Expires.Equal(w.clock.Now().Add(time.Hour)) {
		t.Errorf("scopes %v until %v", who.Scopes, who.Expires)
	}
	var claims map[string]any
	if err := json.Unmarshal(who.Claims, &claims); err != nil || claims["tier"] != "pro" || claims["user_metadata"] != nil {
		t.Errorf("claims are %s %v", who.Claims, err)
	}
}

func TestEveryRefusalOfAToken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	at := func(d time.Duration) int64 { return w.clock.Now().Add(d).Unix() }
	deep := map[string]any{"sub": "a"}
	for range 8 {
		deep = map[string]any{"sub": "a", "act": deep}
	}
	for name, c := range map[string]struct {
		change map[string]any
		want   string
	}{
		"as it is":                     {nil, "in"},
		"several audiences":            {map[string]any{"aud": []string{"https://login.example.test/userinfo", "crm-api"}}, "in"},
		"within the skew":              {map[string]any{"exp": at(-29 * time.Second)}, "in"},
		"no client, audience matches":  {map[string]any{"client_id": nil}, "in"},
		"client and party agree":       {map[string]any{"azp": "client-a"}, "in"},
		"another issuer":               {map[string]any{"iss": "https://login.example.test"}, "401 token_issuer"},
		"issuer with a slash":          {map[string]any{"iss": w.issuer.URL + "/"}, "401 token_issuer"},
		"no issuer":                    {map[string]any{"iss": nil}, "401 token_issuer"},
		"expired":                      {map[string]any{"exp": at(-31 * time.Second)}, "401 token_expired"},
		"no expiry":                    {map[string]any{"exp": nil}, "401 token_malformed"},
		"expiry as text":               {map[string]any{"exp": "4102444800"}, "401 token_malformed"},
		"not yet":                      {map[string]any{"nbf": at(31 * time.Second)}, "401 token_not_yet_valid"},
		"issued in the future":         {map[string]any{"iat": at(time.Minute)}, "401 token_not_yet_valid"},
		"no subject":                   {map[string]any{"sub": nil}, "401 token_malformed"},
		"empty subject":                {map[string]any{"sub": ""}, "401 token_malformed"},
		"subject as number":            {map[string]any{"sub": 7}, "401 token_malformed"},
		"long subject":                 {map[string]any{"sub": strings.Repeat("a", 513)}, "401 token_malformed"},
		"longest subject":              {map[string]any{"sub": strings.Repeat("a", 512)}, "in"},
		"subject with NUL":             {map[string]any{"sub": "ali\x00ce"}, "401 token_malformed"},
		"another audience":             {map[string]any{"aud": "other-api"}, "401 token_audience"},
		"no audience":                  {map[string]any{"aud": nil}, "401 token_audience"},
		"audience of another type":     {map[string]any{"aud": []any{"crm-api", 7}}, "401 token_malformed"},
		"our URL is not that audience": {map[string]any{"aud": w.ep.Resource.URL()}, "401 token_audience"},
		"client and party differ":      {map[string]any{"azp": "client-b"}, "401 token_client"},
		"ID token by typ":              {map[string]any{"typ": "ID"}, "401 token_not_access"},
		"ID token by token_use":        {map[string]any{"token_use": "id"}, "401 token_not_access"},
		"ID token by nonce":            {map[string]any{"nonce": "n"}, "401 token_not_access"},
		"ID token by at_hash":          {map[string]any{"at_hash": "h"}, "401 token_not_access"},
		"refresh token":                {map[string]any{"typ": "Refresh"}, "401 token_not_access"},
		"logout token":                 {map[string]any{"events": map[string]any{"http://schemas.openid.net/event/backchannel-logout": map[string]any{}}}, "401 token_not_access"},
		"access token by typ":          {map[string]any{"typ": "Bearer"}, "in"},
		"bound to a key":               {map[string]any{"cnf": map[string]any{"jkt": "x"}}, "401 token_bound"},
		"actor as text":                {map[string]any{"act": "agent"}, "401 token_actor"},
		"actor without subject":        {map[string]any{"act": map[string]any{}}, "401 token_actor"},
		"inner actor without subject":  {map[string]any{"act": map[string]any{"sub": "a", "act": map[string]any{"sub": ""}}}, "401 token_actor"},
		"too many actors":              {map[string]any{"act": deep}, "401 token_actor"},
		"scopes as number":             {map[string]any{"scope": 7}, "401 token_malformed"},
		"claims from another place":    {map[string]any{"_claim_names": map[string]any{"a": "b"}}, "401 token_signature"},
	} {
		for _, time := range []string{"first", "again"} {
			if _, err := w.Admit(t.Context(), w.ep, w.token(t, c.change)); code(err) != c.want {
				t.Errorf("%s, %s: %s, want %s", name, time, code(err), c.want)
			}
		}
	}
	payload := func(text string) string { return base64.RawURLEncoding.EncodeToString([]byte(text)) }
	good := w.token(t, nil)
	parts := strings.Split(good, ".")
	body, err := json.Marshal(w.claims(nil))
	if err != nil {
		t.Fatal(err)
	}
	other := w.issuer.key(t, "one", false) // the kid of a key that is published
	for name, c := range map[string]struct{ token, want string }{
		"no JWT":            {"opaque", "401 token_kind"},
		"nested":            {good + ".x.y", "401 token_kind"},
		"another signature": {signed(t, other, w.claims(nil)), "401 token_signature"},
		"changed claims":    {parts[0] + "." + payload(strings.Replace(string(body), "alice", "bob", 1)) + "." + parts[2], "401 token_signature"},
		"no algorithm":      {payload(`{"alg":"none"}`) + "." + parts[1] + ".", "401 token_algorithm"},
		"shared secret":     {payload(`{"alg":"HS256","kid":"one"}`) + "." + parts[1] + "." + parts[2], "401 token_shared_secret"},
		"another algorithm": {payload(`{"alg":"RS256","kid":"one"}`) + "." + parts[1] + "." + parts[2], "401 token_key_unknown"},
		"header typ id":     {signed(t, w.key, w.claims(nil), "typ", "id+jwt"), "401 token_malformed"},
		"header typ logout": {signed(t, w.key, w.claims(nil), "typ", "logout+jwt"), "401 token_malformed"},
		"header typ JWT":    {signed(t, w.key, w.claims(nil), "typ", "JWT"), "in"},
		"header typ long":   {signed(t, w.key, w.claims(nil), "typ", "application/at+JWT"), "in"},
		"critical header":   {signed(t, w.key, w.claims(nil), "crit", "x"), "401 token_malformed"},
		"content type":      {signed(t, w.key, w.claims(nil), "cty", "JWT"), "401 token_malformed"},
		"duplicate claim":   {signed(t, w.key, strings.Replace(string(body), `"sub":`, `"sub":"bob","sub":`, 1)), "401 token_malformed"},
		"other case of iss": {signed(t, w.key, strings.Replace(string(body), `"iss":`, `"Iss":`, 1)), "401 token_issuer"},
		"claims and more":   {signed(t, w.key, string(body)+"{}"), "401 token_malformed"},
		"claims are a list": {signed(t, w.key, "[]"), "401 token_malformed"},
		"claims are null":   {signed(t, w.key, "null"), "401 token_malformed"},
		"kid of nobody":     {signed(t, jose.JSONWebKey{Key: w.key.Key, KeyID: "two"}, w.claims(nil)), "401 token_key_unknown"},
		"no kid":            {signed(t, jose.JSONWebKey{Key: w.key.Key}, w.claims(nil)), "in"},
		"no kid, other key": {signed(t, jose.JSONWebKey{Key: other.Key}, w.claims(nil)), "401 token_key_unknown"},
		"key in the header": {signed(t, other, w.claims(nil), "jku", w.issuer.URL+"/keys"), "401 token_signature"},
	} {
		who, err := w.Admit(t.Context(), w.ep, c.token)
		if code(err) != c.want || (who == nil) == (c.want == "in") {
			t.Errorf("%s: %s, want %s", name, code(err), c.want)
		}
	}
	if strings.Contains(w.logs.String(), "alice") {
		t.Errorf("the log names people: %s", w.logs)
	}
}

func TestEveryAsymmetricAlgorithmIsAccepted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	large, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	small, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	curve := func(c elliptic.Curve) *ecdsa.PrivateKey {
		key, err := ecdsa.GenerateKey(c, rand.Reader)
		if err != nil {
			t.Fatal(err)
		}
		return key
	}
	var keys []jose.JSONWebKey
	for alg, key := range map[jose.SignatureAlgorithm]any{
		jose.ES256: curve(elliptic.P256()), jose.ES384: curve(elliptic.P384()), jose.ES512: curve(elliptic.P521()), jose.EdDSA: edwards,
		jose.RS256: large, jose.RS384: large, jose.RS512: large, jose.PS256: large, jose.PS384: large, jose.PS512: large,
	} {
		keys = append(keys, jose.JSONWebKey{Key: key, KeyID: "k-" + string(alg), Algorithm: string(alg)})
	}
	weak := jose.JSONWebKey{Key: small, KeyID: "weak", Algorithm: "RS256"}
	w.issuer.set(func() {
		for _, key := range append(keys, weak) {
			w.issuer.keys = append(w.issuer.keys, key.Public())
		}
	})
	for _, key := range keys {
		if _, err := w.Admit(t.Context(), w.ep, signed(t, key, w.claims(nil))); err != nil {
			t.Errorf("%s: %v", key.Algorithm, err)
		}
	}
	if _, err := w.Admit(t.Context(), w.ep, signed(t, weak, w.claims(nil))); code(err) != "401 token_key_unknown" {
		t.Errorf("a weak key: %s", code(err))
	}
	ps := jose.JSONWebKey{Key: large, KeyID: "k-RS256", Algorithm: "PS256"} // the key is for RS256 alone
	if _, err := w.Admit(t.Context(), w.ep, signed(t, ps, w.claims(nil))); code(err) != "401 token_key_unknown" {
		t.Errorf("an algorithm that is not the key's: %s", code(err))
	}
}

func TestField46_IssuerPutsItsOwnIDIntoAudience(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	open := changed(w.ep, func(_ *surfaces.Access, i *surfaces.ExternalIssuer) { i.Audience = nil })
	own := w.ep.Resource.URL()
	for name, c := range map[string]struct {
		ep     *tenants.Endpoint
		change map[string]any
		want   string
	}{
		"client id":                     {open, map[string]any{"aud": []string{"feee1fb3-client"}}, "in"},
		"no audience":                   {open, map[string]any{"aud": nil}, "in"},
		"no audience, azp":              {open, map[string]any{"aud": nil, "client_id": nil, "azp": "client-a"}, "in"},
		"our URL":                       {open, map[string]any{"aud": own}, "in"},
		"our URL and a client id":       {open, map[string]any{"aud": []string{own, "feee1fb3"}}, "in"},
		"no audience, no client":        {open, map[string]any{"aud": nil, "client_id": nil}, "401 token_without_client"},
		"client id, names no client":    {open, map[string]any{"aud": "feee1fb3", "client_id": nil}, "401 token_without_client"},
		"client and party differ":       {open, map[string]any{"aud": nil, "azp": "client-b"}, "401 token_client"},
		"another URL":                   {open, map[string]any{"aud": []string{"feee1fb3", "https://other.example.test/mcp"}}, "401 token_audience"},
		"our URL and another":           {open, map[string]any{"aud": []string{own, "https://other.example.test/mcp"}}, "401 token_audience"},
		"expected audience is separate": {w.ep, map[string]any{"aud": own}, "401 token_audience"},
		"expected audience":             {w.ep, map[string]any{"aud": []string{"crm-api"}}, "in"},
	} {
		if _, err := w.Admit(t.Context(), c.ep, w.token(t, c.change)); code(err) != c.want {
			t.Errorf("%s: %s, want %s", name, code(err), c.want)
		}
	}
}

func TestRulesOfTheSurfaceRunOnEveryRequest(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.token(t, map[string]any{"app": map[string]any{"rights": []string{"crm.write"}}, "user_metadata": map[string]any{"rights": "crm.admin"}})
	nobody := w.token(t, map[string]any{"client_id": nil})
	with := func(change func(a *surfaces.Access, i *surfaces.ExternalIssuer)) *tenants.Endpoint {
		return changed(w.ep, change)
	}
	for name, c := range map[string]struct {
		ep    *tenants.Endpoint
		token string
		want  string
	}{
		"as it is":            {w.ep, token, "in"},
		"its client":          {with(func(_ *surfaces.Access, i *surfaces.ExternalIssuer) { i.Clients = []string{"client-b", "client-a"} }), token, "in"},
		"other clients":       {with(func(_ *surfaces.Access, i *surfaces.ExternalIssuer) { i.Clients = []string{"client-b"} }), token, "401 token_client"},
		"clients, none named": {with(func(_ *surfaces.Access, i *surfaces.ExternalIssuer) { i.Clients = []string{"client-b"} }), nobody, "401 token_without_client"},
		"another audience":    {with(func(_ *surfaces.Access, i *surfaces.ExternalIssuer) { i.Audience = []string{"hr"} }), token, "401 token_audience"},
		"required, held":      {with(func(a *surfaces.Access, _ *surfaces.ExternalIssuer) { a.Require = []string{"crm.read"} }), token, "in"},
		"required, to be had": {with(func(a *surfaces.Access, _ *surfaces.ExternalIssuer) {
			a.Require, a.Advertise = []string{"crm.read", "hr"}, []string{"crm.read", "hr"}
		}), token, "403 insufficient_scope"},
		"required, not to be": {with(func(a *surfaces.Access, _ *surfaces.ExternalIssuer) { a.Require = []string{"hr"} }), token, "insufficient_scope"},
		"required of the claim": {with(func(a *surfaces.Access, _ *surfaces.ExternalIssuer) {
			a.Require = []string{"crm.write"}
			a.ScopesFrom = &surfaces.ScopesFrom{Claim: []string{"app", "rights"}}
		}), token, "in"},
		"user_metadata": {with(func(a *surfaces.Access, _ *surfaces.ExternalIssuer) {
			a.Require = []string{"crm.admin"}
			a.ScopesFrom = &surfaces.ScopesFrom{Claim: []string{"user_metadata", "rights"}}
		}), token, "insufficient_scope"},
		"not external": {with(func(a *surfaces.Access, _ *surfaces.ExternalIssuer) { a.Authorization = surfaces.AuthorizationBridge }), token, "401 token_kind"},
		"no oauth":     {with(func(a *surfaces.Access, _ *surfaces.ExternalIssuer) { a.Modes = []surfaces.Mode{surfaces.ModeAPIKey} }), token, "401 token_kind"},
	} {
		_, err := w.Admit(t.Context(), c.ep, c.token)
		if code(err) != c.want {
			t.Errorf("%s: %s, want %s", name, code(err), c.want)
		}
	}
	if n := w.issuer.count("/keys"); n != 1 {
		t.Errorf("the key set was read %d times", n)
	}
	w.clock.Advance(time.Hour + 31*time.Second)
	if _, err := w.Admit(t.Context(), w.ep, token); code(err) != "401 token_expired" {
		t.Errorf("a remembered token that expired: %s", code(err))
	}
}

func TestKeysRotate(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	old := w.token(t, nil)
	if _, err := w.Admit(t.Context(), w.ep, old); err != nil {
		t.Fatal(err)
	}
	next := w.issuer.key(t, "two", true)
	w.issuer.set(func() { w.issuer.keys = w.issuer.keys[1:] })
	fresh := signed(t, next, w.claims(nil))
	if _, err := w.Admit(t.Context(), w.ep, fresh); code(err) != "401 token_key_unknown" {
		t.Errorf("within the floor: %s", code(err))
	}
	w.clock.Advance(pageFloor)
	if _, err := w.Admit(t.Context(), w.ep, fresh); err != nil {
		t.Errorf("a new key is not read: %v", err)
	}
	if _, err := w.Admit(t.Context(), w.ep, old); code(err) != "401 token_key_unknown" {
		t.Errorf("a token of a key that is gone: %s", code(err))
	}
	// Whoever invents key names makes us ask no more often than the floor says.
	before := w.issuer.count("/keys")
	for range 20 {
		_, _ = w.Admit(t.Context(), w.ep, signed(t, jose.JSONWebKey{Key: w.key.Key, KeyID: "x"}, w.claims(nil)))
		w.clock.Advance(time.Second)
	}
	if n := w.issuer.count("/keys") - before; n > 2 {
		t.Errorf("the key set was read %d times in 20 s", n)
	}
}

func TestIssuerAwayIs503AndNeverAChallenge(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	token := w.token(t, nil)
	unavailable := func(what string, err error) {
		t.Helper()
		f := fault.From(err)
		if code(err) != "issuer_unavailable" || f.Kind != fault.Unavailable || f.RetryAfter < time.Second {
			t.Errorf("%s: %s %v", what, code(err), f.RetryAfter)
		}
	}
	w.issuer.set(func() { w.issuer.status = 500 })
	for range 5 {
		_, err := w.Admit(t.Context(), w.ep, token)
		unavailable("errors", err)
	}
	if n := w.issuer.count("/.well-known/openid-configuration"); n != 1 {
		t.Errorf("asked %d times: a failure is not remembered", n)
	}
	w.issuer.set(func() { w.issuer.status, w.issuer.redirect = 0, w.issuer.URL+"/keys" })
	w.clock.Advance(pageRetry)
	_, err := w.Admit(t.Context(), w.ep, token)
	unavailable("redirect", err)
	if w.issuer.count("/keys") != 0 {
		t.Error("a redirect was followed")
	}
	for name, change := range map[string]func(){
		"another issuer":  func() { w.issuer.metadata["issuer"] = w.issuer.URL + "/" },
		"no key set":      func() { delete(w.issuer.metadata, "jwks_uri") },
		"key set by file": func() { w.issuer.metadata["jwks_uri"] = "file:///etc/passwd" },
		"key set with a person": func() {
			w.issuer.metadata["jwks_uri"] = strings.Replace(w.issuer.URL, "http://", "http://user@", 1) + "/keys"
		},
		"key set is not there": func() { w.issuer.metadata["jwks_uri"] = w.issuer.URL + "/nothing" },
		"key set is no set":    func() { w.issuer.metadata["jwks_uri"] = w.issuer.URL + "/.well-known/openid-configuration" },
	} {
		w.clock.Advance(pageMaxAge)
		w.issuer.set(func() {
			w.issuer.redirect = ""
			w.issuer.metadata = map[string]any{"issuer": w.issuer.URL, "jwks_uri": w.issuer.URL + "/keys"}
			change()
		})
		_, err := w.Admit(t.Context(), w.ep, w.token(t, nil))
		unavailable(name, err)
	}
	w.clock.Advance(pageMaxAge)
	w.issuer.set(func() { w.issuer.metadata = map[string]any{"issuer": w.issuer.URL, "jwks_uri": w.issuer.URL + "/keys"} })
	token = w.token(t, nil)
	if _, err := w.Admit(t.Context(), w.ep, token); err != nil {
		t.Fatalf("the issuer is back: %v", err)
	}
	// What was read counts for ten minutes and not longer.
	w.issuer.set(func() { w.issuer.status = 500 })
	w.clock.Advance(pageMaxAge - time.Second)
	if _, err := w.Admit(t.Context(), w.ep, token); err != nil {
		t.Errorf("what was read lately does not serve: %v", err)
	}
	w.clock.Advance(time.Second)
	_, err = w.Admit(t.Context(), w.ep, token)
	unavailable("stale", err)
}

func TestHTTPSIssuerNamesNoPlainAddress(t *testing.T) {
	t.Parallel()
	const issuer = "https://login.example.test/realm"
	for address, want := range map[string]bool{
		"https://keys.example.test/jwks": true, "http://keys.example.test/jwks": false, "https://u@keys.example.test/jwks": false,
		"ftp://keys.example.test": false, "/jwks": false, "": false, "https://keys.example.test/#x": false,
	} {
		if asSafe(issuer, address) != want {
			t.Errorf("%q: want %v", address, want)
		}
	}
	for address, want := range map[string]bool{
		"https://login.example.test/introspect": true, "https://LOGIN.example.test:443/introspect": true, "https://login.example.test:8443/x": false,
		"http://login.example.test/introspect": false, "https://login.example.test.evil.test/x": false, "https://u@login.example.test/x": false, "": false, "/x": false,
	} {
		if sameOrigin(issuer, address) != want {
			t.Errorf("%q: want %v", address, want)
		}
	}
}

func TestEqualSubjectsOfTwoIssuersAreTwoCallers(t *testing.T) {
	t.Parallel()
	w, other := newWorld(t), newIssuer(t)
	first, err := w.Admit(t.Context(), w.ep, w.token(t, nil))
	if err != nil {
		t.Fatal(err)
	}
	moved := changed(w.ep, func(_ *surfaces.Access, i *surfaces.ExternalIssuer) { i.URL = other.URL })
	second, err := w.Admit(t.Context(), moved, signed(t, other.key(t, "one", true), w.claims(map[string]any{"iss": other.URL})))
	if err != nil {
		t.Fatal(err)
	}
	if first.Key == second.Key || first.Key.Subject != second.Key.Subject {
		t.Errorf("%+v and %+v", first.Key, second.Key)
	}
	if _, err := w.Admit(t.Context(), moved, w.token(t, nil)); code(err) != "401 token_issuer" {
		t.Errorf("a token of the issuer before: %s", code(err))
	}
}

func TestManyRequestsReadTheDocumentsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var group sync.WaitGroup
	for range 30 {
		group.Go(func() {
			if _, err := w.Admit(t.Context(), w.ep, w.token(t, nil)); err != nil {
				t.Error(err)
			}
		})
	}
	group.Wait()
	if a, b := w.issuer.count("/.well-known/openid-configuration"), w.issuer.count("/keys"); a != 1 || b != 1 {
		t.Errorf("read %d and %d times", a, b)
	}
}
