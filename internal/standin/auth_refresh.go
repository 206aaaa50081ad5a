package standin

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"hash/crc32"
	"net/http"
	"time"

	"github.com/google/uuid"
)

const (
	v1TokenLength = 12               // characters of a version 1 refresh token
	reuseInterval = 10 * time.Second // an old refresh token is still taken for so long
)

func refreshNotFound() error {
	return newAuthError(http.StatusBadRequest, "refresh_token_not_found", "Invalid Refresh Token: Refresh Token Not Found")
}

func refreshUsed() error {
	return newAuthError(http.StatusBadRequest, "refresh_token_already_used", "Invalid Refresh Token: Already Used")
}

func sessionExpired(why string) error {
	return newAuthError(http.StatusBadRequest, "session_expired", "Invalid Refresh Token: Session Expired"+why)
}

// newRefreshToken hands out the next token of a session. The lock is held.
func (a *authServer) newRefreshToken(s *session, parent string) string {
	if a.cfg.refreshV2 {
		if !s.hasCounter {
			s.hasCounter, s.counter, s.seed = true, 0, randomBytes(32)
		} else {
			s.counter++
		}
		return s.v2Token(s.counter)
	}
	return a.newV1Token(s, parent)
}

// tokenAfterFactor is the token that comes with aal2. A version 2 counter
// skips one, so that the token from before is not the direct predecessor. The
// lock is held.
func (a *authServer) tokenAfterFactor(s *session) string {
	if s.hasCounter {
		s.counter += 2
		return s.v2Token(s.counter)
	}
	parent := ""
	if t := a.oldestLive(s); t != nil {
		t.revoked, t.changedAt = true, a.cfg.now()
		parent = t.value
	}
	return a.newV1Token(s, parent)
}

func (a *authServer) newV1Token(s *session, parent string) string {
	a.state.tokensMade++
	t := &refreshToken{value: randomBase32(8)[:v1TokenLength], parent: parent, sessionID: s.id,
		changedAt: a.cfg.now(), order: a.state.tokensMade}
	a.state.refreshTokens[t.value] = t
	return t.value
}

// v2Token packs version, session, counter, signature and checksum. Callers
// treat it as opaque.
func (s *session) v2Token(counter int) string {
	id := uuid.MustParse(s.id)
	raw := append([]byte{2}, id[:]...)
	raw = binary.AppendUvarint(raw, uint64(counter))
	mac := hmac.New(sha256.New, s.seed)
	mac.Write(raw)
	raw = append(raw, mac.Sum(nil)[:16]...)
	raw = binary.BigEndian.AppendUint32(raw, crc32.ChecksumIEEE(raw))
	return base64.RawURLEncoding.EncodeToString(raw)
}

// parseV2 reads session and counter of a version 2 token whose checksum holds.
func parseV2(token string) (sessionID string, counter int, ok bool) {
	raw, err := base64.RawURLEncoding.DecodeString(token)
	if err != nil || len(raw) < 1+16+1+16+4 || raw[0] != 2 {
		return "", 0, false
	}
	body, sum := raw[:len(raw)-4], raw[len(raw)-4:]
	if !bytes.Equal(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(body)), sum) {
		return "", 0, false
	}
	id, err := uuid.FromBytes(raw[1:17])
	n, size := binary.Uvarint(body[17:])
	if err != nil || size <= 0 || n > 1<<31 {
		return "", 0, false
	}
	return id.String(), int(n), true
}

// refresh takes a refresh token and gives the next one. client is the
// authenticated OAuth client, nil at the plain endpoint; the two kinds of
// session do not mix.
func (a *authServer) refresh(ctx context.Context, w http.ResponseWriter, value string, client *oauthClient) (*issued, *person, error) {
	s := a.sessionOfToken(value)
	if s == nil {
		return nil, nil, refreshNotFound()
	}
	p, err := a.personOf(ctx, s)
	if err != nil {
		return nil, nil, err
	}
	if p == nil {
		return nil, nil, refreshNotFound()
	}
	w.Header().Set("sb-auth-user-id", p.ID)
	if p.banned(a.cfg.now()) {
		return nil, nil, newAuthError(http.StatusBadRequest, "user_banned", "Invalid Refresh Token: User Banned")
	}
	w.Header().Set("sb-auth-session-id", s.id)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state.sessions[s.id] == nil {
		return nil, nil, refreshNotFound()
	}
	if err := a.checkSessionLimits(s); err != nil {
		return nil, nil, err
	}
	if err := checkRefreshClient(s, client); err != nil {
		return nil, nil, err
	}
	if err := a.checkNewest(s); err != nil {
		return nil, nil, err
	}
	next, err := a.nextToken(w, s, value)
	if err != nil {
		return nil, nil, err
	}
	s.refreshedAt = a.cfg.now()
	return &issued{session: s, refresh: next, counter: s.counter}, p, nil
}

