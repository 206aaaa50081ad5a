package api

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
)

// grantsPage is how many grants a page of bridge.Service.GrantsOf has.
const grantsPage = 50

// listGrants is GET …/grants: who may reach the surface with what, newest
// first. People are opaque subjects: their emails are the app's.
func (a *api) listGrants(c echo.Context) error {
	surface, err := a.surface(c)
	if err != nil {
		return err
	}
	var after id.Grant
	if text := c.QueryParam("after"); text != "" {
		if after, err = id.Parse[id.GrantKind](text); err != nil {
			return fault.New(fault.Invalid, "after", "after is the id of a grant (grt_…), as the page before gave it. Start again without it.")
		}
	}
	grants, err := a.Bridge.GrantsOf(c.Request().Context(), principal(c), surface.ID, after)
	if err != nil {
		return err
	}
	answer := grantsAnswer{Grants: []grantJSON{}}
	for _, g := range grants {
		answer.Grants = append(answer.Grants, grantOf(g, a.Now()))
	}
	if len(grants) >= grantsPage {
		answer.NextAfter = grants[len(grants)-1].ID.String()
	}
	return writeJSON(c, http.StatusOK, answer)
}

// revokeGrant is DELETE …/grants/:grant: the client loses its access at once.
func (a *api) revokeGrant(c echo.Context) error {
	if err := readNothing(c); err != nil {
		return err
	}
	surface, err := a.surface(c)
	if err != nil {
		return err
	}
	grant, err := id.Parse[id.GrantKind](c.Param("grant"))
	if err != nil {
		return fault.New(fault.NotFound, "unknown_grant", "Nothing was revoked: this surface has no such connection.")
	}
	if err := a.Bridge.RevokeByBuilder(c.Request().Context(), principal(c), surface.ID, grant); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, revokedGrantAnswer{Revoked: grant})
}

// What goes over the wire of grants.

type grantsAnswer struct {
	Grants    []grantJSON `json:"grants"`
	NextAfter string      `json:"next_after,omitempty"`
}

type grantJSON struct {
	ID         id.Grant   `json:"id"`
	State      string     `json:"state"` // live, expired or revoked
	Subject    string     `json:"subject"`
	Personal   bool       `json:"personal"`              // a token that the person made
	ClientID   string     `json:"client_id,omitempty"`   // none for a personal token
	ClientName string     `json:"client_name,omitempty"` // unverified
	Scopes     []string   `json:"scopes"`
	ReadOnly   bool       `json:"read_only"`
	CreatedAt  time.Time  `json:"created_at"`
	ApprovedAt time.Time  `json:"approved_at"`
	ExpiresAt  time.Time  `json:"expires_at"`
	LastUsedAt *time.Time `json:"last_used_at,omitempty"`
	RevokedAt  *time.Time `json:"revoked_at,omitempty"`
	RevokedWhy string     `json:"revoked_why,omitempty"`
}

func grantOf(g bridge.AccessGrant, now time.Time) grantJSON {
	out := grantJSON{
		ID: g.ID, State: "live", Subject: g.Subject, Personal: g.Personal, ClientID: g.Client, ClientName: g.ClientName, Scopes: list(g.Scopes),
		ReadOnly: g.ReadOnly, CreatedAt: g.CreatedAt, ApprovedAt: g.ApprovedAt, ExpiresAt: g.ExpiresAt, LastUsedAt: g.LastUsedAt,
		RevokedAt: g.RevokedAt, RevokedWhy: g.RevokedWhy,
	}
	if g.Personal {
		out.ClientID = "" // the grant's own id
	}
	switch {
	case g.RevokedAt != nil:
		out.State = "revoked"
	case !now.Before(g.ExpiresAt):
		out.State = "expired"
	}
	return out
}

type revokedGrantAnswer struct {
	Revoked id.Grant `json:"revoked"`
}
