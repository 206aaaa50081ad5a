package standin

import (
	"fmt"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

// challengeLifetime is how long a code may be entered.
const challengeLifetime = 5 * time.Minute

// challenge is one question for a factor's code.
type challenge struct {
	id       string
	factorID string
	address  string // of who asked; the answer must come from there
	madeAt   time.Time
	used     bool
}

// factorHook is asked about every attempt and may reject it, which ends all
// sessions of the person.
type factorHook func(userID, factorID string, valid bool) (rejected bool, message string)

// callerAddress is the first address in X-Forwarded-For that is one, else
// where the connection comes from. Rate limits look elsewhere.
func callerAddress(r *http.Request) string {
	for part := range strings.SplitSeq(r.Header.Get("X-Forwarded-For"), ",") {
		if address, err := netip.ParseAddr(strings.TrimSpace(part)); err == nil {
			return address.String()
		}
	}
	return connectionAddress(r)
}

// challengeFactor opens a challenge. The body is not read.
func (a *authServer) challengeFactor(w http.ResponseWriter, r *http.Request) error {
	who, id, err := a.factorOfPath(r)
	if err != nil {
		return err
	}
	if err := a.checkLimit(bucketFactorChallenge, r); err != nil {
		return err
	}
	if a.cfg.totpVerifyOff {
		return totpVerifyOff()
	}
	now := a.cfg.now().UTC()
	a.mu.Lock()
	defer a.mu.Unlock()
	f := a.state.factor(who.user.ID, id)
	if f == nil {
		return factorNotFound()
	}
	c := &challenge{id: uuid.NewString(), factorID: f.id, address: callerAddress(r), madeAt: now}
	a.state.challenges[c.id] = c
	f.challengedAt = &now
	a.state.touch(f, now)
	writeAuthJSON(w, http.StatusOK, map[string]any{"id": c.id, "type": "totp", "expires_at": now.Add(challengeLifetime).Unix()})
	return nil
}

// factorAnswer is what verify reads.
type factorAnswer struct {
	ChallengeID *string `json:"challenge_id"`
	Code        string  `json:"code"`
}

func readFactorAnswer(r *http.Request) (challengeID, code string, err error) {
	var in factorAnswer
	if err := readAuthJSON(r, &in); err != nil {
		return "", "", err
	}
	if in.ChallengeID != nil {
		id, err := uuid.Parse(*in.ChallengeID)
		if err != nil {
			why := fmt.Sprintf("uuid: incorrect UUID length %d in string %q", len(*in.ChallengeID), *in.ChallengeID)
			return "", "", newAuthError(http.StatusBadRequest, "bad_json", "Could not parse request body as JSON: "+why)
		}
		challengeID = id.String()
	}
	if in.Code == "" {
		return "", "", invalidInput("Code needs to be non-empty")
	}
	return challengeID, in.Code, nil
}

// verifyFactor takes a code and raises the session to aal2. The answer's
// tokens replace the session's; the one for an OAuth client lacks client_id.
func (a *authServer) verifyFactor(w http.ResponseWriter, r *http.Request) error {
	who, id, err := a.factorOfPath(r)
	if err != nil {
		return err
	}
	if err := a.checkLimit(bucketFactorVerify, r); err != nil {
		return err
	}
	challengeID, code, err := readFactorAnswer(r)
	if err != nil {
		return err
	}
	if a.cfg.totpVerifyOff {
		return totpVerifyOff()
	}
	i, err := a.stepUp(r, who, id, challengeID, code)
	if err != nil {
		return err
	}
	body, err := a.sessionBody(i, who.user)
	if err != nil {
		return err
	}
	writeAuthJSON(w, http.StatusOK, body)
	return nil
}

// stepUp checks the code and does, as one, all that a right one brings.
func (a *authServer) stepUp(r *http.Request, who *authCaller, factorID, challengeID, code string) (*issued, error) {
	now := a.cfg.now().UTC()
	a.mu.Lock()
	defer a.mu.Unlock()
	f, s := a.state.factor(who.user.ID, factorID), a.state.sessions[who.sessionID]
	if f == nil || s == nil {
		return nil, factorNotFound()
	}
	c, err := a.openChallenge(f, challengeID, callerAddress(r), now)
	if err != nil {
		return nil, err
	}
	valid := totpMatches(f.secret, code, now)
	if a.cfg.factorHook != nil {
		if rejected, message := a.cfg.factorHook(f.userID, f.id, valid); rejected {
			a.state.dropSessions(f.userID, anySession)
			return nil, newAuthError(http.StatusForbidden, "mfa_verification_rejected", message)
		}
	}
	if !valid {
		return nil, newAuthError(http.StatusUnprocessableEntity, "mfa_verification_failed", "Invalid TOTP code entered")
	}
	c.used = true
	if !f.verified {
		f.verified = true
		a.state.touch(f, now)
	}
	s.factorID = f.id
	s.addMethod(methodTOTP, now)
	i := &issued{session: s, refresh: a.tokenAfterFactor(s), counter: s.counter, withoutClient: true}
	// The answer still shows the unverified factors that go with it.
	who.user.Factors = a.state.factorViews(f.userID)
	a.state.dropSessions(f.userID, func(other *session) bool { return !other.aal2() })
	a.state.dropFactors(f.userID, func(other *factor) bool { return !other.verified })
	return i, nil
}

// openChallenge is the challenge if it can be answered. A used one is refused
// in the words for another address. The lock is held.
func (a *authServer) openChallenge(f *factor, id, address string, now time.Time) (*challenge, error) {
	refuse := func(code, msg string) (*challenge, error) {
		return nil, newAuthError(http.StatusUnprocessableEntity, code, msg)
	}
	c := a.state.challenges[id]
	switch {
	case c == nil || c.factorID != f.id:
		return refuse("mfa_factor_not_found", "MFA factor with the provided challenge ID not found")
	case c.used || c.address != address:
		return refuse("mfa_ip_address_mismatch", "Challenge and verify IP addresses mismatch.")
	case now.Sub(c.madeAt) > challengeLifetime:
		delete(a.state.challenges, id)
		return refuse("mfa_challenge_expired",
			"MFA challenge "+id+" has expired, verify against another challenge or create a new challenge.")
	}
	return c, nil
}

// amrEntry is one way in which a session was authenticated.
type amrEntry struct {
	Method string
	At     time.Time
}

// addMethod notes a way, or that it was used again.
func (s *session) addMethod(method string, now time.Time) {
	s.amr = slices.DeleteFunc(s.amr, func(m amrEntry) bool { return m.Method == method })
	s.amr = append([]amrEntry{{method, now}}, s.amr...)
}

// aal2 reports whether a second factor was used.
func (s *session) aal2() bool {
	return slices.ContainsFunc(s.amr, func(m amrEntry) bool { return m.Method == methodTOTP })
}

// aal is the assurance level as tokens name it.
func (s *session) aal() string {
	if s.aal2() {
		return "aal2"
	}
	return "aal1"
}
