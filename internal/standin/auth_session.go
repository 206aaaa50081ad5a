package standin

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"time"

	"github.com/google/uuid"
)

// The amr methods of sessions.
const (
	methodPassword  = "password"
	methodOTP       = "otp"
	methodMagicLink = "magiclink"
	methodExternal  = "oauth"
	methodOAuthCode = "oauth_provider/authorization_code"
	methodRecovery  = "recovery"
	methodSignup    = "email/signup"
	methodAnonymous = "anonymous"
	methodTOTP      = "totp"
)

// issued is a session with the refresh token to hand out.
type issued struct {
	session *session
	refresh string
	counter int    // of a version 2 refresh token
	accessT string // empty until signed

	// withoutClient leaves client_id out of the access token, as the answer to a
	// factor does for an OAuth client's session.
	withoutClient bool
	lifetime      time.Duration // of the access token, once signed; whole seconds
	expiresAt     time.Time
}

// startSession makes a session for the person and notes the sign-in.
func (a *authServer) startSession(ctx context.Context, p *person, method, clientID, scope string) (*issued, error) {
	now := a.cfg.now().UTC()
	if err := a.people.noteSignIn(ctx, p, now); err != nil {
		return nil, err
	}
	s := &session{id: uuid.NewString(), userID: p.ID, clientID: clientID, scope: scope, method: method,
		amr: []amrEntry{{method, now}}, createdAt: now}
	a.mu.Lock()
	a.state.sessions[s.id] = s
	refresh := a.newRefreshToken(s, "")
	a.mu.Unlock()
	return &issued{session: s, refresh: refresh}, nil
}

// sign puts an access token on what was issued.
func (a *authServer) sign(i *issued, p *person) error {
	now := a.cfg.now()
	claims := a.claims(p, i.session, now)
	if i.withoutClient {
		delete(claims, "client_id")
	}
	i.expiresAt = a.expiryOf(i.session, now)
	i.lifetime = time.Duration(i.expiresAt.Unix()-now.Unix()) * time.Second
	if a.cfg.hook != nil {
		var err error
		if claims, err = a.runHook(p, i.session, claims); err != nil {
			return err
		}
	}
	token, err := a.cfg.keys.sign(claims)
	i.accessT = token
	return err
}

// expiryOf is when an access token issued now ends. A session that should have
// a second factor and has not is cut short.
func (a *authServer) expiryOf(s *session, now time.Time) time.Time {
	a.mu.Lock()
	defer a.mu.Unlock()
	expiry := now.Add(a.cfg.tokenLifetime)
	if end := s.createdAt.Add(a.cfg.lowAALLifetime); a.lowAAL(s) && end.Before(expiry) {
		return end
	}
	return expiry
}

// lowAAL reports whether the limit for sessions without the second factor that
// the person has applies. The lock is held.
func (a *authServer) lowAAL(s *session) bool {
	return a.cfg.lowAALLifetime > 0 && !s.aal2() && a.state.hasSecondFactor(s.userID)
}

// claims are what an access token says. Only an OAuth client's has client_id
// and scope; the scope narrows nothing.
func (a *authServer) claims(p *person, s *session, now time.Time) map[string]any {
	expiry := a.expiryOf(s, now)
	a.mu.Lock()
	defer a.mu.Unlock()
	amr := make([]map[string]any, 0, len(s.amr))
	for _, m := range s.amr {
		amr = append(amr, map[string]any{"method": m.Method, "timestamp": m.At.Unix()})
	}
	claims := map[string]any{
		"iss": a.issuer(), "sub": p.ID, "aud": p.Aud,
		"exp": expiry.Unix(), "iat": now.Unix(),
		"email": p.Email, "phone": p.Phone,
		"app_metadata": p.AppMetadata, "user_metadata": p.UserMetadata,
		"role": p.Role, "aal": s.aal(),
		"amr":          amr,
		"session_id":   s.id,
		"is_anonymous": p.IsAnonymous,
	}
	if s.clientID != "" {
		claims["client_id"] = s.clientID
		claims["scope"] = s.scope
	}
	return claims
}

// requiredClaims are what a hook must give back.
var requiredClaims = []string{"aud", "exp", "iat", "sub", "email", "phone", "role", "aal", "session_id", "is_anonymous"}

func (a *authServer) runHook(p *person, s *session, claims map[string]any) (map[string]any, error) {
	out, status, message := a.cfg.hook(map[string]any{
		"metadata": map[string]any{"uuid": uuid.NewString(), "time": a.cfg.now().UTC(),
			"name": "customize-access-token", "ip_address": "127.0.0.1"},
		"user_id": p.ID, "claims": claims, "authentication_method": s.method,
	})
	if status != 0 {
		return nil, &authError{status: status, code: "unknown", msg: message, noHeader: true}
	}
	missing := ""
	for _, name := range requiredClaims {
		if _, ok := out[name]; !ok {
			missing += "- (root): " + name + " is required\n"
		}
	}
	if missing != "" {
		return nil, &authError{status: http.StatusInternalServerError, code: "unexpected_failure", noHeader: true,
			msg: "output claims do not conform to the expected schema: \n" + missing}
	}
	return out, nil
}

