package standin

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"

	"golang.org/x/crypto/bcrypt"
)

// authCaller is the person behind a bearer token.
type authCaller struct {
	user      *person
	sessionID string // empty when the token names none
	scope     string
	anonymous bool // by the token
}

var bearerPattern = regexp.MustCompile(`^[Bb]earer (\S+)$`)

// bearerClaims verifies the token of the request. Only a missing bearer is
// 401; everything wrong with one is 403. Neither iss nor aud is looked at.
func (a *authServer) bearerClaims(r *http.Request) (map[string]any, error) {
	// A gateway turns an API key that is no JWT into a role.
	if role := r.Header.Get(roleHeader); role != "" && r.Header.Get("Authorization") == "" {
		return map[string]any{"role": role}, nil
	}
	match := bearerPattern.FindStringSubmatch(r.Header.Get("Authorization"))
	if match == nil {
		return nil, newAuthError(http.StatusUnauthorized, "no_authorization", "This endpoint requires a valid Bearer token")
	}
	claims, err := a.cfg.keys.verify(match[1], a.cfg.now())
	if err != nil {
		return nil, newAuthError(http.StatusForbidden, "bad_jwt", "invalid JWT: unable to parse or verify signature, "+err.Error())
	}
	return claims, nil
}

// requireUser is the person of the bearer token, whose session must still be
// there.
func (a *authServer) requireUser(r *http.Request) (*authCaller, error) {
	claims, err := a.bearerClaims(r)
	if err != nil {
		return nil, err
	}
	sub, _ := claims["sub"].(string)
	if sub == "" {
		return nil, newAuthError(http.StatusForbidden, "bad_jwt", "invalid claim: missing sub claim")
	}
	p, err := a.people.byID(r.Context(), sub)
	if errors.Is(err, errNoPerson) {
		return nil, newAuthError(http.StatusForbidden, "user_not_found", "User from sub claim in JWT does not exist")
	}
	if err != nil {
		return nil, err
	}
	sessionID, _ := claims["session_id"].(string)
	if sessionID != "" && !a.sessionLives(sessionID, p.ID) {
		return nil, newAuthError(http.StatusForbidden, "session_not_found", "Session from session_id claim in JWT does not exist")
	}
	if p.banned(a.cfg.now()) {
		return nil, newAuthError(http.StatusForbidden, "user_banned", "User is banned")
	}
	scope, _ := claims["scope"].(string)
	anonymous, _ := claims["is_anonymous"].(bool)
	return &authCaller{user: p, sessionID: sessionID, scope: scope, anonymous: anonymous}, nil
}

func (a *authServer) sessionLives(id, userID string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.state.sessions[id]
	return s != nil && s.userID == userID
}

// isAdmin reports whether the request carries the service key as its bearer.
func (a *authServer) isAdmin(r *http.Request) bool {
	claims, err := a.bearerClaims(r)
	return err == nil && claims["role"] == "service_role"
}

func (a *authServer) adminOnly(h func(http.ResponseWriter, *http.Request) error) func(http.ResponseWriter, *http.Request) error {
	return func(w http.ResponseWriter, r *http.Request) error {
		if _, err := a.bearerClaims(r); err != nil {
			return err
		}
		if !a.isAdmin(r) {
			return newAuthError(http.StatusForbidden, "not_admin", "User not allowed")
		}
		return h(w, r)
	}
}

func (a *authServer) getUser(w http.ResponseWriter, r *http.Request) error {
	who, err := a.requireUser(r)
	if err != nil {
		return err
	}
	writeAuthJSON(w, http.StatusOK, a.withFactors(who.user))
	return nil
}

