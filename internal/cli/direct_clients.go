package cli

import (
	"context"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

func clientsCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "clients",
		Short: "List OAuth clients of the project that came to its surfaces",
		Long: `List OAuth clients of the project itself whose tokens came to surfaces with
authorization: direct, last used first. With isolation: client a client may call
only the surface it was first seen at. What clients say of their names is not
verified.`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return s.listClients(cmd.Context()) },
	}
}

// directClient is one as the control API lists it.
type directClient struct {
	ClientID    string    `json:"client_id"`
	ClientName  string    `json:"client_name,omitempty"`
	Surface     string    `json:"surface"`
	FirstSeenAt time.Time `json:"first_seen_at"`
	LastUsedAt  time.Time `json:"last_used_at"`
}

func (s *session) listClients(ctx context.Context) error {
	w, err := s.linked()
	if err != nil {
		return err
	}
	var answer struct {
		Clients []directClient `json:"clients"`
	}
	if err := w.client.do(ctx, http.MethodGet, w.project()+"/clients", nil, &answer); err != nil {
		return err
	}
	s.printer.data = map[string]any{"clients": listed(answer.Clients)}
	for _, one := range answer.Clients {
		s.printer.done(one.ClientID, "%s  %s; first at %s, %s; last used %s",
			one.ClientID, first(one.ClientName, "without a name"), one.Surface, minute(one.FirstSeenAt), minute(one.LastUsedAt))
	}
	if len(answer.Clients) == 0 {
		s.printer.done("clients", "no client of the project came to its surfaces yet")
	}
	return nil
}
