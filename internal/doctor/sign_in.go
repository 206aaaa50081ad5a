package doctor

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// CheckSurfaceSignIn looks at the ways in which AI apps begin to sign in.
const CheckSurfaceSignIn = "surface_sign_in"

// SignInProject is what SignIn asks of a project; *supabase.Client is one.
type SignInProject interface {
	AuthMetadata(ctx context.Context, origin string) (supabase.AuthMetadata, error)
	BeginConsent(ctx context.Context, origin string, q supabase.ConsentRequest) (supabase.Consent, error)
}

// SignInClients are the OAuth clients that these checks registered at a
// project, one of each kind: the project's list of clients is its builder's,
// so they are used again. Ids only; the secret of the confidential one is
// dropped.
type SignInClients struct {
	Public       string `toml:"public,omitempty"`
	Confidential string `toml:"confidential,omitempty"`
}

// SignInInput is a surface and the project behind it.
type SignInInput struct {
	Origin   string // the project's api_origin
	Resource string // URL of the surface
	Bridge   bool   // the surface signs people in itself, and begins in one way only
	Clients  SignInClients
}

// SignIn begins at the project in each of the ways in which AI apps do: with
// and without a secret, a resource and offline_access. Each ends at the consent
// page, where a person would come in, or says how the project refuses it. The
// clients that come back are to be kept for the next run, also beside an error.
// Errors are the context's only.
func SignIn(ctx context.Context, sb SignInProject, in SignInInput) (Finding, SignInClients, error) {
	s := &signIn{sb: sb, in: in}
	f := s.run(ctx).plain()
	f.Check, f.Title = CheckSurfaceSignIn, "Ways to sign in"
	return f, s.in.Clients, ctx.Err()
}

// cell is one way to begin.
type cell struct {
	confidential, resource, offline bool
	refused                         string // why; empty where it leads to the consent page
}

// every is the whole matrix, what most AI apps do first.
func every() []cell {
	var cells []cell
	for _, confidential := range []bool{false, true} {
		for _, resource := range []bool{true, false} {
			for _, offline := range []bool{false, true} {
				cells = append(cells, cell{confidential: confidential, resource: resource, offline: offline})
			}
		}
	}
	return cells
}

func (c cell) String() string {
	words := []string{"public client", "no resource", "no offline_access"}
	if c.confidential {
		words[0] = "confidential client"
	}
	if c.resource {
		words[1] = "resource"
	}
	if c.offline {
		words[2] = "offline_access"
	}
	return strings.Join(words, ", ")
}

type signIn struct {
	sb SignInProject
	in SignInInput
}

// afterwards says what no check without a person can know.
const afterwards = "Each was followed to the consent page and left there: what comes after it takes a person. Sign in once from an AI app to see the rest."

func (s *signIn) run(ctx context.Context) Finding {
	meta, err := s.sb.AuthMetadata(ctx, s.in.Origin)
	switch {
	case err != nil:
		return Finding{Status: Skip, Summary: "Not looked at: the project's Auth does not answer.", Detail: fault.From(err).Message}
	case !meta.OAuthServer && s.in.Bridge:
		return Finding{Status: Skip, Summary: "Not looked at: the project's OAuth server is off, and people sign in on pages of the Chumbo server."}
	case !meta.OAuthServer:
		return Finding{Status: Fail, Summary: "The project's OAuth server is off: nobody can sign in.",
			Fix: "In Supabase's dashboard open Authentication, OAuth Server, and enable it; or publish with authorization: bridge."}
	case !meta.Registration && (s.in.Clients.Confidential == "" || s.in.Clients.Public == "" && !s.in.Bridge):
		return Finding{Status: Skip, Summary: "Not looked at: it takes registered clients, and dynamic client registration is off."}
	}
	cells := every()
	if s.in.Bridge {
		cells = []cell{{confidential: true}}
	}
	facts := map[string]string{}
	for i := range cells {
		s.begin(ctx, &cells[i])
		facts[cells[i].String()] = first(cells[i].refused, "consent page")
	}
	f := s.grade(cells)
	f.Facts = facts
	return f
}

