package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// me is GET /me: who the token speaks for.
func (a *api) me(c echo.Context) error {
	p := principal(c)
	return writeJSON(c, http.StatusOK, meJSON{
		Organization: organizationOf(p.Organization), Builder: builderOf(p.Builder), Role: p.Role, Token: p.Token, Scope: p.Scope,
	})
}

// listTokens is GET /tokens.
func (a *api) listTokens(c echo.Context) error {
	have, err := a.Tenants.Tokens(c.Request().Context(), principal(c))
	if err != nil {
		return err
	}
	answer := tokensAnswer{Tokens: []tokenJSON{}}
	for _, t := range have {
		answer.Tokens = append(answer.Tokens, tokenOf(t))
	}
	return writeJSON(c, http.StatusOK, answer)
}

// createToken is POST /tokens. The token is in this answer and nowhere else.
func (a *api) createToken(c echo.Context) error {
	var in struct {
		Name      string        `json:"name"`
		Scope     tenants.Scope `json:"scope"`
		ExpiresAt string        `json:"expires_at"`
	}
	if err := readJSON(c, maxBody, &in); err != nil {
		return err
	}
	until, err := readExpiry(in.ExpiresAt, "token")
	if err != nil {
		return err
	}
	n := tenants.NewAPIToken{Name: in.Name, Scope: in.Scope, Expires: until}
	made, token, err := a.Tenants.CreateToken(c.Request().Context(), principal(c), n)
	if err != nil {
		return err
	}
	answer := createdTokenAnswer{Token: token.Reveal(), ID: made, Name: n.Name, Scope: n.Scope}
	if !n.Expires.IsZero() {
		answer.ExpiresAt = &n.Expires
	}
	return writeJSON(c, http.StatusCreated, answer)
}

// revokeToken is DELETE /tokens/:token, by its id. A token may end itself.
func (a *api) revokeToken(c echo.Context) error {
	token, err := id.Parse[id.TokenKind](c.Param("token"))
	if err != nil {
		return fault.New(fault.NotFound, "token_unknown", "There is no such token, or it is revoked already.")
	}
	if err := readNothing(c); err != nil {
		return err
	}
	if err := a.Tenants.RevokeToken(c.Request().Context(), principal(c), token); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, revokedAnswer{Revoked: token})
}
