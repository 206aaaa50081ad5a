package cli

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"regexp"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// proof is how far the proof of ownership is.
type proof struct {
	Verified  bool     `json:"verified"`
	Method    string   `json:"method,omitempty"`
	Migration string   `json:"migration,omitempty"` // the file that holds the function
	Written   bool     `json:"written"`             // by this run
	steps     []string // commands that lead on
}

var markerToken = regexp.MustCompile(`^[0-9a-f]{64}$`)

// prove brings the proof of ownership one step further: nothing left to do, a
// check by the server, or the migration that makes one possible.
func (s *session) prove(ctx context.Context, w *workplace, f linkFlags, again bool) (proof, error) {
	var known ownershipAnswer
	if err := w.client.do(ctx, http.MethodGet, w.project()+"/ownership", nil, &known); err != nil {
		return proof{}, err
	}
	if known.Verified {
		return s.proven(known.Method), nil
	}
	if !markerToken.MatchString(known.Token) {
		return proof{}, fmt.Errorf("%s does not say what proves this project", w.client.server())
	}
	p := proof{}
	name, err := w.repo.migrationWith(known.Token)
	if err != nil {
		return p, err
	}
	p.Migration = name
	reason := ""
	if again || f.verify || name != "" {
		var answer projectAnswer
		err := w.client.do(ctx, http.MethodPost, w.project()+"/ownership/check", nil, &answer)
		if err == nil && answer.Project.Verified {
			return s.proven(string(tenants.ProofFunction)), nil
		}
		if err != nil && !unproven(err) {
			return p, err
		}
		if err != nil {
			reason = err.Error()
		}
	}
	if name != "" {
		return s.applyProof(p, f, reason), nil
	}
	return s.writeProof(ctx, w, f, known.Token)
}

// unproven tells a project that answers otherwise, or not at all, from a
// request that went wrong.
func unproven(err error) bool {
	return isStatus(err, http.StatusUnprocessableEntity) || isStatus(err, http.StatusServiceUnavailable) || isStatus(err, http.StatusGatewayTimeout)
}

func (s *session) proven(method string) proof {
	how := map[string]string{
		string(tenants.ProofFunction):   "by chumbo_ownership() in its database",
		string(tenants.ProofSecretKey):  "with a secret key",
		string(tenants.ProofManagement): "with Supabase's Management API",
	}[method]
	s.printer.done("ownership", "the project is proven to be yours %s", how)
	return proof{Verified: true, Method: method}
}

// applyProof says how the written migration gets into the database.
func (s *session) applyProof(p proof, f linkFlags, reason string) proof {
	apply := applyCommand(f.projectURL)
	p.steps = []string{apply, "chumbo link"}
	s.printer.step(step{
		ID: "ownership", Status: "warn",
		Message: strings.TrimSpace("not proven to be yours yet: " + p.Migration + " is not applied. " + reason),
		Fix:     apply + ", then chumbo link",
	})
	return p
}

// writeProof writes the migration, once somebody agreed.
func (s *session) writeProof(ctx context.Context, w *workplace, f linkFlags, token string) (proof, error) {
	sql := tenants.OwnershipSQL(token) // ours, not what a server sends: it will run in the builder's database
	name := s.migrationName("ownership")
	if s.asks() && !f.yes {
		s.showPlan(name, sql)
	}
	ok, err := s.agree(ctx, f.yes, "Write it?")
	if err != nil {
		return proof{}, err
	}
	if !ok {
		s.printer.step(step{ID: "ownership", Status: "warn", Message: "not proven to be yours: would write " + name, Fix: "chumbo link --yes"})
		return proof{steps: []string{"chumbo link --yes"}}, nil
	}
	if err := w.repo.write(name, sql); err != nil {
		return proof{}, err
	}
	s.printer.done("ownership_migration", "wrote %s", name)
	return s.applyProof(proof{Migration: name, Written: true}, f, ""), nil
}

// showPlan shows a file before it is written.
func (s *session) showPlan(name, text string) {
	s.printer.line("This will be written to %s:", name)
	for _, line := range strings.Split(strings.TrimRight(text, "\n"), "\n") {
		s.printer.line("    + %s", line)
	}
}

// migrationName is what the Supabase CLI would call a new migration.
func (s *session) migrationName(what string) string {
	return path.Join(migrationsDir, s.env.Now().UTC().Format("20060102150405")+"_chumbo_"+what+".sql")
}

// migrationWith names the newest migration that holds a text; empty for none.
func (r *repository) migrationWith(text string) (string, error) {
	names, err := r.list(migrationsDir, ".sql")
	if err != nil {
		return "", err
	}
	found := ""
	for _, name := range names {
		if !strings.Contains(path.Base(name), "_chumbo_") {
			continue
		}
		content, err := r.read(name, maxText)
		if err != nil {
			return "", err
		}
		if strings.Contains(content, text) {
			found = name
		}
	}
	return found, nil
}

// applyCommand is how the Supabase CLI brings migrations to the project.
func applyCommand(projectURL string) string {
	if strings.HasPrefix(projectURL, "https://") {
		return "supabase db push"
	}
	return "supabase migration up"
}
