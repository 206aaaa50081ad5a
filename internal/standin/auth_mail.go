package standin

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/google/uuid"
)

// mailTokenLifetime is how long a mailed link or code works.
const mailTokenLifetime = 24 * time.Hour

// sentMail is a message in the in-memory outbox.
type sentMail struct {
	To      string
	Subject string
	Link    string
	Code    string // the 6 digits; the default mail does not show them
}

// mailToken is what a mailed link or code stands for. A person has one at a
// time.
type mailToken struct {
	userID string
	kind   string // magiclink, recovery or signup
	hash   string // without the pkce_ prefix
	sentAt time.Time
	flow   *flowState // nil in the implicit flow
}

// mailsTo returns the mails sent to an address, oldest first.
func (a *authServer) mailsTo(address string) []sentMail {
	a.mu.Lock()
	defer a.mu.Unlock()
	var mails []sentMail
	for _, m := range a.state.outbox {
		if m.To == address {
			mails = append(mails, m)
		}
	}
	return mails
}

// mayMail holds the two mail limits: one per address, one for the project.
// last is when this person was last sent something, nil for never.
func (a *authServer) mayMail(address string, last *time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.cfg.now()
	if last != nil {
		if left := a.cfg.mailInterval - now.Sub(*last); left > 0 {
			return newAuthError(http.StatusTooManyRequests, "over_email_send_rate_limit",
				fmt.Sprintf("For security purposes, you can only request this after %d seconds.", int(left.Seconds())))
		}
	}
	if !a.cfg.confirmationOn || a.cfg.mailQuota == 0 {
		return nil
	}
	if now.Sub(a.state.quotaFrom) > time.Hour {
		a.state.quotaFrom, a.state.quotaUsed = now, 0
	}
	if a.state.quotaUsed >= a.cfg.mailQuota {
		return newAuthError(http.StatusTooManyRequests, "over_email_send_rate_limit", "email rate limit exceeded")
	}
	a.state.quotaUsed++
	return nil
}

func mailHash(address, code string) string {
	sum := sha256.Sum224([]byte(address + code))
	return hex.EncodeToString(sum[:])
}

// makeLink makes the token of a mail and the link it carries. flow is set in
// the PKCE flow.
func (a *authServer) makeLink(p *person, kind, to string, flow *flowState) (link, code, hash string) {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		n = big.NewInt(0) // crypto/rand does not fail
	}
	code = fmt.Sprintf("%06d", n)
	t := &mailToken{userID: p.ID, kind: kind, hash: mailHash(p.Email, code), sentAt: a.cfg.now(), flow: flow}
	a.mu.Lock()
	defer a.mu.Unlock()
	for other, old := range a.state.mailTokens {
		if old.userID == p.ID {
			delete(a.state.mailTokens, other)
		}
	}
	a.state.mailTokens[t.hash] = t
	shown := t.hash
	if flow != nil {
		shown = "pkce_" + t.hash
	}
	return fmt.Sprintf("%s/verify?token=%s&type=%s&redirect_to=%s", a.issuer(), shown, kind, to), code, shown
}

func (a *authServer) sendLink(p *person, kind, subject, to string, flow *flowState) {
	link, code, _ := a.makeLink(p, kind, to, flow)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.outbox = append(a.state.outbox, sentMail{To: p.Email, Subject: subject, Link: link, Code: code})
}

// mailRequest is what otp, magiclink and recover read.
type mailRequest struct {
	Email      string         `json:"email"`
	Phone      string         `json:"phone"`
	CreateUser *bool          `json:"create_user"`
	Data       map[string]any `json:"data"`
	Challenge  string         `json:"code_challenge"`
	Method     string         `json:"code_challenge_method"`
	Security   struct {
		CaptchaToken string `json:"captcha_token"`
	} `json:"gotrue_meta_security"`
}

