package standin

import (
	"errors"
	"net/http"

	"github.com/google/uuid"
)

// adminUser shows one person to whoever holds a secret key.
func (a *authServer) adminUser(w http.ResponseWriter, r *http.Request) error {
	p, err := a.personOfPath(r)
	if err != nil {
		return err
	}
	writeAuthJSON(w, http.StatusOK, a.withFactors(p))
	return nil
}

func (a *authServer) personOfPath(r *http.Request) (*person, error) {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return nil, newAuthError(http.StatusNotFound, "validation_failed", "user_id must be an UUID")
	}
	p, err := a.people.byID(r.Context(), id.String())
	if errors.Is(err, errNoPerson) {
		return nil, newAuthError(http.StatusNotFound, "user_not_found", "User not found")
	}
	return p, err
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
	}{a.withFactors(p), link, code, hash, in.Type, to})
	return nil
}
