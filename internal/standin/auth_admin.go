package standin

import (
	"errors"
	"net/http"

	"github.com/google/uuid"
)

// adminUser shows one person to whoever holds a secret key.
func (a *authServer) adminUser(w http.ResponseWriter, r *http.Request) error {
	id, err := uuid.Parse(r.PathValue("id"))
	if err != nil {
		return newAuthError(http.StatusNotFound, "validation_failed", "user_id must be an UUID")
	}
	p, err := a.people.byID(r.Context(), id.String())
	if errors.Is(err, errNoPerson) {
		return newAuthError(http.StatusNotFound, "user_not_found", "User not found")
	}
	if err != nil {
		return err
	}
	writeAuthJSON(w, http.StatusOK, p)
	return nil
}