// begin tries one way, and remembers the client it took.
func (s *signIn) begin(ctx context.Context, c *cell) {
	client := &s.in.Clients.Public
	if c.confidential {
		client = &s.in.Clients.Confidential
	}
	q := supabase.ConsentRequest{ClientID: *client, Confidential: c.confidential, Offline: c.offline}
	if c.resource {
		q.Resource = s.in.Resource
	}
	found, err := s.sb.BeginConsent(ctx, s.in.Origin, q)
	if err != nil {
		c.refused = fault.From(err).Message
		return
	}
	*client = found.ClientID
	if found.Page == "" {
		c.refused = first(found.Refused, "refused without a reason")
	}
}

// grade fails where what AI apps do first is refused, and warns of the rest.
func (s *signIn) grade(cells []cell) Finding {
	var failed []cell
	worst := Warn
	for _, c := range cells {
		if c.refused == "" {
			continue
		}
		failed = append(failed, c)
		if c.resource && !c.offline {
			worst = Fail
		}
	}
	if s.in.Bridge {
		return gradeBridge(failed)
	}
	if len(failed) == 0 {
		return Finding{Status: Pass, Summary: fmt.Sprintf("All %d ways in which AI apps begin lead to the consent page.", len(cells)), Detail: afterwards}
	}
	fix := "Look at the project's Auth log for /oauth/authorize. Or publish with authorization: bridge, which begins in one way only: confidential client, no resource, no offline_access."
	why := failed[0].refused
	switch {
	case strings.Contains(why, "authorization path not configured"):
		fix = refusedConsent(why, nil).Fix
	case strings.Contains(why, "unsupported scope: offline_access"):
		fix = "Bring Supabase Auth up to date: it takes offline_access from 2.195 on. Or publish with authorization: bridge, which does not ask for it."
	}
	return Finding{Status: worst, Fix: fix,
		Summary: fmt.Sprintf("%d of the %d ways in which AI apps begin are refused: %s.", len(failed), len(cells), named(failed)),
		Detail:  "Supabase Auth says: " + why + ". " + afterwards}
}

// gradeBridge never fails: where the project's page is out, the bridge has
// pages of its own.
func gradeBridge(failed []cell) Finding {
	if len(failed) == 0 {
		return Finding{Status: Pass, Summary: "The one way in which the bridge begins leads to the consent page (confidential client, no resource, no offline_access).", Detail: afterwards}
	}
	return Finding{Status: Warn,
		Summary: "The one way in which the bridge begins at the project's own page is refused.", Detail: "Supabase Auth says: " + failed[0].refused + ".",
		Fix: "Choose Pages of this server under the project's Settings, Sign-in. For the app's own page: " + refusedConsent(failed[0].refused, nil).Fix}
}

// named names the ways that fail, in as few words as say it.
func named(failed []cell) string {
	if len(failed) == len(every()) {
		return "all"
	}
	for _, half := range []struct {
		words string
		has   func(cell) bool
	}{
		{"all of public clients", func(c cell) bool { return !c.confidential }},
		{"all of confidential clients", func(c cell) bool { return c.confidential }},
		{"all with a resource", func(c cell) bool { return c.resource }},
		{"all without a resource", func(c cell) bool { return !c.resource }},
		{"all with offline_access", func(c cell) bool { return c.offline }},
		{"all without offline_access", func(c cell) bool { return !c.offline }},
	} {
		if len(failed) == len(every())/2 && !slices.ContainsFunc(failed, func(c cell) bool { return !half.has(c) }) {
			return half.words
		}
	}
	list := make([]string, len(failed))
	for i, c := range failed {
		list[i] = c.String()
	}
	return strings.Join(list, "; ")
}

func first(values ...string) string {
	for _, v := range values {
		if v != "" {
			return v
		}
	}
	return ""
}
