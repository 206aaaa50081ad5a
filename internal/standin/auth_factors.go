package standin

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

const (
	maxFactors           = 10              // per person, unverified ones included
	unverifiedFactorLife = 5 * time.Minute // of a factor that was never challenged
)

// factor is a person's second factor. Only TOTP is part of the stand-in.
type factor struct {
	id           string
	userID       string
	name         string // "" counts as a name
	secret       string // base32
	verified     bool
	createdAt    time.Time
	updatedAt    time.Time
	challengedAt *time.Time
}

// factorView is a factor as user objects show it.
type factorView struct {
	ID           string     `json:"id"`
	CreatedAt    time.Time  `json:"created_at"`
	UpdatedAt    time.Time  `json:"updated_at"`
	Status       string     `json:"status"` // verified or unverified
	FriendlyName string     `json:"friendly_name,omitempty"`
	FactorType   string     `json:"factor_type"`
	Phone        string     `json:"phone"`
	ChallengedAt *time.Time `json:"last_challenged_at"`
}

func (f *factor) view() factorView {
	v := factorView{ID: f.id, CreatedAt: f.createdAt, UpdatedAt: f.updatedAt, Status: "unverified",
		FriendlyName: f.name, FactorType: "totp", ChallengedAt: f.challengedAt}
	if f.verified {
		v.Status = "verified"
	}
	return v
}

// touch notes a change. What changed last is listed last.
func (s *authState) touch(f *factor, now time.Time) {
	f.updatedAt = now
	list := slices.DeleteFunc(s.factors[f.userID], func(other *factor) bool { return other == f })
	s.factors[f.userID] = append(list, f)
}

func (s *authState) factor(userID, id string) *factor {
	for _, f := range s.factors[userID] {
		if f.id == id {
			return f
		}
	}
	return nil
}

// dropFactors forgets factors with their challenges.
func (s *authState) dropFactors(userID string, match func(*factor) bool) {
	s.factors[userID] = slices.DeleteFunc(s.factors[userID], func(f *factor) bool {
		if !match(f) {
			return false
		}
		for id, c := range s.challenges {
			if c.factorID == f.id {
				delete(s.challenges, id)
			}
		}
		return true
	})
}

func (s *authState) wasChallenged(f *factor) bool {
	for _, c := range s.challenges {
		if c.factorID == f.id {
			return true
		}
	}
	return false
}

// hasSecondFactor reports whether the person could be at aal2.
func (s *authState) hasSecondFactor(userID string) bool {
	return slices.ContainsFunc(s.factors[userID], func(f *factor) bool { return f.verified })
}

func (s *authState) factorViews(userID string) []factorView {
	var views []factorView
	for _, f := range s.factors[userID] {
		views = append(views, f.view())
	}
	return views
}

// withFactors puts the factors on a person about to be shown.
func (a *authServer) withFactors(p *person) *person {
	a.mu.Lock()
	defer a.mu.Unlock()
	p.Factors = a.state.factorViews(p.ID)
	return p
}

func factorNotFound() error {
	return newAuthError(http.StatusNotFound, "mfa_factor_not_found", "Factor not found")
}

func totpVerifyOff() error {
	return newAuthError(http.StatusUnprocessableEntity, "mfa_totp_verify_not_enabled", "MFA verification is disabled for TOTP")
}

// requireSession is the person of the bearer token with a session: factors are
// closed to anonymous people.
func (a *authServer) requireSession(r *http.Request) (*authCaller, error) {
	who, err := a.requireUser(r)
	if err != nil {
		return nil, err
	}
	if who.anonymous {
		return nil, newAuthError(http.StatusForbidden, "no_authorization", "Anonymous user not allowed to perform these actions")
	}
	if who.sessionID == "" {
		return nil, newAuthError(http.StatusInternalServerError, "unexpected_failure",
			"A valid session and a registered user are required to enroll a factor")
	}
	return who, nil
}

// factorOfPath is the caller's factor that the path names. Nobody learns that
// a factor of somebody else exists.
func (a *authServer) factorOfPath(r *http.Request) (*authCaller, string, error) {
	who, err := a.requireSession(r)
	if err != nil {
		return nil, "", err
	}
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return nil, "", newAuthError(http.StatusNotFound, "validation_failed", "factor_id must be an UUID")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state.factor(who.user.ID, id.String()) == nil {
		return nil, "", factorNotFound()
	}
	return who, id.String(), nil
}

// enrollFactor makes an unverified factor. Any token of the person may do it,
// also one of an OAuth client.
func (a *authServer) enrollFactor(w http.ResponseWriter, r *http.Request) error {
	who, err := a.requireSession(r)
	if err != nil {
		return err
	}
	var in struct {
		FactorType   string `json:"factor_type"`
		FriendlyName string `json:"friendly_name"`
		Issuer       string `json:"issuer"`
	}
	if err := readAuthJSON(r, &in); err != nil {
		return err
	}
	if err := a.mayEnroll(in.FactorType); err != nil {
		return err
	}
	f, err := a.addFactor(who, in.FriendlyName)
	if err != nil {
		return err
	}
	if site, err := url.Parse(a.cfg.siteURL); in.Issuer == "" && err == nil {
		in.Issuer = site.Host
	}
	uri := totpURI(in.Issuer, who.user.Email, f.secret)
	writeAuthJSON(w, http.StatusOK, map[string]any{
		"id": f.id, "type": "totp", "friendly_name": f.name,
		"totp": map[string]any{"qr_code": qrPicture(uri), "secret": f.secret, "uri": uri},
	})
	return nil
}