func (a *authServer) readMailRequest(r *http.Request) (*mailRequest, error) {
	var in mailRequest
	if err := readAuthJSON(r, &in); err != nil {
		return nil, err
	}
	if err := a.checkCaptcha(r, in.Security.CaptchaToken); err != nil {
		return nil, err
	}
	in.Method = strings.ToLower(in.Method)
	if in.Email == "" && in.Phone == "" {
		return nil, invalidInput("One of email or phone must be set")
	}
	if err := flowChallenge(in.Challenge, in.Method); err != nil {
		return nil, err
	}
	switch {
	case in.Phone != "":
		return nil, newAuthError(http.StatusUnprocessableEntity, "phone_provider_disabled", "Phone logins are disabled")
	case a.cfg.emailOff:
		return nil, emailDisabled()
	}
	return &in, checkAddress(in.Email)
}

func (in *mailRequest) flow(method, to string) *flowState {
	if in.Challenge == "" {
		return nil
	}
	return &flowState{id: uuid.NewString(), method: method, to: to, challenge: in.Challenge, chMethod: in.Method}
}

// otp mails a sign-in link, making the account first unless told not to.
func (a *authServer) otp(w http.ResponseWriter, r *http.Request) error {
	in, err := a.readMailRequest(r)
	if err != nil {
		return err
	}
	p, err := a.people.byEmail(r.Context(), in.Email)
	if errors.Is(err, errNoPerson) {
		p, err = a.personByMail(r.Context(), in)
	}
	if err != nil {
		return err
	}
	return a.mailSignIn(w, r, p, in, "magiclink", "Your sign-in link")
}

func (a *authServer) personByMail(ctx context.Context, in *mailRequest) (*person, error) {
	if in.CreateUser != nil && !*in.CreateUser {
		return nil, newAuthError(http.StatusUnprocessableEntity, "otp_disabled", "Signups not allowed for otp")
	}
	if a.cfg.signupOff {
		return nil, signupDisabled()
	}
	p, err := newPerson(User{Email: in.Email, UserMetadata: in.Data, Unconfirmed: a.cfg.confirmationOn}, a.cfg.now().UTC())
	if err != nil {
		return nil, err
	}
	return p, a.people.insert(ctx, p)
}

// recover mails a password link, and says nothing about unknown addresses.
func (a *authServer) recover(w http.ResponseWriter, r *http.Request) error {
	in, err := a.readMailRequest(r)
	if err != nil {
		return err
	}
	p, err := a.people.byEmail(r.Context(), in.Email)
	if errors.Is(err, errNoPerson) {
		writeAuthJSON(w, http.StatusOK, map[string]any{})
		return nil
	}
	if err != nil {
		return err
	}
	return a.mailSignIn(w, r, p, in, "recovery", "Reset your password")
}

func (a *authServer) mailSignIn(w http.ResponseWriter, r *http.Request, p *person, in *mailRequest, kind, subject string) error {
	if err := a.mayMail(p.Email, p.RecoverySentAt); err != nil {
		return err
	}
	if err := a.noteRecovery(r.Context(), p); err != nil {
		return err
	}
	to := a.redirectTo(r)
	method := methodMagicLink
	if kind == "recovery" {
		method = methodOTP
	}
	a.sendLink(p, kind, subject, to, in.flow(method, to))
	writeAuthJSON(w, http.StatusOK, map[string]any{})
	return nil
}

func (a *authServer) noteRecovery(ctx context.Context, p *person) error {
	now := a.cfg.now().UTC()
	p.RecoverySentAt, p.UpdatedAt = &now, now
	return a.people.update(ctx, p)
}

// generateLink makes a link without mailing it, for the service key.
func (a *authServer) generateLink(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Type       string `json:"type"`
		Email      string `json:"email"`
		RedirectTo string `json:"redirect_to"`
	}
	if err := readAuthJSON(r, &in); err != nil {
		return err
	}
	if in.Type != "magiclink" && in.Type != "recovery" {
		return invalidInput("Invalid email action link type requested: " + in.Type)
	}
	p, err := a.people.byEmail(r.Context(), in.Email)
	if errors.Is(err, errNoPerson) {
		return newAuthError(http.StatusNotFound, "user_not_found", "User with this email not found")
	}
	if err != nil {
		return err
	}
	if err := a.noteRecovery(r.Context(), p); err != nil {
		return err
	}
	to := in.RedirectTo
	if to == "" || !a.redirectAllowed(to) {
		to = a.cfg.siteURL
	}
	link, code, hash := a.makeLink(p, in.Type, to, nil)
	writeAuthJSON(w, http.StatusOK, struct {
		*person
		ActionLink       string `json:"action_link"`
		EmailOTP         string `json:"email_otp"`
		HashedToken      string `json:"hashed_token"`
		VerificationType string `json:"verification_type"`
		RedirectTo       string `json:"redirect_to"`
	}{p, link, code, hash, in.Type, to})
	return nil
}

