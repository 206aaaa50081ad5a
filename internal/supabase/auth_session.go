package supabase

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/seal"
)

// Tokens are a session as a project's Auth handed it out. The access token is
// not verified here: that is the caller's part.
type Tokens struct {
	Access, Refresh seal.Secret   // both always there; Refresh is opaque
	ExpiresIn       time.Duration // of the access token, as stated; 0 where Auth says nothing
	User            *User         // nil where the answer has none (/oauth/token)
}

// User is a person as Auth describes them, the parts in use.
type User struct {
	ID        string // the sub of their tokens
	Email     string // may be empty
	Anonymous bool
	Factors   []Factor // in Auth's order; unverified ones too
}

// Factor is a second factor of a user. Only verified ones are asked for.
type Factor struct {
	ID     string
	Type   string // totp, phone or webauthn
	Status string // FactorVerified or FactorUnverified
	Name   string // given by the user; may be empty
}

// The states of a Factor. An abandoned enrolment stays unverified.
const (
	FactorVerified   = "verified"
	FactorUnverified = "unverified"
)

type userAnswer struct {
	ID        string `json:"id"`
	Email     string `json:"email"`
	Anonymous bool   `json:"is_anonymous"`
	Factors   []struct {
		ID     string `json:"id"`
		Type   string `json:"factor_type"`
		Status string `json:"status"`
		Name   string `json:"friendly_name"`
	} `json:"factors"`
}

func (a userAnswer) user() *User {
	u := &User{ID: a.ID, Email: a.Email, Anonymous: a.Anonymous}
	for _, f := range a.Factors {
		u.Factors = append(u.Factors, Factor{ID: f.ID, Type: f.Type, Status: f.Status, Name: f.Name})
	}
	return u
}

// readUser reads the user object of GET /user and of a sign-up that waits for
// a mail.
func readUser(body []byte) (*User, error) {
	var a userAnswer
	if err := json.Unmarshal(body, &a); err != nil || a.ID == "" {
		return nil, errors.New("no user in the answer") // the parser's error could repeat it
	}
	return a.user(), nil
}

// maxLifetime bounds what an answer can claim, far above what Auth issues.
const maxLifetime = 365 * 24 * time.Hour

// readTokens reads the session object of the sign-in endpoints and the answer
// of /oauth/token (RFC 6749 section 5.1).
func readTokens(body []byte) (Tokens, error) {
	var a struct {
		Access    string      `json:"access_token"`
		Refresh   string      `json:"refresh_token"`
		Type      string      `json:"token_type"`
		ExpiresIn float64     `json:"expires_in"`
		User      *userAnswer `json:"user"`
	}
	if err := json.Unmarshal(body, &a); err != nil {
		return Tokens{}, errors.New("no session in the answer") // as above
	}
	if !tokenText(a.Access) || !tokenText(a.Refresh) || !strings.EqualFold(a.Type, "bearer") {
		return Tokens{}, errors.New("no bearer tokens in the answer")
	}
	t := Tokens{Access: seal.NewSecret(a.Access), Refresh: seal.NewSecret(a.Refresh)}
	seconds := math.Min(math.Max(a.ExpiresIn, 0), maxLifetime.Seconds())
	t.ExpiresIn = time.Duration(seconds) * time.Second
	if a.User == nil {
		return t, nil
	}
	if a.User.ID == "" {
		return Tokens{}, errors.New("a user without an id in the answer")
	}
	t.User = a.User.user()
	return t, nil
}

// tokenText reports whether s can be a token: visible ASCII, so that it fits a
// header (RFC 6750 section 2.1).
func tokenText(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool { return r <= ' ' || r > '~' })
}