func (a *authServer) mayEnroll(kind string) error {
	off := func(code, name string) error {
		return newAuthError(http.StatusUnprocessableEntity, "mfa_"+code+"_enroll_not_enabled", "MFA enroll is disabled for "+name)
	}
	switch {
	case kind == "phone":
		return off("phone", "Phone")
	case kind == "webauthn":
		return off("webauthn", "WebAuthn")
	case kind != "totp":
		return invalidInput("factor_type needs to be totp, phone, or webauthn")
	case a.cfg.totpEnrollOff:
		return off("totp", "TOTP")
	default:
		return nil
	}
}

// addFactor removes what was enrolled and left before it counts.
func (a *authServer) addFactor(who *authCaller, name string) (*factor, error) {
	now := a.cfg.now().UTC()
	userID := who.user.ID
	a.mu.Lock()
	defer a.mu.Unlock()
	a.state.dropFactors(userID, func(f *factor) bool {
		return !f.verified && now.Sub(f.createdAt) > unverifiedFactorLife && !a.state.wasChallenged(f)
	})
	s := a.state.sessions[who.sessionID]
	switch {
	case slices.ContainsFunc(a.state.factors[userID], func(f *factor) bool { return f.name == name }):
		return nil, newAuthError(http.StatusUnprocessableEntity, "mfa_factor_name_conflict",
			fmt.Sprintf("A factor with the friendly name %q for this user already exists", name))
	case len(a.state.factors[userID]) >= maxFactors:
		return nil, newAuthError(http.StatusUnprocessableEntity, "too_many_enrolled_mfa_factors",
			"Maximum number of verified factors reached, unenroll to continue")
	case a.state.hasSecondFactor(userID) && (s == nil || !s.aal2()):
		return nil, newAuthError(http.StatusForbidden, "insufficient_aal", "AAL2 required to enroll a new factor")
	}
	f := &factor{id: uuid.NewString(), userID: userID, name: name, secret: newTOTPSecret(), createdAt: now, updatedAt: now}
	a.state.factors[userID] = append(a.state.factors[userID], f)
	return f, nil
}

// unenrollFactor takes a factor away. Sessions that used it are aal1 from then
// on, which their access tokens do not know.
func (a *authServer) unenrollFactor(w http.ResponseWriter, r *http.Request) error {
	who, id, err := a.factorOfPath(r)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	f, s := a.state.factor(who.user.ID, id), a.state.sessions[who.sessionID]
	if f == nil {
		return factorNotFound()
	}
	if f.verified && (s == nil || !s.aal2()) {
		return newAuthError(http.StatusUnprocessableEntity, "insufficient_aal", "AAL2 required to unenroll verified factor")
	}
	a.state.dropFactors(f.userID, func(other *factor) bool { return other == f })
	for _, s := range a.state.sessions {
		if s.factorID == f.id {
			s.factorID = ""
			s.amr = slices.DeleteFunc(s.amr, func(m amrEntry) bool { return m.Method == methodTOTP })
		}
	}
	writeAuthJSON(w, http.StatusOK, map[string]any{"id": f.id})
	return nil
}

// adminFactors lists a person's factors for the service key.
func (a *authServer) adminFactors(w http.ResponseWriter, r *http.Request) error {
	p, err := a.personOfPath(r)
	if err != nil {
		return err
	}
	views := a.withFactors(p).Factors
	if views == nil {
		views = []factorView{}
	}
	writeAuthJSON(w, http.StatusOK, views)
	return nil
}

// giveFactor makes a verified factor without the calls a page would make.
func (a *authServer) giveFactor(ctx context.Context, email string) (string, error) {
	p, err := a.people.byEmail(ctx, email)
	if err != nil {
		return "", fmt.Errorf("find %s: %w", email, err)
	}
	now := a.cfg.now().UTC()
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.state.factors[p.ID]) >= maxFactors {
		return "", errors.New("give factor: the person has as many as there may be")
	}
	f := &factor{id: uuid.NewString(), userID: p.ID, name: "authenticator app", secret: newTOTPSecret(), verified: true,
		createdAt: now, updatedAt: now}
	for n := 2; slices.ContainsFunc(a.state.factors[p.ID], func(other *factor) bool { return other.name == f.name }); n++ {
		f.name = fmt.Sprintf("authenticator app %d", n)
	}
	a.state.factors[p.ID] = append(a.state.factors[p.ID], f)
	a.state.dropSessions(p.ID, func(s *session) bool { return !s.aal2() })
	return f.secret, nil
}

// totpURI is what authenticator apps read from a QR code.
func totpURI(issuer, account, secret string) string {
	escape := func(s string) string { return strings.ReplaceAll(url.QueryEscape(s), "+", "%20") }
	u := url.URL{Scheme: "otpauth", Host: "totp", Path: "/" + issuer + ":" + account}
	return u.String() + "?algorithm=SHA1&digits=6&issuer=" + escape(issuer) + "&period=30&secret=" + secret
}