// putUser changes metadata or password. Any token of the person may do it, also
// one of an OAuth client; a new password ends every other session and every
// mail's link.
func (a *authServer) putUser(w http.ResponseWriter, r *http.Request) error {
	who, err := a.requireUser(r)
	if err != nil {
		return err
	}
	var in struct {
		Data     map[string]any `json:"data"`
		Password string         `json:"password"`
		Email    string         `json:"email"`
	}
	if err := readAuthJSON(r, &in); err != nil {
		return err
	}
	p := who.user
	changesEmail := in.Email != "" && in.Email != p.Email
	if (in.Password != "" || changesEmail) && a.needsSecondFactor(who) {
		return newAuthError(http.StatusUnauthorized, "insufficient_aal",
			"AAL2 session is required to update email or password when MFA is enabled.")
	}
	if changesEmail {
		return newAuthError(http.StatusNotImplemented, "unexpected_failure", "The stand-in does not change email addresses")
	}
	for key, value := range in.Data {
		p.UserMetadata[key] = value
		if value == nil {
			delete(p.UserMetadata, key)
		}
	}
	if in.Password != "" {
		if err := a.changePassword(who, in.Password); err != nil {
			return err
		}
	}
	p.UpdatedAt = a.cfg.now().UTC()
	if err := a.people.update(r.Context(), p); err != nil {
		return err
	}
	writeAuthJSON(w, http.StatusOK, a.withFactors(p))
	return nil
}

// needsSecondFactor reports whether the caller has a second factor that the
// session, whatever the token says, was not raised with.
func (a *authServer) needsSecondFactor(who *authCaller) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.state.sessions[who.sessionID]
	return a.state.hasSecondFactor(who.user.ID) && (s == nil || !s.aal2())
}

func (a *authServer) changePassword(who *authCaller, password string) error {
	if err := checkStrength(password); err != nil {
		return err
	}
	if bcrypt.CompareHashAndPassword([]byte(who.user.passwordHash), []byte(password)) == nil {
		return newAuthError(http.StatusUnprocessableEntity, "same_password", "New password should be different from the old password.")
	}
	if err := who.user.setPassword(password); err != nil {
		return err
	}
	who.user.ConfirmationSentAt, who.user.RecoverySentAt = nil, nil
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.dropMailTokens(who.user.ID)
	a.state.dropSessions(who.user.ID, func(s *session) bool { return s.id != who.sessionID })
	return nil
}

func checkStrength(password string) error {
	if len(password) >= 6 {
		return nil
	}
	return &authError{status: http.StatusUnprocessableEntity, code: "weak_password",
		msg: "Password should be at least 6 characters.", reasons: []string{"length"}}
}

// logout ends sessions: all of the person's unless scope says otherwise.
func (a *authServer) logout(w http.ResponseWriter, r *http.Request) error {
	scope := r.URL.Query().Get("scope")
	if scope != "" && scope != "global" && scope != "local" && scope != "others" {
		return invalidInput(fmt.Sprintf("Unsupported logout scope %q", scope))
	}
	who, err := a.requireUser(r)
	if err != nil {
		return err
	}
	match := anySession
	switch scope {
	case "local":
		match = func(s *session) bool { return s.id == who.sessionID }
	case "others":
		match = func(s *session) bool { return s.id != who.sessionID }
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.dropSessions(who.user.ID, match)
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// userinfo is OpenID Connect Core section 5.3, by the scopes of the token; a
// first-party token has none and gets only sub.
func (a *authServer) userinfo(w http.ResponseWriter, r *http.Request) error {
	who, err := a.requireUser(r)
	if err != nil {
		return err
	}
	p, has := who.user, scopeSet(who.scope)
	claims := map[string]any{"sub": p.ID}
	if has["email"] {
		claims["email"] = p.Email
		claims["email_verified"] = p.EmailConfirmedAt != nil
	}
	if has["profile"] {
		p.putProfile(claims)
		claims["user_metadata"] = p.UserMetadata
	}
	if has["phone"] && p.Phone != "" {
		claims["phone"] = p.Phone
		claims["phone_verified"] = false
	}
	writeAuthJSON(w, http.StatusOK, claims)
	return nil
}

// readAuthJSON reads a JSON body. A form has been eaten by then, as at Auth.
func readAuthJSON(r *http.Request, into any) error {
	if kind := r.Header.Get("Content-Type"); kind == "application/x-www-form-urlencoded" {
		return newAuthError(http.StatusBadRequest, "bad_json", "Could not parse request body as JSON: unexpected end of JSON input")
	}
	err := json.NewDecoder(r.Body).Decode(into)
	if err == nil {
		return nil
	}
	why := err.Error()
	if why == "EOF" {
		why = "unexpected end of JSON input"
	}
	return newAuthError(http.StatusBadRequest, "bad_json", "Could not parse request body as JSON: "+why)
}
