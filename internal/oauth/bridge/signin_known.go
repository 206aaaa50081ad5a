package bridge

import (
	"context"
	"errors"
	"time"

	"github.com/maypok86/otter/v2"
	"golang.org/x/sync/singleflight"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// How long what a project's Auth says of itself is believed, and how long is
// waited for it.
const (
	metadataFor  = 5 * time.Minute
	settingsFor  = time.Minute
	knownTimeout = 3 * time.Second
	knownBound   = 10_000 // projects
)

// knownAuth remembers what projects' Auth says of itself: public facts, kept
// per project all the same, since two projects can name one origin.
type knownAuth struct {
	source  *supabase.Client
	now     func() time.Time
	table   *otter.Cache[authKey, authFact]
	loading singleflight.Group
}

// authKey is whose fact it is and where it was read.
type authKey struct {
	organization id.Organization
	project      id.Project
	origin, key  string
	kind         string // metadata, settings, or what a client or a sign-in of ours met there
}

type authFact struct {
	metadata supabase.AuthMetadata
	settings supabase.Settings
	until    time.Time
}

func newKnownAuth(source *supabase.Client, now func() time.Time) *knownAuth {
	return &knownAuth{source: source, now: now, table: otter.Must(&otter.Options[authKey, authFact]{MaximumSize: 2 * knownBound})}
}

// upstreamProject is a project as package supabase reaches it.
func upstreamProject(p *tenants.ProjectRef) supabase.Project {
	return supabase.Project{ID: p.ID, APIOrigin: p.APIOrigin, PublishableKey: p.PublishableKey}
}

func keyOf(ep *tenants.Endpoint, kind string) authKey {
	return authKey{ep.Organization, ep.Project.ID, ep.Project.APIOrigin, ep.Project.PublishableKey, kind}
}

// oauthServer reports whether the project's own OAuth server can sign people
// in with a client of ours; registers says that it would register one. A fault
// is Unavailable.
func (k *knownAuth) oauthServer(ctx context.Context, ep *tenants.Endpoint) (on, registers bool, err error) {
	fact, err := k.get(ctx, keyOf(ep, "metadata"), metadataFor, func(ctx context.Context) (authFact, error) {
		m, err := k.source.AuthMetadata(ctx, ep.Project.APIOrigin)
		var refused *supabase.AuthError
		if errors.As(err, &refused) && refused.Reason == supabase.AuthGatewayKey {
			return authFact{}, nil // browsers cannot get through that gateway
		}
		return authFact{metadata: m}, err
	})
	m := fact.metadata
	return m.OAuthServer && !m.RoutesGuarded, m.Registration, err
}

// settings are the ways to sign in that are switched on.
func (k *knownAuth) settings(ctx context.Context, ep *tenants.Endpoint) (supabase.Settings, error) {
	fact, err := k.get(ctx, keyOf(ep, "settings"), settingsFor, func(ctx context.Context) (authFact, error) {
		s, err := k.source.Settings(ctx, upstreamProject(&ep.Project))
		return authFact{settings: s}, err
	})
	return fact.settings, err
}

// noteBroken notes that the OAuth server, which is on, did not work for a
// sign-in. It counts for that one only: its browser says so, and a browser can
// say anything.
func (k *knownAuth) noteBroken(ep *tenants.Endpoint, in id.SignIn) {
	k.table.Set(keyOf(ep, "broken for "+in.String()), authFact{until: k.now().Add(signInLifetime)})
}

// brokenFor reports whether the OAuth server did not work for a sign-in.
func (k *knownAuth) brokenFor(ep *tenants.Endpoint, in id.SignIn) bool {
	_, ok := k.table.GetIfPresent(keyOf(ep, "broken for "+in.String()))
	return ok
}

// get asks once for all who wait, and not on behalf of one of them.
func (k *knownAuth) get(ctx context.Context, key authKey, keep time.Duration, load func(context.Context) (authFact, error)) (authFact, error) {
	if fact, ok := k.table.GetIfPresent(key); ok && k.now().Before(fact.until) {
		return fact, nil
	}
	name := string(seal.AD(key.organization.String(), key.project.String(), key.origin, key.key, key.kind))
	loaded := k.loading.DoChan(name, func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), knownTimeout)
		defer cancel()
		until := k.now().Add(keep)
		fact, err := load(ctx)
		if err != nil {
			return authFact{}, err
		}
		fact.until = until
		k.table.Set(key, fact)
		return fact, nil
	})
	select {
	case <-ctx.Done():
		return authFact{}, ctx.Err()
	case r := <-loaded:
		if r.Err != nil {
			return authFact{}, fault.Wrap(r.Err, fault.Unavailable, "sign_in_unavailable",
				"The app's sign-in does not answer right now. Try again in a moment.").WithRetryAfter(5 * time.Second)
		}
		return r.Val.(authFact), nil
	}
}

// clientSeen reports whether the project knew our client a while ago.
func (k *knownAuth) clientSeen(ep *tenants.Endpoint, client string) bool {
	fact, ok := k.table.GetIfPresent(keyOf(ep, "client "+client))
	return ok && k.now().Before(fact.until)
}

// seeClient notes that the project knows our client.
func (k *knownAuth) seeClient(ep *tenants.Endpoint, client string) {
	k.table.Set(keyOf(ep, "client "+client), authFact{until: k.now().Add(metadataFor)})
}
