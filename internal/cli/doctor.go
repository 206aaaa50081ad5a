package cli

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/egress"
)

func doctorCommand(s *session) *cobra.Command {
	return &cobra.Command{
		Use:   "doctor [surface or URL]",
		Short: "Visit surfaces from this machine as AI apps do, and say where one would stop",
		Long: `Visit a surface at its URL from this machine, as AI apps do, without a token: does
it answer, is sign-in announced, does it call itself by the URL people are given,
can its authorization server be found, do its scopes let people stay signed in,
do real clients get through. Without an argument, every published surface of the
linked project. A URL needs no link.

At the linked project itself, sign-in is begun in each way in which AI apps do,
and left at the consent page. That takes two OAuth clients there, "Chumbo check",
which are registered once and used again.`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error { return s.doctor(cmd.Context(), strings.Join(args, "")) },
	}
}

// visited is what --json says of one surface.
type visited struct {
	URL      string           `json:"url"`
	Grade    doctor.Status    `json:"grade"`
	Findings []doctor.Finding `json:"findings"`
}

func (s *session) doctor(ctx context.Context, what string) error {
	addresses, err := s.toVisit(ctx, what)
	if err != nil {
		return err
	}
	// This machine is the builder's own: a server on it may be visited.
	out := egress.New(egress.Policy{AllowHTTP: true, AllowLoopback: true, AllowPrivate: true, AllowAnyPort: true})
	defer out.CloseIdle()
	own := s.ownProject(ctx)
	results, failed := []visited{}, 0
	for _, address := range addresses {
		s.printer.line("%s", address)
		findings, err := doctor.Surface(ctx, out, address, func(f doctor.Finding) { s.showFindings([]finding{findingOf(f)}) })
		if err != nil {
			return err
		}
		signIn, err := s.signIn(ctx, out, own, address, findings)
		if err != nil {
			return err
		}
		if signIn != nil {
			s.showFindings([]finding{findingOf(*signIn)})
			findings = append(findings, *signIn)
		}
		grade := doctor.Worst(findings)
		if grade == doctor.Fail {
			failed++
		}
		results = append(results, visited{URL: address, Grade: grade, Findings: findings})
	}
	s.printer.data = map[string]any{"surfaces": results}
	if failed > 0 {
		s.printer.line("%s would turn AI apps away. Each failed check says what to do.", counted(failed, "surface"))
		return errShown
	}
	return nil
}

// toVisit is a URL as it was typed, byte for byte, or the URLs of the linked
// project's surfaces.
func (s *session) toVisit(ctx context.Context, what string) ([]string, error) {
	if strings.Contains(what, "://") {
		if !isPage(what) {
			return nil, usage("this is not a surface's URL: write it as https://mcp.example.test/acme/mcp")
		}
		return []string{what}, refuseSecrets(field{"URL", what})
	}
	w, err := s.linked()
	if err != nil {
		return nil, err
	}
	if what != "" {
		address, err := w.surfacePage(ctx, what)
		return []string{address}, err
	}
	list, err := w.surfaces(ctx)
	if err != nil {
		return nil, err
	}
	var addresses []string
	for _, have := range list.Surfaces {
		if have.LiveRevision > 0 && len(have.URLs) > 0 && isPage(have.URLs[0]) {
			addresses = append(addresses, have.URLs[0])
		}
	}
	if len(addresses) == 0 {
		return nil, fmt.Errorf("nothing is published yet: chumbo push")
	}
	return addresses, nil
}

// findingOf is a finding of this machine's own as the server's are shown.
func findingOf(f doctor.Finding) finding {
	return finding{Check: f.Check, Title: f.Title, Status: string(f.Status), Summary: f.Summary, Detail: f.Detail, Fix: f.Fix}
}