// tell puts the headers on that Auth adds for whoever runs it.
func (i *issued) tell(w http.ResponseWriter) {
	h := w.Header()
	h.Set("sb-auth-user-id", i.session.userID)
	h.Set("sb-auth-session-id", i.session.id)
	if len(i.refresh) == v1TokenLength {
		h.Set("sb-auth-refresh-token-prefix", i.refresh[:5])
		return
	}
	h.Set("sb-auth-refresh-token-counter", strconv.Itoa(i.counter))
}

// writeSession answers a sign-in with the session object.
func (a *authServer) writeSession(w http.ResponseWriter, i *issued, p *person, extra map[string]any) error {
	i.tell(w)
	body, err := a.sessionBody(i, a.withFactors(p))
	if err != nil {
		return err
	}
	maps.Copy(body, extra)
	writeAuthJSON(w, http.StatusOK, body)
	return nil
}

// sessionBody signs the access token and makes the session object.
func (a *authServer) sessionBody(i *issued, p *person) (map[string]any, error) {
	if err := a.sign(i, p); err != nil {
		return nil, err
	}
	return map[string]any{
		"access_token": i.accessT, "token_type": "bearer",
		"expires_in": int(i.lifetime.Seconds()), "expires_at": i.expiresAt.Unix(),
		"refresh_token": i.refresh, "user": p,
	}, nil
}

// idToken is OpenID Connect Core section 2 as Auth fills it. It cannot be made
// without an asymmetric key.
func (a *authServer) idToken(p *person, z *authorization) (string, error) {
	if a.cfg.keys.hs256Only() {
		return "", newAuthError(http.StatusInternalServerError, "unexpected_failure", "Error generating ID token")
	}
	now := a.cfg.now()
	has := scopeSet(z.scope)
	claims := map[string]any{
		"iss": a.issuer(), "sub": p.ID, "aud": z.clientID, "client_id": z.clientID,
		"exp": now.Add(time.Hour).Unix(), "iat": now.Unix(), "auth_time": p.LastSignInAt.Unix(),
		// Both appear even where their scope was not granted.
		"email_verified": has["email"] && p.EmailConfirmedAt != nil, "phone_number_verified": false,
	}
	putIfSet(claims, "nonce", z.nonce)
	if has["email"] {
		putIfSet(claims, "email", p.Email)
	}
	if has["phone"] {
		putIfSet(claims, "phone_number", p.Phone)
	}
	if has["profile"] {
		p.putProfile(claims)
	}
	return a.cfg.keys.sign(claims)
}

// putProfile adds the claims of the profile scope; the name falls back to the
// email address.
func (p *person) putProfile(claims map[string]any) {
	name := p.meta("name", "full_name")
	if name == "" {
		name = p.Email
	}
	claims["name"] = name
	claims["updated_at"] = p.UpdatedAt.Unix()
	putIfSet(claims, "picture", p.meta("picture", "avatar_url"))
	putIfSet(claims, "preferred_username", p.meta("preferred_username", "user_name"))
}

func (p *person) meta(keys ...string) string {
	for _, key := range keys {
		if s, ok := p.UserMetadata[key].(string); ok && s != "" {
			return s
		}
	}
	return ""
}

// accessToken returns a token as Auth would issue it to the user, for tests.
func (a *authServer) accessToken(email string, o TokenOptions) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	p, err := a.people.byEmail(ctx, email)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", email, err)
	}
	now := a.cfg.now()
	s := &session{id: uuid.NewString(), userID: p.ID, method: methodPassword, createdAt: now}
	if o.ClientID != "" {
		s.clientID, s.scope, s.method = o.ClientID, o.Scope, methodOAuthCode
	}
	s.amr = []amrEntry{{s.method, now}}
	if o.ClientID != "" && o.Scope == "" {
		s.scope = "email"
	}
	claims := a.claims(p, s, now)
	if o.Lifetime != 0 {
		claims["exp"] = now.Add(o.Lifetime).Unix()
	}
	if o.NoSession {
		delete(claims, "session_id")
	} else {
		a.mu.Lock()
		a.state.sessions[s.id] = s
		a.mu.Unlock()
	}
	for name, value := range o.Claims {
		claims[name] = value
		if value == nil {
			delete(claims, name)
		}
	}
	return a.cfg.keys.sign(claims)
}

// personOf loads the user of a session, nil when they are gone.
func (a *authServer) personOf(ctx context.Context, s *session) (*person, error) {
	p, err := a.people.byID(ctx, s.userID)
	if errors.Is(err, errNoPerson) {
		return nil, nil
	}
	return p, err
}
