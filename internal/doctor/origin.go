package doctor

import (
	"context"
	"fmt"
	"net/url"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/supabase"
)

const authPath = "/auth/v1"

// typedOrigin takes the origin out of what was typed: a project's URL, whole.
func typedOrigin(typed string) (origin string, bad *Finding) {
	typed = strings.TrimSpace(typed)
	u, err := url.Parse(typed)
	if err == nil && u.Scheme == "" {
		u, err = url.Parse("https://" + typed)
		if err == nil && u.Hostname() != "" {
			return "", wrongURL("The project URL lacks https:// in front.", "Write it as https://"+u.Host+".")
		}
	}
	if err != nil || (u.Scheme != "https" && u.Scheme != "http") || u.Hostname() == "" || u.User != nil {
		return "", wrongURL("This is not a project URL.", "Write it as https://<ref>.supabase.co, as Supabase's dashboard shows it under Project Settings, Data API.")
	}
	if ref, found := strings.CutPrefix(u.Path, "/dashboard/project/"); found && strings.HasSuffix(u.Hostname(), "supabase.com") {
		ref, _, _ = strings.Cut(ref, "/")
		return "", wrongURL("This is the address of Supabase's dashboard.", "Use the project's own address: https://"+ref+".supabase.co.")
	}
	origin, err = supabase.APIOrigin(u.Scheme + "://" + u.Host)
	if err != nil {
		return "", wrongURL("This is not a project URL.", "Write it as https://<ref>.supabase.co.")
	}
	if strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.Fragment != "" {
		return "", wrongURL("A project URL has no path.", "Write it as "+origin+".")
	}
	return origin, nil
}

func wrongURL(summary, fix string) *Finding {
	return &Finding{Status: Fail, Summary: summary, Fix: fix}
}

// issuer checks what the project calls itself. Every token names it, and so do
// we to clients: it is taken byte for byte, never tidied.
func (p *probe) issuer() Finding {
	if p.typed == "" {
		return skipped()
	}
	issuer := p.meta.Issuer
	facts := map[string]string{"issuer": issuer, "url": p.typed}
	if _, err := supabase.APIOrigin(issuer); err != nil {
		return Finding{Status: Fail, Summary: "The project names no issuer, or one that is not an absolute URL.", Facts: facts,
			Fix: "Set GOTRUE_JWT_ISSUER=" + p.typed + authPath + " on the Auth service, restart it, and try again."}
	}
	p.result.Facts.Issuer = issuer
	if u, err := url.Parse(issuer); err == nil && u.Path != authPath {
		// The tail /auth/v1 is part of the issuer: clients build every
		// discovery URL from it (RFC 8414 section 3.1).
		return Finding{Status: Warn, Summary: fmt.Sprintf("The issuer is %s, which does not end in %s.", issuer, authPath), Facts: facts,
			Detail: "Clients look for the project's OAuth documents below its issuer and may not find them there.",
			Fix:    "Set GOTRUE_JWT_ISSUER=" + p.typed + authPath + " on the Auth service and restart it. Everybody has to sign in again after that."}
	}
	return Finding{Status: Pass, Summary: issuer, Facts: facts}
}

// apiOrigin decides which origin gets callers' tokens: the issuer's own,
// whatever was typed.
func (p *probe) apiOrigin(ctx context.Context) Finding {
	issuer := p.result.Facts.Issuer
	if issuer == "" {
		return skipped()
	}
	derived, err := supabase.APIOrigin(issuer)
	if err != nil {
		return skipped()
	}
	facts := map[string]string{"issuer": issuer, "url": p.typed, "api_origin": derived}
	if derived == p.typed {
		p.accept(derived)
		return Finding{Status: Pass, Summary: derived, Facts: facts}
	}
	if _, hosted := supabase.Hosted(issuer); hosted {
		return p.hosted(ctx, derived, facts)
	}
	if p.in.AllowSplitIssuer {
		p.accept(p.typed)
		p.result.SplitIssuer = true
		facts["api_origin"] = p.typed
		return Finding{Status: Warn, Facts: facts,
			Summary: fmt.Sprintf("Tokens are sent to %s, but are issued in the name of %s.", p.typed, derived),
			Detail:  "CHUMBO_ALLOW_SPLIT_ISSUER allows this. Such a project needs the ownership proof before anything of it is served.",
			Fix:     "Set GOTRUE_JWT_ISSUER=" + p.typed + authPath + " on the Auth service to bring both together."}
	}
	return Finding{Status: Fail, Facts: facts,
		Summary: fmt.Sprintf("The URL is %s, but the project there says that its issuer is %s.", p.typed, issuer),
		Detail:  "A user's token goes only to the origin that issued it.",
		Fix: fmt.Sprintf("If the project is reached at %s too, register that URL. Otherwise set GOTRUE_JWT_ISSUER=%s on the Auth service and restart it.",
			derived, p.typed+authPath)}
}

// hosted follows a vanity domain to the project behind it. What counts is what
// the project says under its own issuer.
func (p *probe) hosted(ctx context.Context, derived string, facts map[string]string) Finding {
	meta, err := p.sb.AuthMetadata(ctx, derived)
	if err != nil {
		f := authFailure(derived, err)
		f.Detail = strings.TrimSpace(fmt.Sprintf("%s names %s as its issuer. %s", p.typed, p.result.Facts.Issuer, f.Detail))
		return f
	}
	if meta.Issuer != p.result.Facts.Issuer {
		return Finding{Status: Fail, Facts: facts,
			Summary: fmt.Sprintf("%s names the issuer %s, but %s itself says %s.", p.typed, p.result.Facts.Issuer, derived, meta.Issuer),
			Fix:     "Register " + derived + " itself."}
	}
	p.meta = meta
	p.accept(derived)
	return Finding{Status: Pass, Facts: facts,
		Summary: fmt.Sprintf("%s, the project behind %s.", derived, p.typed),
		Detail:  "The vanity domain is for display: tokens go to the project's own address, and clients see the issuer it claims."}
}

func (p *probe) accept(origin string) {
	p.origin = origin
	f := &p.result.Facts
	f.TypedURL, f.APIOrigin, f.PublishableKey = p.typed, origin, p.in.PublishableKey
	f.ScopesSupported = p.meta.ScopesSupported
}

func openRoutes() string { return strings.Join(supabase.OpenRoutes(), ", ") }
