package tenants

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/alexedwards/argon2id"
	"golang.org/x/text/unicode/norm"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// PasswordCost is what hashing one password takes (argon2id, RFC 9106).
type PasswordCost struct {
	MemoryKiB uint32
	Passes    uint32
	Lanes     uint8
}

// DefaultPasswordCost is RFC 9106's second recommendation, for machines that
// have other things to do with their memory: 64 MiB, 3 passes, 4 lanes.
var DefaultPasswordCost = PasswordCost{MemoryKiB: 64 << 10, Passes: 3, Lanes: 4}

const (
	minPassword      = 10   // characters
	maxPassword      = 256  // characters
	maxPasswordBytes = 1024 // 256 of the widest characters

	// hashesAtOnce bounds the memory that hashing takes: 128 MiB of a replica.
	hashesAtOnce = 2
	// hashWait is how long a sign-in waits for its turn.
	hashWait = 10 * time.Second
)

// passwords hashes and compares. Safe for concurrent use.
type passwords struct {
	params *argon2id.Params
	turns  chan struct{}
	// nobody is a hash that no password has. Comparing with it takes the work
	// of a real one, so that time does not tell which emails are known.
	nobody string
}

func newPasswords(c PasswordCost) *passwords {
	if c == (PasswordCost{}) {
		c = DefaultPasswordCost
	}
	p := &argon2id.Params{Memory: c.MemoryKiB, Iterations: c.Passes, Parallelism: c.Lanes, SaltLength: 16, KeyLength: 32}
	zeros := func(n uint32) string { return base64.RawStdEncoding.EncodeToString(make([]byte, n)) }
	return &passwords{
		params: p, turns: make(chan struct{}, hashesAtOnce),
		nobody: fmt.Sprintf("$argon2id$v=19$m=%d,t=%d,p=%d$%s$%s", p.Memory, p.Iterations, p.Parallelism, zeros(p.SaltLength), zeros(p.KeyLength)),
	}
}

// hash returns the PHC string of a password.
func (h *passwords) hash(ctx context.Context, password seal.Secret) (string, error) {
	done, err := h.turn(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	out, err := argon2id.CreateHash(canonical(password), h.params)
	if err != nil {
		return "", fmt.Errorf("hash password: %w", err)
	}
	return out, nil
}

// matches compares a password with a stored hash; nil, for somebody who has
// none or is not known, takes the same work and never matches.
func (h *passwords) matches(ctx context.Context, password seal.Secret, stored *string) (bool, error) {
	if len(password.Reveal()) > maxPasswordBytes {
		return false, nil // nobody's: it could not have been set
	}
	done, err := h.turn(ctx)
	if err != nil {
		return false, err
	}
	defer done()
	against := h.nobody
	if stored != nil {
		against = *stored
	}
	ok, err := argon2id.ComparePasswordAndHash(canonical(password), against)
	if err != nil {
		return false, fmt.Errorf("compare password: %w", err)
	}
	return ok && stored != nil, nil
}

func (h *passwords) turn(ctx context.Context) (done func(), err error) {
	ctx, cancel := context.WithTimeout(ctx, hashWait)
	defer cancel()
	select {
	case h.turns <- struct{}{}:
		return func() { <-h.turns }, nil
	case <-ctx.Done():
		return nil, fault.Wrap(ctx.Err(), fault.Unavailable, "busy", "Too many people are signing in at this moment. Try again in a few seconds.").WithRetryAfter(hashWait)
	}
}

// canonical is a password in Unicode's composed form (RFC 8265 section 4.2):
// keyboards differ in how they write the same character.
func canonical(password seal.Secret) string { return norm.NFC.String(password.Reveal()) }

// commonest are the passwords of ten characters and more that everybody tries
// first. Shorter ones cannot be chosen anyway.
var commonest = set(`1234567890 0123456789 0987654321 12345678910 123456789a 1q2w3e4r5t 1q2w3e4r5t6y
	qwertyuiop qwerty1234 qwerty12345 qwerty123456 asdfghjkl1 1qaz2wsx3edc
	password12 password123 password1234 password12345 passwordpassword mypassword1
	iloveyou12 iloveyou123 letmein1234 welcome123 welcome1234 changeme123 administrator
	supabase123 chumbochumbo`)

// checkPassword refuses a password that would be guessed, or that is a key of
// a project.
func checkPassword(password seal.Secret, email string) error {
	text := canonical(password)
	if !utf8.ValidString(text) || len(text) > maxPasswordBytes {
		return weak("A password is at most %d characters of text. Choose a shorter one.", maxPassword)
	}
	switch n := utf8.RuneCountInString(text); {
	case n < minPassword:
		return weak("A password has at least %d characters. Four words in a row are easy to keep and hard to guess.", minPassword)
	case n > maxPassword:
		return weak("A password is at most %d characters. Choose a shorter one.", maxPassword)
	case strings.EqualFold(text, email):
		return weak("The password is the email address. Choose another one.")
	case commonest[strings.ToLower(text)] || strings.Trim(text, string([]rune(text)[:1])) == "":
		return weak("This password is among the first that anybody tries. Choose another one.")
	}
	return RefuseSecret("password", text)
}

func weak(format string, args ...any) error {
	f := fault.New(fault.Invalid, "password_weak", format, args...)
	return f.WithIssues(fault.Issue{Path: "password", Message: f.Message})
}
