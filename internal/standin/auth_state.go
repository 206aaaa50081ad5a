package standin

import (
	"crypto/rand"
	"encoding/base32"
	"encoding/base64"
	"strings"
	"time"
)

// authState is what Auth keeps in memory, all of it under authServer.mu.
type authState struct {
	clients        map[string]*oauthClient
	authorizations map[string]*authorization
	consents       map[consentKey]*consent
	sessions       map[string]*session
	refreshTokens  map[string]*refreshToken // version 1 tokens
	tokensMade     int
	flows          map[string]*flowState // by state
	mailTokens     map[string]*mailToken // by hash
	outbox         []sentMail
	lastMail       map[string]time.Time // by address
	quotaFrom      time.Time
	quotaUsed      int
	buckets        map[bucketKey]bucketLevel
	visits         map[string]string        // page cookie -> session id
	factors        map[string][]*factor     // by person, the last changed last
	challenges     map[string]*challenge    // by id
	logins         map[string]providerLogin // at built-in providers, by code
}

func newAuthState() authState {
	return authState{
		clients:        map[string]*oauthClient{},
		authorizations: map[string]*authorization{},
		consents:       map[consentKey]*consent{},
		sessions:       map[string]*session{},
		refreshTokens:  map[string]*refreshToken{},
		flows:          map[string]*flowState{},
		mailTokens:     map[string]*mailToken{},
		lastMail:       map[string]time.Time{},
		buckets:        map[bucketKey]bucketLevel{},
		visits:         map[string]string{},
		factors:        map[string][]*factor{},
		challenges:     map[string]*challenge{},
		logins:         map[string]providerLogin{},
	}
}

// session is one sign-in: a person's own, or a person's at an OAuth client.
type session struct {
	id          string
	userID      string
	clientID    string // empty for a first-party session
	scope       string
	method      string     // how the person signed in
	amr         []amrEntry // all that was proven, the latest first
	factorID    string     // the second factor used, empty for none
	createdAt   time.Time
	refreshedAt time.Time // zero until the first refresh
	counter     int       // version 2 refresh tokens
	hasCounter  bool
	seed        []byte // signs version 2 refresh tokens
}

// refreshToken is a version 1 refresh token.
type refreshToken struct {
	value     string
	parent    string
	sessionID string
	revoked   bool
	changedAt time.Time // made or revoked
	order     int       // later tokens have a higher one
}

// dropSessions forgets the user's sessions that match.
func (s *authState) dropSessions(userID string, match func(*session) bool) {
	for id, session := range s.sessions {
		if session.userID == userID && match(session) {
			delete(s.sessions, id)
		}
	}
	for value, token := range s.refreshTokens {
		if s.sessions[token.sessionID] == nil {
			delete(s.refreshTokens, value)
		}
	}
}

func anySession(*session) bool { return true }

func randomBytes(n int) []byte {
	b := make([]byte, n)
	_, _ = rand.Read(b) // never fails
	return b
}

// randomBase32 is n random bytes in lower-case base32: 20 for an
// authorization id (32 characters).
func randomBase32(n int) string {
	return strings.ToLower(base32.StdEncoding.WithPadding(base32.NoPadding).EncodeToString(randomBytes(n)))
}

func randomBase64(n int) string { return base64.RawURLEncoding.EncodeToString(randomBytes(n)) }
