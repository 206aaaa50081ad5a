package bridge

import (
	"net/http"
)

// serveRevocation is the revocation endpoint (RFC 7009). A token that stands
// for nothing, or is not the client's, is no error.
func (s *Service) serveRevocation(x *exchange) {
	form, err := x.form()
	if err != nil {
		x.oauthError(err)
		return
	}
	client, err := s.provenClient(x, form, revocationURL(x.ep))
	if err != nil {
		x.oauthError(err)
		return
	}
	token := form.Get("token")
	if token == "" {
		x.oauthError(invalidRequest("token is missing."))
		return
	}
	if err := s.revokeToken(x.r.Context(), x.ep, client, token); err != nil {
		x.oauthError(orAway(err))
		return
	}
	x.header().Set("Cache-Control", "no-store")
	x.json(http.StatusOK, struct{}{})
}
