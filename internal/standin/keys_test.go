package standin

import (
	"encoding/json"
	"strings"
	"testing"
	"time"
)

func testKeyring(t *testing.T, signing Signing) *keyring {
	t.Helper()
	k, err := newKeyring(signing)
	if err != nil {
		t.Fatal(err)
	}
	return k
}

func signed(t *testing.T, k *keyring, claims map[string]any) string {
	t.Helper()
	token, err := k.sign(claims)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

func publishedKids(t *testing.T, k *keyring) []string {
	t.Helper()
	var doc struct{ Keys []struct{ Kid string } }
	if err := json.Unmarshal(k.jwks(), &doc); err != nil {
		t.Fatal(err)
	}
	kids := []string{}
	for _, key := range doc.Keys {
		kids = append(kids, key.Kid)
	}
	return kids
}

func TestKeyringVerifiesOnlyWhatItsKeysSigned(t *testing.T) {
	t.Parallel()
	k, other := testKeyring(t, SigningES256), testKeyring(t, SigningES256)
	now := time.Unix(1_800_000_000, 0)
	claims := map[string]any{"sub": "alice", "exp": now.Add(time.Minute).Unix()}
	mine := signed(t, k, claims)
	sameKid := testKeyring(t, SigningES256)
	sameKid.current.kid = k.current.kid
	parts := strings.Split(mine, ".")
	for name, c := range map[string]struct{ token, want string }{
		"own":              {mine, ""},
		"another project":  {signed(t, other, claims), "unrecognized JWT kid"},
		"another key":      {signed(t, sameKid, claims), "verification error"},
		"changed claims":   {parts[0] + "." + strings.Split(signed(t, k, map[string]any{"sub": "bob"}), ".")[1] + "." + parts[2], "verification error"},
		"expired":          {signed(t, k, map[string]any{"exp": now.Unix()}), "token is expired"},
		"not yet":          {signed(t, k, map[string]any{"nbf": now.Add(time.Hour).Unix()}), "not valid yet"},
		"two segments":     {parts[0] + "." + parts[1], "number of segments"},
		"no algorithm":     {"eyJhbGciOiJub25lIn0.e30.", "signing method none is invalid"},
		"the other secret": {signed(t, testKeyring(t, SigningHS256), claims), "signature is invalid"},
	} {
		_, err := k.verify(c.token, now)
		if (c.want == "" && err != nil) || (c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want))) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

func TestKeyringRotatesThroughStandby(t *testing.T) {
	t.Parallel()
	k := testKeyring(t, SigningES256)
	now := time.Now()
	first := k.current.kid
	old := signed(t, k, map[string]any{"sub": "alice"})
	if err := k.addStandby(); err != nil {
		t.Fatal(err)
	}
	standby := k.standby.kid
	if kids := publishedKids(t, k); len(kids) != 2 || kids[0] != first || kids[1] != standby {
		t.Fatalf("published %v, want the current and the standby key", kids)
	}
	k.rotate()
	if k.current.kid != standby {
		t.Fatal("the standby key does not sign")
	}
	if _, err := k.verify(old, now); err != nil {
		t.Fatalf("after rotation the old token fails: %v", err)
	}
	k.dropOld()
	if kids := publishedKids(t, k); len(kids) != 1 || kids[0] != standby {
		t.Fatalf("published %v, want only the new key", kids)
	}
	if _, err := k.verify(old, now); err == nil {
		t.Fatal("a token of a dropped key still verifies")
	}
}

func TestKeyringWithOnlyASecretPublishesNothing(t *testing.T) {
	t.Parallel()
	k := testKeyring(t, SigningHS256)
	if got := string(k.jwks()); got != `{"keys":[]}` {
		t.Fatalf("jwks = %s", got)
	}
	token := signed(t, k, map[string]any{"sub": "alice"})
	header, _ := decodeToken(token)
	if header["alg"] != "HS256" || header["kid"] != nil {
		t.Fatalf("header = %v", header)
	}
	k.dropSecret()
	if _, err := k.verify(token, time.Now()); err != nil {
		t.Fatalf("the only key is not trusted: %v", err)
	}
	k.rotate()
	if _, err := k.verify(token, time.Now()); err == nil || !strings.Contains(err.Error(), "signing method HS256 is invalid") {
		t.Fatalf("with an asymmetric key and the secret not trusted: %v", err)
	}
}
