package api

import (
	"net/http"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
)

// listConnections is GET …/connections: attempts to connect, newest first,
// with what broke and what to do.
func (a *api) listConnections(c echo.Context) error {
	surface, err := a.surface(c)
	if err != nil {
		return err
	}
	filter, err := connectionFilter(c)
	if err != nil {
		return err
	}
	page, err := a.Connections.Connections(c.Request().Context(), principal(c).Organization.ID, surface.ID, filter, c.QueryParam("cursor"), 0, a.Now())
	if err != nil {
		return err
	}
	answer := connectionsAnswer{Connections: []connectionJSON{}, NextCursor: page.Next}
	for _, attempt := range page.Attempts {
		answer.Connections = append(answer.Connections, connectionOf(attempt))
	}
	return writeJSON(c, http.StatusOK, answer)
}

func connectionFilter(c echo.Context) (events.ConnectionFilter, error) {
	state, err := events.ParseAttemptState(c.QueryParam("state"))
	if err != nil {
		return events.ConnectionFilter{}, err
	}
	filter := events.ConnectionFilter{State: state, Client: strings.TrimSpace(c.QueryParam("client"))}
	if since := c.QueryParam("since"); since != "" {
		at, err := time.Parse(time.RFC3339, since)
		if err != nil || at.Year() < 2000 || at.Year() > 9999 { // Postgres knows no others
			return events.ConnectionFilter{}, fault.New(fault.Invalid, "since", "Write since as a time with zone, such as 2027-01-31T12:00:00Z, or leave it out.")
		}
		filter.Since = at
	}
	return filter, nil
}

// What goes over the wire of attempts to connect.

type connectionsAnswer struct {
	Connections []connectionJSON `json:"connections"`
	NextCursor  string           `json:"next_cursor,omitempty"`
}

type connectionJSON struct {
	ID            string              `json:"id"` // of its first step
	State         events.AttemptState `json:"state"`
	StartedAt     time.Time           `json:"started_at"`
	LastAt        time.Time           `json:"last_at"`
	ClientID      string              `json:"client_id,omitempty"`
	ClientName    string              `json:"client_name,omitempty"` // unverified
	ClientVersion string              `json:"client_version,omitempty"`
	Agent         string              `json:"agent,omitempty"` // User-Agent
	Grant         string              `json:"grant,omitempty"`
	Broke         *stepJSON           `json:"broke,omitempty"`
	Steps         []stepJSON          `json:"steps"`
}

type stepJSON struct {
	At        time.Time       `json:"at"`
	Step      events.StepKind `json:"step"`
	Failed    bool            `json:"failed"`
	Code      string          `json:"code,omitempty"`
	Why       string          `json:"why,omitempty"`
	Do        string          `json:"do,omitempty"`
	RequestID string          `json:"request_id,omitempty"`
}

func connectionOf(a events.Attempt) connectionJSON {
	out := connectionJSON{
		ID: a.ID.String(), State: a.State, StartedAt: a.Started, LastAt: a.Ended, ClientID: a.Client, ClientName: a.ClientName,
		ClientVersion: a.ClientVersion, Agent: a.Agent, Steps: []stepJSON{},
	}
	if !a.Grant.IsZero() {
		out.Grant = a.Grant.String()
	}
	if a.Broke != nil {
		broke := stepOf(*a.Broke)
		out.Broke = &broke
	}
	for _, s := range a.Steps {
		out.Steps = append(out.Steps, stepOf(s))
	}
	return out
}

func stepOf(s events.StepView) stepJSON {
	return stepJSON{At: s.At, Step: s.Kind, Failed: s.Failed, Code: s.Code, Why: s.Why, Do: s.Do, RequestID: s.RequestID}
}
