package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/BurntSushi/toml"

	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// checkClients are the OAuth clients that doctor registered at projects, by
// issuer: ids, no secrets. They are kept on this machine, beside the accounts.
type checkClients struct {
	Projects map[string]doctor.SignInClients `toml:"project"`
}

// ownProject is the project of the linked folder; nil without one, or where the
// server does not tell of it.
func (s *session) ownProject(ctx context.Context) *projectAnswer {
	w, err := s.linked()
	if err != nil {
		return nil
	}
	var answer projectAnswer
	if err := w.client.do(ctx, http.MethodGet, w.project(), nil, &answer); err != nil {
		return nil
	}
	return &answer
}

// signIn looks at the ways to sign in at the project behind a surface. Only the
// linked folder's own project is asked: it takes clients registered there. The
// finding is nil where the surface has no sign-in.
func (s *session) signIn(ctx context.Context, out *egress.Client, own *projectAnswer, address string, findings []doctor.Finding) (*doctor.Finding, error) {
	issuer := ""
	for _, f := range findings {
		if f.Check == doctor.CheckSurfaceIssuer && f.Status == doctor.Pass {
			issuer = f.Facts["issuer"]
		}
	}
	if issuer == "" {
		return nil, nil
	}
	bridge := issuer == address
	if own == nil || !bridge && issuer != own.Project.Issuer { // another project, or an issuer of the builder's choice
		return &doctor.Finding{Check: doctor.CheckSurfaceSignIn, Title: "Ways to sign in", Status: doctor.Skip,
			Summary: "Not looked at: people sign in at " + issuer + ", and this folder is not linked to it. Looking takes clients registered there."}, nil
	}
	if s.accountsPath() == "" {
		return &doctor.Finding{Check: doctor.CheckSurfaceSignIn, Title: "Ways to sign in", Status: doctor.Skip,
			Summary: "Not looked at: without a home directory, each run would register other clients at the project."}, nil
	}
	kept, err := s.readCheckClients()
	if err != nil {
		return nil, err
	}
	clients := kept.Projects[own.Project.Issuer]
	clients.Public = first(clients.Public, probeClient(own.Findings))
	f, used, err := doctor.SignIn(ctx, supabase.New(out), doctor.SignInInput{Origin: own.Project.APIOrigin, Resource: address, Bridge: bridge, Clients: clients})
	if used != kept.Projects[own.Project.Issuer] {
		kept.Projects[own.Project.Issuer] = used
		err = errors.Join(err, s.writeCheckClients(kept))
	}
	return &f, err
}

// probeClient is the client that the server registered to look at the consent
// page: a public one, and good for this too.
func probeClient(findings []finding) string {
	for _, f := range findings {
		if f.Check == doctor.CheckConsent {
			return f.Facts["client_id"]
		}
	}
	return ""
}

func (s *session) checkClientsPath() string {
	return filepath.Join(filepath.Dir(s.accountsPath()), "check-clients.toml")
}

func (s *session) readCheckClients() (checkClients, error) {
	kept := checkClients{Projects: map[string]doctor.SignInClients{}}
	_, err := toml.DecodeFile(s.checkClientsPath(), &kept)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return kept, fmt.Errorf("read %s: %w", s.checkClientsPath(), err)
	}
	return kept, nil
}

func (s *session) writeCheckClients(kept checkClients) error {
	path := s.checkClientsPath()
	err := os.MkdirAll(filepath.Dir(path), 0o700)
	if err != nil {
		return fmt.Errorf("make %s: %w", filepath.Dir(path), err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".check-*") // 0600
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.WriteString("# Written by chumbo doctor: the OAuth clients it registered at your projects to look at sign-in. Ids, no secrets.\n")
	if err == nil {
		err = toml.NewEncoder(f).Encode(kept)
	}
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
