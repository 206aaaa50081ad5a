package api

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"
)

// listClients is GET /projects/:project/clients: OAuth clients of the project
// itself that came to its surfaces, last used first.
func (a *api) listClients(c echo.Context) error {
	project, err := a.project(c)
	if err != nil {
		return err
	}
	clients, err := a.Clients.List(c.Request().Context(), principal(c), project.ID)
	if err != nil {
		return err
	}
	answer := clientsAnswer{Clients: []clientJSON{}}
	for _, one := range clients {
		answer.Clients = append(answer.Clients, clientJSON{
			ClientID: one.ID, ClientName: one.Name, Surface: one.SurfaceSlug, FirstSeenAt: one.FirstSeenAt, LastUsedAt: one.LastUsedAt,
		})
	}
	return writeJSON(c, http.StatusOK, answer)
}

// What goes over the wire of clients.

type clientsAnswer struct {
	Clients []clientJSON `json:"clients"`
}

type clientJSON struct {
	ClientID    string    `json:"client_id"`
	ClientName  string    `json:"client_name,omitempty"` // unverified
	Surface     string    `json:"surface"`               // the first it was seen at
	FirstSeenAt time.Time `json:"first_seen_at"`
	LastUsedAt  time.Time `json:"last_used_at"`
}
