package cli

import (
	"context"
	"net/http"
	"time"

	"github.com/spf13/cobra"
)

func introspectionCommand(s *session) *cobra.Command {
	c := &cobra.Command{
		Use:   "introspection",
		Short: "Keep the secret that a surface checks opaque tokens of another issuer with",
		Long: `Keep the secret of the client that a surface introspects tokens as: the client
that access.introspection in the surface file names, at the issuer that it names.

set reads the secret from the terminal, without showing it, or from the input:
  chumbo introspection set --surface main < secret.txt
clear forgets it: opaque tokens are not admitted any more. Without either, says
whether one is kept.`,
		Args: cobra.NoArgs,
	}
	surface := c.PersistentFlags().String("surface", "", "the surface; may be left out where the project has only one")
	c.RunE = func(cmd *cobra.Command, _ []string) error { return s.showIntrospection(cmd.Context(), *surface) }
	set := &cobra.Command{
		Use: "set", Short: "Keep the client's secret, sealed", Args: asUsage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return s.setIntrospection(cmd.Context(), *surface) },
	}
	forget := &cobra.Command{
		Use: "clear", Short: "Forget the client's secret", Args: asUsage(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error { return s.clearIntrospection(cmd.Context(), *surface) },
	}
	c.AddCommand(set, forget)
	return c
}

// introspectionAnswer is what the control API says of a secret: never which.
type introspectionAnswer struct {
	Set       bool       `json:"set"`
	UpdatedAt *time.Time `json:"updated_at,omitempty"`
}

func (s *session) showIntrospection(ctx context.Context, slug string) error {
	w, have, err := s.linkedSurface(ctx, slug)
	if err != nil {
		return err
	}
	var answer introspectionAnswer
	if err := w.client.do(ctx, http.MethodGet, w.surface(have.Slug)+"/introspection", nil, &answer); err != nil {
		return err
	}
	s.printer.data = map[string]any{"surface": have.Slug, "set": answer.Set, "updated_at": answer.UpdatedAt}
	if !answer.Set {
		s.printer.done(have.Slug, "surface %s keeps no introspection secret; chumbo introspection set keeps one", have.Slug)
		return nil
	}
	s.printer.done(have.Slug, "surface %s keeps an introspection secret%s", have.Slug, since(answer.UpdatedAt))
	return nil
}

func since(at *time.Time) string {
	if at == nil {
		return ""
	}
	return " since " + at.UTC().Format("2006-01-02 15:04 UTC")
}

func (s *session) setIntrospection(ctx context.Context, slug string) error {
	w, have, err := s.linkedSurface(ctx, slug)
	if err != nil {
		return err
	}
	secret, err := s.readSecret(ctx, "Secret of the client that surface "+have.Slug+" introspects tokens as: ")
	if err != nil {
		return err
	}
	var answer introspectionAnswer
	body := map[string]string{"secret": secret.Reveal()}
	if err := w.client.do(ctx, http.MethodPut, w.surface(have.Slug)+"/introspection", body, &answer); err != nil {
		return err
	}
	s.printer.data = map[string]any{"surface": have.Slug, "set": answer.Set, "updated_at": answer.UpdatedAt}
	s.printer.done(have.Slug, "surface %s keeps the secret, sealed; it is never shown again", have.Slug)
	if live, err := w.access(ctx, have.Slug, have.LiveRevision); err == nil && live.Issuer.Introspection == nil {
		s.printer.step(step{
			ID: have.Slug + ":introspection", Status: "warn", Message: "what is live of surface " + have.Slug + " introspects no tokens yet",
			Fix: "add access.introspection to " + fileOf(have.Slug).path + ", then chumbo push " + have.Slug,
		})
	}
	return nil
}

// warnOfSecret says so where opaque tokens cannot be checked for want of the
// client's secret. It is advice: when it cannot be told, nothing is said.
func (s *session) warnOfSecret(ctx context.Context, w *workplace, surface string) {
	var answer introspectionAnswer
	if err := w.client.do(ctx, http.MethodGet, w.surface(surface)+"/introspection", nil, &answer); err != nil || answer.Set {
		return
	}
	s.printer.step(step{
		ID: surface + ":introspection", Status: "warn", Message: "no secret is kept to introspect tokens with, so opaque tokens are not admitted",
		Fix: "chumbo introspection set --surface " + surface,
	})
}

func (s *session) clearIntrospection(ctx context.Context, slug string) error {
	w, have, err := s.linkedSurface(ctx, slug)
	if err != nil {
		return err
	}
	if err := w.client.do(ctx, http.MethodDelete, w.surface(have.Slug)+"/introspection", nil, nil); err != nil {
		return err
	}
	s.printer.data = map[string]any{"surface": have.Slug, "set": false}
	s.printer.done(have.Slug, "surface %s forgot the secret: opaque tokens are not admitted any more", have.Slug)
	return nil
}

// linkedSurface is a surface of the linked project.
func (s *session) linkedSurface(ctx context.Context, slug string) (*workplace, surface, error) {
	w, err := s.linked()
	if err != nil {
		return nil, surface{}, err
	}
	have, err := w.theSurface(ctx, slug)
	return w, have, err
}
