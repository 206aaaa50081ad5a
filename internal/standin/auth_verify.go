package standin

import (
	"context"
	"errors"
	"net/http"
	"net/url"
	"strings"
)

func otpExpired(msg string) *authError {
	return newAuthError(http.StatusForbidden, "otp_expired", msg)
}

const linkRefused = "Email link is invalid or has expired"

// verifyLink is the link of a mail. Any GET uses it up, but not one of
// somebody who is banned.
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
	t := a.mailTokenOf(kind, token, false)
	if t == nil {
		a.refuseLink(w, r, token, otpExpired(linkRefused))
		return nil
	}
	p, err := a.takeMailToken(r.Context(), t, linkRefused)
	var refused *authError
	if errors.As(err, &refused) {
		a.refuseLink(w, r, token, refused)
		return nil
	}
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
func (a *authServer) refuseLink(w http.ResponseWriter, r *http.Request, token string, why *authError) {
	params := url.Values{"error": {"access_denied"}, "error_code": {why.code}, "error_description": {why.msg}}
	to := a.redirectTo(r)
	if strings.HasPrefix(token, pkcePrefix) {
		to = withQuery(to, params)
	}
	http.Redirect(w, r, withFragment(to, params), http.StatusSeeOther)
}

// takeMailToken uses a token up for its person and confirms their address by
// it. A banned person keeps the token.
func (a *authServer) takeMailToken(ctx context.Context, t *mailToken, refused string) (*person, error) {
	p, err := a.people.byID(ctx, t.userID)
	switch {
	case errors.Is(err, errNoPerson):
		return nil, otpExpired(refused)
	case err != nil:
		return nil, err
	case p.banned(a.cfg.now()):
		return nil, newAuthError(http.StatusForbidden, "user_banned", "User is banned")
	case !a.useMailToken(t):
		return nil, otpExpired(refused)
	}
	if !t.confirms() && p.EmailConfirmedAt != nil {
		return p, nil
	}
	p.confirm(a.cfg.now().UTC())
	if t.confirms() {
		p.verifyIdentities()
	}
	if err := a.people.update(ctx, p); err != nil {
		return nil, err
	}
	return a.people.byID(ctx, p.ID)
}

// verifyCode takes the six digits of a mail, or the hash of its link. The PKCE
// flow binds the link only: a code gives a session at once.
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
	switch {
	case in.Type == "":
		return invalidInput("Verify requires a verification type")
	case in.Token == "" && in.TokenHash == "":
		return invalidInput("Verify requires a token or a token hash")
	}
	hash, refused := in.TokenHash, linkRefused
	if hash == "" {
		hash, refused = mailHash(strings.ToLower(in.Email), in.Token), "Token has expired or is invalid"
		if err := a.checkNotBanned(r.Context(), in.Email); err != nil {
			return err
		}
	}
	t := a.mailTokenOf(in.Type, hash, in.TokenHash == "")
	if t == nil {
		return otpExpired(refused)
	}
	p, err := a.takeMailToken(r.Context(), t, refused)
	if err != nil {
		return err
	}
	i, err := a.startSession(r.Context(), p, methodOTP, "", "")
	if err != nil {
		return err
	}
	return a.writeSession(w, i, p, nil)
}

// checkNotBanned tells a banned person so before their code is looked at.
func (a *authServer) checkNotBanned(ctx context.Context, email string) error {
	p, err := a.people.byEmail(ctx, email)
	switch {
	case errors.Is(err, errNoPerson):
		return nil
	case err != nil:
		return err
	case p.banned(a.cfg.now()):
		return newAuthError(http.StatusForbidden, "user_banned", "User is banned")
	default:
		return nil
	}
}
