package seal

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
)

func keyset(t *testing.T, keys ...Secret) *Keyset {
	t.Helper()
	var texts []string
	for _, k := range keys {
		texts = append(texts, k.Reveal())
	}
	ks, err := ParseKeyset(NewSecret(strings.Join(texts, ",")))
	if err != nil {
		t.Fatal(err)
	}
	return ks
}

func TestSealedValuesOpenOnlyWithPurposeDataAndKey(t *testing.T) {
	t.Parallel()
	ks := keyset(t, GenerateKey())
	ad := AD("org", "table", "row", "column")
	sealed := ks.Sealer(Cursor).Seal([]byte("hello"), ad)
	if got, err := ks.Sealer(Cursor).Open(sealed, ad); err != nil || string(got) != "hello" {
		t.Fatalf("open: %q %v", got, err)
	}
	flipped := bytes.Clone(sealed)
	flipped[len(flipped)-1] ^= 1
	for name, open := range map[string]func() ([]byte, error){
		"other purpose": func() ([]byte, error) { return ks.Sealer(Purpose("another")).Open(sealed, ad) },
		"other data":    func() ([]byte, error) { return ks.Sealer(Cursor).Open(sealed, AD("org", "table", "rowcolumn")) },
		"other key":     func() ([]byte, error) { return keyset(t, GenerateKey()).Sealer(Cursor).Open(sealed, ad) },
		"changed":       func() ([]byte, error) { return ks.Sealer(Cursor).Open(flipped, ad) },
		"cut":           func() ([]byte, error) { return ks.Sealer(Cursor).Open(sealed[:10], ad) },
		"empty":         func() ([]byte, error) { return ks.Sealer(Cursor).Open(nil, ad) },
	} {
		if _, err := open(); !errors.Is(err, ErrOpen) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRotationKeepsOldValuesReadable(t *testing.T) {
	t.Parallel()
	before, after := GenerateKey(), GenerateKey()
	old := keyset(t, before)
	sealed, check := old.Sealer(Cursor).Seal([]byte("v"), nil), old.Check()
	rotated := keyset(t, after, before)
	if got, err := rotated.Sealer(Cursor).Open(sealed, nil); err != nil || string(got) != "v" {
		t.Fatalf("open after rotation: %q %v", got, err)
	}
	if !rotated.Matches(check) || keyset(t, after).Matches(check) {
		t.Fatal("the check value does not tell the right keyset from another")
	}
	if _, err := old.Sealer(Cursor).Open(rotated.Sealer(Cursor).Seal([]byte("v"), nil), nil); err == nil {
		t.Fatal("the old key opens what the new one sealed")
	}
}

func TestMACsHoldForTheirPurposeAndOverRotation(t *testing.T) {
	t.Parallel()
	before, after := GenerateKey(), GenerateKey()
	mac := keyset(t, before).MAC(CSRF, []byte("session"))
	if !keyset(t, after, before).VerifyMAC(CSRF, []byte("session"), mac) {
		t.Error("a MAC under the older key is refused")
	}
	if keyset(t, before).VerifyMAC(AddressHash, []byte("session"), mac) {
		t.Error("a MAC holds for another purpose")
	}
	if keyset(t, before).VerifyMAC(CSRF, []byte("sessions"), mac) || keyset(t, after).VerifyMAC(CSRF, []byte("session"), mac) {
		t.Error("a MAC holds for another message or under another key")
	}
}

func TestMasterKeysOfAnotherSizeAreRefusedWithoutShowingThem(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "c2hvcnQ=", "not base64 hunter2", GenerateKey().Reveal() + ","} {
		_, err := ParseKeyset(NewSecret(text))
		if err == nil || strings.Contains(err.Error(), "hunter2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

func TestAssociatedDataHasNoCollisions(t *testing.T) {
	t.Parallel()
	if bytes.Equal(AD("ab", "c"), AD("a", "bc")) || bytes.Equal(AD("a"), AD("a", "")) {
		t.Fatal("two lists of parts give the same bytes")
	}
}

func TestSecretsNeverPrint(t *testing.T) {
	t.Parallel()
	s := NewSecret("hunter2")
	holder := struct{ S Secret }{s}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "secret", s, "holder", holder)
	encoded, err := json.Marshal(holder)
	if err != nil {
		t.Fatal(err)
	}
	printed := fmt.Sprintf("%v %+v %#v %s %q", holder, holder, holder, s, s) + log.String() + string(encoded)
	if strings.Contains(printed, "hunter2") {
		t.Fatalf("printed: %s", printed)
	}
}
