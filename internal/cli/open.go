package cli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"
)

func openCommand(s *session) *cobra.Command {
	var only bool
	c := &cobra.Command{
		Use:   "open [surface]",
		Short: "Open the project's page in the dashboard, or a surface's own page",
		Long: `Open the project's page in the dashboard; with a surface, the page that its users
see at its URL. The address is always printed.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return s.open(cmd.Context(), oneSurface(args), only)
		},
	}
	c.Flags().BoolVar(&only, "print", false, "print the address only")
	return c
}

func (s *session) open(ctx context.Context, surface string, only bool) error {
	w, err := s.linked()
	if err != nil {
		return err
	}
	page := w.client.server() + "/app/projects/" + url.PathEscape(w.link.Project)
	if surface != "" {
		if page, err = w.surfacePage(ctx, surface); err != nil {
			return err
		}
	}
	s.printer.data = map[string]any{"url": page}
	s.printer.done("open", "%s", page)
	if only || s.printer.json {
		return nil
	}
	if err := s.env.Browse(ctx, page); err != nil {
		s.printer.step(step{ID: "browser", Status: "warn", Message: "no browser could be opened: open the address yourself"})
	}
	return nil
}

func (w *workplace) surfacePage(ctx context.Context, slug string) (string, error) {
	list, err := w.surfaces(ctx)
	if err != nil {
		return "", err
	}
	for _, have := range list.Surfaces {
		if have.Slug != slug {
			continue
		}
		if len(have.URLs) == 0 || !isPage(have.URLs[0]) {
			return "", fmt.Errorf("the surface %s has no URL yet: chumbo push %s", slug, slug)
		}
		return have.URLs[0], nil
	}
	return "", &problem{Status: http.StatusNotFound, Detail: "There is no surface of that name in this project: chumbo status lists them."}
}

// isPage reports whether an address that a server named is one a browser may
// be sent to.
func isPage(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Host != "" && u.User == nil && (u.Scheme == "https" || u.Scheme == "http") && plain(address) == address
}

// browse opens an address with the system's own program, without a shell.
func browse(ctx context.Context, address string) error {
	if !isPage(address) {
		return errors.New("not a web page")
	}
	program, args := "xdg-open", []string{address}
	switch runtime.GOOS {
	case "darwin":
		program = "open"
	case "windows":
		program, args = "rundll32", []string{"url.dll,FileProtocolHandler", address}
	}
	// It outlives this command.
	if err := exec.CommandContext(context.WithoutCancel(ctx), program, args...).Start(); err != nil {
		return fmt.Errorf("start %s: %w", program, err)
	}
	return nil
}