func (a *authServer) sessionOfToken(value string) *session {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.state.refreshTokens[value]; t != nil {
		return a.state.sessions[t.sessionID]
	}
	id, counter, ok := parseV2(value)
	s := a.state.sessions[id]
	if !ok || s == nil || !s.hasCounter || s.v2Token(counter) != value {
		return nil
	}
	return s
}

func checkRefreshClient(s *session, client *oauthClient) error {
	switch {
	case client == nil && s.clientID != "":
		return &oauthError{"invalid_client", "Client authentication required for OAuth session"}
	case client != nil && s.clientID == "":
		return &oauthError{"invalid_client", "Client authentication not allowed for non-OAuth session"}
	case client != nil && s.clientID != client.id:
		return &oauthError{"invalid_client", "Client does not match the session's OAuth client"}
	default:
		return nil
	}
}

func (a *authServer) checkSessionLimits(s *session) error {
	now := a.cfg.now()
	switch {
	case a.cfg.sessionTimebox > 0 && now.Sub(s.createdAt) > a.cfg.sessionTimebox:
		return sessionExpired("")
	case a.cfg.sessionInactivity > 0 && now.Sub(s.lastUsed()) > a.cfg.sessionInactivity:
		return sessionExpired(" (Inactivity)")
	case a.lowAAL(s) && now.Sub(s.createdAt) > a.cfg.lowAALLifetime:
		return sessionExpired(" (Low AAL: User Needs MFA Verification)")
	}
	return nil
}

// lastUsed is when the session was last refreshed, or made.
func (s *session) lastUsed() time.Time {
	if s.refreshedAt.IsZero() {
		return s.createdAt
	}
	return s.refreshedAt
}

// checkNewest refuses where the project allows one session per person and
// another was used later.
func (a *authServer) checkNewest(s *session) error {
	if !a.cfg.singleSession {
		return nil
	}
	for _, other := range a.state.sessions {
		if other.userID == s.userID && other.lastUsed().After(s.lastUsed()) {
			return sessionExpired(" (Revoked by Newer Login)")
		}
	}
	return nil
}

// nextToken applies the reuse rules. The lock is held.
func (a *authServer) nextToken(w http.ResponseWriter, s *session, value string) (string, error) {
	t := a.state.refreshTokens[value]
	if t == nil {
		_, counter, _ := parseV2(value)
		return a.nextV2(w, s, counter)
	}
	now := a.cfg.now()
	if t.revoked {
		if active := a.activeToken(s); active != nil && active.parent == t.value {
			w.Header().Set("sb-auth-refresh-token-prefix", t.value[:5])
			return active.value, nil // the answer was lost; no time limit
		}
		if now.Sub(t.changedAt) > reuseInterval {
			a.revokeFamily(s)
			return "", refreshUsed()
		}
	} else {
		t.revoked, t.changedAt = true, now
	}
	w.Header().Set("sb-auth-refresh-token-prefix", t.value[:5])
	w.Header().Set("sb-auth-refresh-token-reuse", "false")
	return a.newRefreshToken(s, t.value), nil
}

// activeToken is the session's newest version 1 token that was not revoked.
func (a *authServer) activeToken(s *session) *refreshToken {
	var active *refreshToken
	for _, t := range a.state.refreshTokens {
		if t.sessionID == s.id && !t.revoked && (active == nil || t.order > active.order) {
			active = t
		}
	}
	return active
}

// oldestLive is the version 1 token that a step up to aal2 replaces.
func (a *authServer) oldestLive(s *session) *refreshToken {
	var oldest *refreshToken
	for _, t := range a.state.refreshTokens {
		if t.sessionID == s.id && !t.revoked && (oldest == nil || t.order < oldest.order) {
			oldest = t
		}
	}
	return oldest
}

// revokeFamily revokes what is still live; each such token is then taken once
// more for the reuse interval. The session stays.
func (a *authServer) revokeFamily(s *session) {
	for _, t := range a.state.refreshTokens {
		if t.sessionID == s.id && !t.revoked {
			t.revoked, t.changedAt = true, a.cfg.now()
		}
	}
}

func (a *authServer) nextV2(w http.ResponseWriter, s *session, counter int) (string, error) {
	now := a.cfg.now()
	behind := s.counter - counter
	recent := now.Sub(s.lastUsed()) <= reuseInterval
	var cause string
	switch {
	case behind == 0:
		w.Header().Set("sb-auth-refresh-token-reuse", "false")
		return a.newRefreshToken(s, ""), nil
	case behind == 1 && recent:
		cause = "concurrent-refresh,fail-to-save"
	case behind == 1:
		cause = "fail-to-save"
	case recent:
		cause = "concurrent-refresh"
	default:
		w.Header().Set("sb-auth-refresh-token-rotated", "true")
		a.state.dropSessions(s.userID, func(other *session) bool { return other == s })
		return "", refreshUsed()
	}
	w.Header().Set("sb-auth-refresh-token-reuse-cause", cause)
	return s.v2Token(s.counter), nil
}
