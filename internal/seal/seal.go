// Package seal owns encryption at rest and the keys derived from the one
// master keyset: sealed values with associated data, each under a key of its
// own purpose (HKDF, RFC 5869). It also owns Secret, the type of values that
// never print.
//
// It never stores anything, and never hands out key material.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hkdf"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
)

// Purpose separates the keys derived from the master keyset. A value sealed
// for one purpose cannot be opened for another.
type Purpose string

// The purposes in use.
const (
	Cursor        Purpose = "cursor"
	Catalog       Purpose = "catalog"       // tokens that chumbo_catalog answers to
	AddressHash   Purpose = "address-hash"  // MAC: whom a throttle counts, without keeping who
	CSRF          Purpose = "csrf"          // MAC: what forms of a browser session carry
	Refresh       Purpose = "refresh"       // MAC: refresh tokens of the bridge
	SigningKey    Purpose = "signing-key"   // private keys that sign access tokens
	Upstream      Purpose = "upstream"      // sessions kept at projects' Auth
	SignInState   Purpose = "sign-in"       // what a sign-in carries: verifiers, sessions awaiting a second factor, tickets
	ClientKey     Purpose = "client-key"    // secrets of our OAuth clients at projects
	Introspection Purpose = "introspection" // secrets that surfaces introspect tokens with
	CreateKey     Purpose = "create-key"    // MAC: which creates are the same, without keeping what they make
	RequestState  Purpose = "request-state" // what a call that waits for a person's answer has come to
	Approval      Purpose = "approval"      // calls that wait for a person on our page
	masterCheck   Purpose = "master-check"
)

// KeyBytes is the size of a master key before base64.
const KeyBytes = 32

// ErrOpen is returned for anything that cannot be opened: changed, sealed for
// another purpose or with other associated data, or under a key we lack.
var ErrOpen = errors.New("sealed value cannot be opened")

type masterKey struct {
	id  [4]byte
	key []byte
}

// Keyset is the master keyset: the first key seals, all of them open. Safe for
// concurrent use.
type Keyset struct{ keys []masterKey }

// ParseKeyset reads CHUMBO_MASTER_KEY: base64 keys of 32 bytes, separated by
// commas, the current one first. Older keys stay in the list until nothing
// sealed under them is left.
func ParseKeyset(s Secret) (*Keyset, error) {
	ks := &Keyset{}
	for i, part := range strings.Split(s.Reveal(), ",") {
		key, err := decodeKey(strings.TrimSpace(part))
		if err != nil {
			return nil, fmt.Errorf("master key %d: want %d bytes in base64 (make one with: openssl rand -base64 %d)", i+1, KeyBytes, KeyBytes)
		}
		sum := sha256.Sum256(append([]byte("chumbo key id\x00"), key...))
		mk := masterKey{key: key}
		copy(mk.id[:], sum[:])
		ks.keys = append(ks.keys, mk)
	}
	return ks, nil
}

func decodeKey(s string) ([]byte, error) {
	for _, enc := range []*base64.Encoding{base64.StdEncoding, base64.RawStdEncoding, base64.URLEncoding, base64.RawURLEncoding} {
		if b, err := enc.DecodeString(s); err == nil && len(b) == KeyBytes {
			return b, nil
		}
	}
	return nil, errors.New("not a key")
}

// GenerateKey returns a fresh master key in the form ParseKeyset reads.
func GenerateKey() Secret {
	b := make([]byte, KeyBytes)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return NewSecret(base64.StdEncoding.EncodeToString(b))
}

// Check returns a value that only this keyset's current key makes. The
// database keeps it, and Matches refuses another keyset.
func (k *Keyset) Check() []byte { return k.mac(k.keys[0], masterCheck, []byte("chumbo")) }

// Matches reports whether any key of the set made check.
func (k *Keyset) Matches(check []byte) bool {
	return k.VerifyMAC(masterCheck, []byte("chumbo"), check)
}

// MAC authenticates message for a purpose (HMAC-SHA-256) under the current key.
func (k *Keyset) MAC(p Purpose, message []byte) []byte { return k.mac(k.keys[0], p, message) }

// VerifyMAC reports, in constant time, whether any key of the set made mac.
func (k *Keyset) VerifyMAC(p Purpose, message, mac []byte) bool {
	ok := false
	for _, mk := range k.keys {
		ok = hmac.Equal(k.mac(mk, p, message), mac) || ok
	}
	return ok
}

func (k *Keyset) mac(mk masterKey, p Purpose, message []byte) []byte {
	m := hmac.New(sha256.New, derive(mk.key, "mac:"+string(p)))
	m.Write(message)
	return m.Sum(nil)
}

// Sealer seals and opens values of one purpose. Safe for concurrent use.
type Sealer struct {
	ids   [][4]byte
	aeads []cipher.AEAD
}

// Sealer derives the keys of a purpose.
func (k *Keyset) Sealer(p Purpose) *Sealer {
	s := &Sealer{}
	for _, mk := range k.keys {
		block, err := aes.NewCipher(derive(mk.key, "aead:"+string(p)))
		if err != nil {
			panic("seal: " + err.Error()) // a 32-byte key is always accepted
		}
		aead, err := cipher.NewGCMWithRandomNonce(block)
		if err != nil {
			panic("seal: " + err.Error())
		}
		s.ids, s.aeads = append(s.ids, mk.id), append(s.aeads, aead)
	}
	return s
}

// Seal encrypts plaintext (AES-256-GCM, random nonce) bound to ad. The result
// is 32 bytes longer: key id, nonce, tag.
func (s *Sealer) Seal(plaintext, ad []byte) []byte {
	out := append(make([]byte, 0, 4+len(plaintext)+s.aeads[0].Overhead()), s.ids[0][:]...)
	return s.aeads[0].Seal(out, nil, plaintext, ad)
}

// Open reverses Seal, or returns ErrOpen.
func (s *Sealer) Open(sealed, ad []byte) ([]byte, error) {
	if len(sealed) < 4 {
		return nil, ErrOpen
	}
	for i, id := range s.ids {
		if subtle.ConstantTimeCompare(id[:], sealed[:4]) == 1 {
			if out, err := s.aeads[i].Open(nil, nil, sealed[4:], ad); err == nil {
				return out, nil
			}
		}
	}
	return nil, ErrOpen
}

// AD joins parts into associated data so that no two lists of parts give the
// same bytes. Stored values use (organization, table, row, column).
func AD(parts ...string) []byte {
	var b []byte
	for _, p := range parts {
		b = binary.BigEndian.AppendUint32(b, uint32(len(p)))
		b = append(b, p...)
	}
	return b
}

func derive(key []byte, info string) []byte {
	out, err := hkdf.Key(sha256.New, key, nil, "chumbo/1 "+info, KeyBytes)
	if err != nil {
		panic("seal: " + err.Error()) // 32 bytes are always within HKDF's limit
	}
	return out
}
