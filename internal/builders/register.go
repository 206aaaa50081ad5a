package builders

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// NewRegistration is what a builder gives to register a project.
type NewRegistration struct {
	URL, PublishableKey, Slug, Name string
	// CheckClient is the OAuth client that an earlier probe of this project
	// registered there (doctor.CheckClientOf its findings); empty for none.
	CheckClient string
}

// ProbeRefused is a probe with a failed check: nothing was kept.
type ProbeRefused struct{ Findings []doctor.Finding }

func (*ProbeRefused) Error() string { return "project refused by its probe" }

// Unwrap is the refusal as a fault.Unprocessable, without the findings.
func (*ProbeRefused) Unwrap() error {
	return fault.New(fault.Unprocessable, "probe_failed", "The project cannot be registered as it is. Nothing was changed. Each failed check says what to do.")
}

// Register probes and registers. A failed check is a *ProbeRefused.
func (s *Service) Register(ctx context.Context, p tenants.Principal, n NewRegistration, progress func(doctor.Finding)) (tenants.Project, []doctor.Finding, error) {
	if err := s.write(ctx, p, "project.create", n.Slug); err != nil {
		return tenants.Project{}, nil, err
	}
	result, err := s.lookAtNew(ctx, n, progress)
	if err != nil {
		return tenants.Project{}, nil, s.Tenants.Refused(ctx, p, "project.create", err, n.Slug)
	}
	project, err := s.Tenants.CreateProject(ctx, p, tenants.NewProject{Slug: n.Slug, Name: n.Name, ProjectFacts: result.Facts})
	return project, result.Findings, err
}

// lookAtNew looks at the names before it looks at the project, which takes
// longer.
func (s *Service) lookAtNew(ctx context.Context, n NewRegistration, progress func(doctor.Finding)) (doctor.ProbeResult, error) {
	if err := refuseSecrets("url", n.URL, "publishable_key", n.PublishableKey, "slug", n.Slug, "name", n.Name); err != nil {
		return doctor.ProbeResult{}, err
	}
	if err := tenants.CheckProjectSlug(n.Slug); err != nil {
		return doctor.ProbeResult{}, err
	}
	return s.accept(ctx, doctor.ProbeInput{TypedURL: n.URL, PublishableKey: n.PublishableKey, CheckClient: n.CheckClient}, progress)
}

// Probe runs the checks and keeps nothing; without a key, those that need none.
func (s *Service) Probe(ctx context.Context, url, key string, progress func(doctor.Finding)) (doctor.ProbeResult, error) {
	return s.probe(ctx, doctor.ProbeInput{TypedURL: url, PublishableKey: key}, progress)
}

// ProbeAgain is Probe for a project that was probed before: the OAuth client
// which that probe registered there is used again. findings are its, as JSON.
func (s *Service) ProbeAgain(ctx context.Context, url, key string, findings json.RawMessage, progress func(doctor.Finding)) (doctor.ProbeResult, error) {
	return s.probe(ctx, doctor.ProbeInput{TypedURL: url, PublishableKey: key, CheckClient: doctor.CheckClientOf(findings)}, progress)
}

// Reprobe looks again and keeps what was learnt. An empty key keeps the old
// one. A project that is at another origin by now is fault.Conflict.
func (s *Service) Reprobe(ctx context.Context, p tenants.Principal, project, key string, progress func(doctor.Finding)) (tenants.Project, []doctor.Finding, error) {
	if err := s.write(ctx, p, "project.update", project); err != nil {
		return tenants.Project{}, nil, err
	}
	before, err := s.Tenants.Project(ctx, p, project)
	if err != nil {
		return tenants.Project{}, nil, err
	}
	if key == "" {
		key = before.PublishableKey
	}
	result, err := s.accept(ctx, doctor.ProbeInput{
		TypedURL: before.TypedURL, PublishableKey: key, CheckClient: doctor.CheckClientOf(before.Findings),
	}, progress)
	if err == nil && result.Facts.APIOrigin != before.APIOrigin {
		err = fault.New(fault.Conflict, "origin_moved", "This project was registered at %s and now says it is at %s. Register the new one under another name.", before.APIOrigin, result.Facts.APIOrigin)
	}
	if err != nil {
		return tenants.Project{}, nil, s.Tenants.Refused(ctx, p, "project.update", err, project)
	}
	after, err := s.Tenants.UpdateProject(ctx, p, project, result.Facts)
	return after, result.Findings, err
}

// accept probes; a failed check is a *ProbeRefused. The facts carry their
// findings.
func (s *Service) accept(ctx context.Context, in doctor.ProbeInput, progress func(doctor.Finding)) (doctor.ProbeResult, error) {
	if in.PublishableKey == "" {
		return doctor.ProbeResult{}, fault.New(fault.Invalid, "publishable_key_missing", "Give the project's publishable key (sb_publishable_…) or its legacy anon key: Supabase's dashboard shows it under Project Settings, API Keys.").
			WithIssues(fault.Issue{Path: "publishable_key", Message: "want the publishable key"})
	}
	result, err := s.probe(ctx, in, progress)
	if err != nil {
		return result, err
	}
	if !result.Accepted() {
		return result, &ProbeRefused{Findings: result.Findings}
	}
	if result.Facts.Findings, err = json.Marshal(result.Findings); err != nil {
		return result, fmt.Errorf("marshal findings: %w", err)
	}
	return result, nil
}

func (s *Service) probe(ctx context.Context, in doctor.ProbeInput, progress func(doctor.Finding)) (doctor.ProbeResult, error) {
	in.AllowSplitIssuer = s.AllowSplitIssuer
	return doctor.Probe(ctx, s.Supabase, in, progress)
}
