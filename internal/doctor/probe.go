package doctor

import (
	"context"
	"errors"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Supabase is what a probe asks of a project; *supabase.Client is one.
type Supabase interface {
	AuthMetadata(ctx context.Context, origin string) (supabase.AuthMetadata, error)
	KeySet(ctx context.Context, lane string, jwksURI string) ([]byte, error)
	DataAPIReachable(ctx context.Context, p supabase.Project) error
	Consent(ctx context.Context, origin, clientID string) (supabase.Consent, error)
	PageStatus(ctx context.Context, address string) (int, error)
}

// Probe runs the checks of a registration in order and tells progress (may be
// nil) each finding as it comes. A project that is not right is a finding, not
// an error.
//
// Errors are a *fault.Error for input that cannot be probed at all (a secret
// key), or the context's.
func Probe(ctx context.Context, sb Supabase, in ProbeInput, progress func(Finding)) (ProbeResult, error) {
	if err := tenants.RefuseSecret("url", in.TypedURL); err != nil {
		return ProbeResult{}, err
	}
	if err := tenants.RefuseSecret("publishable_key", in.PublishableKey); err != nil {
		return ProbeResult{}, err
	}
	p := &probe{sb: sb, in: in}
	for _, check := range Registration() {
		f := p.run(ctx, check.ID).plain()
		if err := ctx.Err(); err != nil {
			return ProbeResult{}, err
		}
		f.Check, f.Title = check.ID, check.Title
		p.result.Findings = append(p.result.Findings, f)
		if progress != nil {
			progress(f)
		}
	}
	return p.result, nil
}

// probe is one run. Each check leaves what later ones need.
type probe struct {
	sb     Supabase
	in     ProbeInput
	result ProbeResult

	typed  string // origin of the typed URL
	meta   supabase.AuthMetadata
	origin string // api_origin; empty until it is known
}

func (p *probe) run(ctx context.Context, check string) Finding {
	switch check {
	case CheckReachable:
		return p.reachable(ctx)
	case CheckIssuer:
		return p.issuer()
	case CheckOrigin:
		return p.apiOrigin(ctx)
	case CheckKeys:
		return p.keys(ctx)
	case CheckDataAPI:
		return p.dataAPI(ctx)
	case CheckOAuth:
		return p.oauthServer()
	case CheckRegistration:
		return p.registration()
	default:
		return p.consentPage(ctx)
	}
}

func skipped() Finding {
	return Finding{Status: Skip, Summary: "Not looked at: fix what failed above first."}
}

// reachable reads the project's own description of its Auth at the typed URL.
func (p *probe) reachable(ctx context.Context) Finding {
	typed, bad := typedOrigin(p.in.TypedURL)
	if bad != nil {
		return *bad
	}
	meta, err := p.sb.AuthMetadata(ctx, typed)
	var why *supabase.AuthError
	if errors.As(err, &why) && why.Reason == supabase.AuthNoIssuer {
		p.typed = typed // it answers; the next check says what is wrong
		return Finding{Status: Pass, Summary: "Supabase Auth answers.", Facts: map[string]string{"url": typed}}
	}
	if err != nil {
		return authFailure(typed, err)
	}
	p.typed, p.meta = typed, meta
	return Finding{Status: Pass, Summary: "Supabase Auth answers.", Facts: map[string]string{"url": typed, "metadata": meta.Source}}
}

// authFailure grades why no Auth document could be read.
func authFailure(origin string, err error) Finding {
	facts := map[string]string{"url": origin}
	if refused := new(fault.Error); errors.As(err, &refused) && refused.Kind == fault.Invalid {
		return Finding{Status: Fail, Summary: "This address may not be reached from here.", Detail: refused.Message, Facts: facts,
			Fix: "Use the project's public https address. On a server of your own, the operator can set CHUMBO_ALLOW_PRIVATE_HOSTS=true for projects on private addresses."}
	}
	var why *supabase.AuthError
	if !errors.As(err, &why) {
		return Finding{Status: Fail, Summary: "The project does not answer.", Facts: facts,
			Fix: "Check the address, and that the project is not paused (Supabase's dashboard shows it), then try again."}
	}
	switch why.Reason {
	case supabase.AuthGatewayKey:
		return Finding{Status: Fail, Summary: "The gateway demands an API key before Supabase Auth is asked.", Detail: why.Message, Facts: facts,
			Fix: "This is the gateway, not a switched-off OAuth server. In the gateway's configuration (kong.yml) leave these routes open, without key-auth: " + openRoutes() + "."}
	case supabase.AuthNotSupabase:
		return Finding{Status: Fail, Summary: "Something answers there, but not Supabase.", Detail: why.Message, Facts: facts,
			Fix: "Use the project's API URL: Supabase's dashboard shows it under Project Settings, Data API; a local project prints it with supabase status."}
	}
	return Finding{Status: Fail, Summary: "Nothing usable answers at " + origin + ".", Facts: facts,
		Fix: "Check the address, and that the project is not paused (Supabase's dashboard shows it), then try again."}
}