// useMailToken takes a token that is still good, once.
func (a *authServer) useMailToken(hash string) *mailToken {
	a.mu.Lock()
	defer a.mu.Unlock()
	hash = strings.TrimPrefix(hash, "pkce_")
	t := a.state.mailTokens[hash]
	if t == nil || a.cfg.now().Sub(t.sentAt) > mailTokenLifetime {
		return nil
	}
	delete(a.state.mailTokens, hash)
	return t
}

// verifyLink is the link of a mail. Any GET uses it up.
func (a *authServer) verifyLink(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	token, kind := q.Get("token"), q.Get("type")
	if token == "" {
		token = q.Get("token_hash")
	}
	if token == "" {
		return invalidInput("Verify requires a token or a token hash")
	}
	if kind == "" {
		return invalidInput("Verify requires a verification type")
	}
	t := a.useMailToken(token)
	if t == nil {
		a.refuseLink(w, r, token)
		return nil
	}
	p, err := a.confirmByMail(r.Context(), t)
	if err != nil {
		return err
	}
	if t.flow != nil {
		t.flow.startedAt = a.cfg.now()
		code := a.giveCode(t.flow, p.ID)
		http.Redirect(w, r, withQuery(a.redirectTo(r), url.Values{"code": {code}}), http.StatusSeeOther)
		return nil
	}
	f := &flowState{method: methodOTP, to: a.redirectTo(r)}
	return a.redirectWithTokens(w, r, f, p, http.StatusSeeOther, url.Values{"type": {kind}})
}

// refuseLink tells the app in the fragment, in the PKCE flow in the query too.
func (a *authServer) refuseLink(w http.ResponseWriter, r *http.Request, token string) {
	params := url.Values{"error": {"access_denied"}, "error_code": {"otp_expired"},
		"error_description": {"Email link is invalid or has expired"}}
	to := a.redirectTo(r)
	if strings.HasPrefix(token, "pkce_") {
		to = withQuery(to, params)
	}
	http.Redirect(w, r, withFragment(to, params), http.StatusSeeOther)
}

func (a *authServer) confirmByMail(ctx context.Context, t *mailToken) (*person, error) {
	p, err := a.people.byID(ctx, t.userID)
	if err != nil {
		return nil, err
	}
	if p.EmailConfirmedAt != nil {
		return p, nil
	}
	p.confirm(a.cfg.now().UTC())
	return p, a.people.update(ctx, p)
}

// verifyCode takes the six digits of a mail, or the hash of its link.
func (a *authServer) verifyCode(w http.ResponseWriter, r *http.Request) error {
	var in struct {
		Type      string `json:"type"`
		Email     string `json:"email"`
		Token     string `json:"token"`
		TokenHash string `json:"token_hash"`
	}
	if err := readAuthJSON(r, &in); err != nil {
		return err
	}
	refused := "Token has expired or is invalid"
	hash := mailHash(strings.ToLower(in.Email), in.Token)
	switch {
	case in.Type == "":
		return invalidInput("Verify requires a verification type")
	case in.Token == "" && in.TokenHash == "":
		return invalidInput("Verify requires a token or a token hash")
	case in.TokenHash != "":
		hash, refused = in.TokenHash, "Email link is invalid or has expired"
	}
	t := a.useMailToken(hash)
	if t == nil {
		return newAuthError(http.StatusForbidden, "otp_expired", refused)
	}
	p, err := a.confirmByMail(r.Context(), t)
	if err != nil {
		return err
	}
	i, err := a.startSession(r.Context(), p, methodOTP, "", "")
	if err != nil {
		return err
	}
	return a.writeSession(w, i, p, nil)
}
