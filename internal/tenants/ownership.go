package tenants

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// ProofMethod is how an organization proved that it owns a project.
type ProofMethod string

// The methods. Only the first can be repeated without the builder.
const (
	ProofFunction   ProofMethod = "function"   // chumbo_ownership() returns our token
	ProofSecretKey  ProofMethod = "secret_key" // one call with a secret key
	ProofManagement ProofMethod = "management" // one call with a Management API token
)

// MissesToPause is how many daily re-checks may miss before signing in is
// paused.
const MissesToPause = 3

// Ownership is what is known of a project's proof.
type Ownership struct {
	Token       string      // what chumbo_ownership() must return; no secret
	Method      ProofMethod // empty until proven
	CheckedAt   *time.Time  // last repeated
	Misses      int         // re-checks missed in a row
	TakenOverAt *time.Time  // somebody else proved this origin since
}

// SignInPaused reports whether signing in through the bridge is paused for
// missed re-checks.
func (o Ownership) SignInPaused() bool { return o.Misses >= MissesToPause }

// Prover asks a project for a proof; *supabase.Client and
// *supabase.Management together are one (see builders).
type Prover interface {
	// OwnershipToken calls chumbo_ownership() at the project's API origin.
	OwnershipToken(ctx context.Context, p supabase.Project) (string, error)
	// ProveSecretKey makes one call that only a secret key may make.
	ProveSecretKey(ctx context.Context, p supabase.Project, key seal.Secret) error
	// ProveManagement makes one call to api.supabase.com that only somebody
	// with access to the project may make.
	ProveManagement(ctx context.Context, ref string, token seal.Secret) error
}

// newOwnershipToken is what we issue to one (organization, project): 256
// random bits. Nobody chooses their own, so that reading another's is no use.
func newOwnershipToken() string {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return hex.EncodeToString(b)
}

var ownershipToken = regexp.MustCompile(`^[0-9a-f]{64}$`)

// OwnershipSQL is the SQL that puts the marker function into a database: by
// the SQL editor or as a migration, as often as one likes. It panics on what is
// no token of ours, which must not become SQL.
func OwnershipSQL(token string) string {
	if !ownershipToken.MatchString(token) {
		panic("tenants: OwnershipSQL without a token")
	}
	return `-- Proves to Chumbo that this project is yours. The value is no secret: what
-- counts is that it stands in this database. Keep it: it is checked daily.
create or replace function public.chumbo_ownership() returns text
    language sql stable set search_path = ''
    as $$ select '` + token + `'::text $$;
revoke all on function public.chumbo_ownership() from public;
grant execute on function public.chumbo_ownership() to anon;
notify pgrst, 'reload schema';
`
}

// ProveByFunction compares what chumbo_ownership() returns with the project's
// token, in constant time. A match verifies the project, takes its API origin
// over from other organizations (their rows are unverified, their surfaces
// paused, their owners told) and is written to the audit logs of both.
// Otherwise fault.Unprocessable says what was seen and what to do;
// fault.Unavailable or Timeout that nothing was.
func (s *Service) ProveByFunction(ctx context.Context, p Principal, project string, prover Prover) (Project, error) {
	return s.prove(ctx, p, project, ProofFunction, func(before Project) error {
		got, err := prover.OwnershipToken(ctx, before.reached())
		if err != nil {
			return err
		}
		if !tokenMatches(got, before.Ownership.Token) {
			return errOtherToken()
		}
		return nil
	})
}

// ProveBySecretKey proves with one call; the key is never stored or logged.
// What does not look like a secret key is refused before it is sent.
func (s *Service) ProveBySecretKey(ctx context.Context, p Principal, project string, key seal.Secret, prover Prover) (Project, error) {
	return s.prove(ctx, p, project, ProofSecretKey, func(before Project) error {
		key, err := secretKeyOf(key)
		if err != nil {
			return err
		}
		return prover.ProveSecretKey(ctx, before.reached(), key)
	})
}

// ProveByManagement proves with one call to api.supabase.com; the token is
// never stored or logged. Only projects at *.supabase.co have it. What does
// not look like a token of that API is refused before it is sent.
func (s *Service) ProveByManagement(ctx context.Context, p Principal, project string, token seal.Secret, prover Prover) (Project, error) {
	return s.prove(ctx, p, project, ProofManagement, func(before Project) error {
		// The origin's own reference, not the issuer's: what is proven is the
		// place that gets callers' tokens.
		ref, ok := supabase.Hosted(before.APIOrigin + "/auth/v1")
		if !ok {
			return fault.New(fault.Unprocessable, "not_hosted", "Only projects at *.supabase.co can be proven with an access token. Prove this one with the function, or with its secret key.")
		}
		token, err := managementTokenOf(token)
		if err != nil {
			return err
		}
		return prover.ProveManagement(ctx, ref, token)
	})
}

func (p Project) reached() supabase.Project {
	return supabase.Project{ID: p.ID, APIOrigin: p.APIOrigin, PublishableKey: p.PublishableKey}
}

func tokenMatches(got, want string) bool {
	return want != "" && subtle.ConstantTimeCompare([]byte(got), []byte(want)) == 1
}

func errOtherToken() *fault.Error {
	return fault.New(fault.Unprocessable, "ownership_other_token", "The project's function chumbo_ownership() returns another value than the one made for this project and organization. Run the SQL shown here, whole; it replaces what is there.")
}

// prove asks for a proof, outside of any transaction, and takes the origin
// over when it holds. A refusal is written to the audit log.
func (s *Service) prove(ctx context.Context, p Principal, project string, method ProofMethod, ask func(Project) error) (Project, error) {
	a := &act{action: "project.prove", target: typedName(project)}
	proven, err := s.tryProof(ctx, p, project, method, a, ask)
	if err != nil {
		return Project{}, s.change(ctx, p, a, func(*db.Queries) error { return err })
	}
	return proven, nil
}

func (s *Service) tryProof(ctx context.Context, p Principal, project string, method ProofMethod, a *act, ask func(Project) error) (Project, error) {
	if err := p.MayWrite(); err != nil {
		return Project{}, err
	}
	before, err := s.Project(ctx, p, project)
	if err != nil {
		return Project{}, err
	}
	a.target = before.ID.String()
	if err := ask(before); err != nil {
		return Project{}, unproven(err)
	}
	return s.takeOrigin(ctx, p, before, method, a)
}

// unproven gives a project's refusals one public kind: that the project said
// "not found" or "forbidden" is not what this server says of the request.
func unproven(err error) error {
	var f *fault.Error
	var answer *supabase.Error
	switch {
	case errors.As(err, &f) && (f.Kind == fault.NotFound || f.Kind == fault.Forbidden):
		return fault.Wrap(err, fault.Unprocessable, f.Code, "%s", f.Message)
	case f == nil && errors.As(err, &answer):
		return fault.Wrap(err, fault.Unprocessable, "ownership_unread", "%s", unread(answer))
	}
	return err
}

// unread says in a sentence why the project's answer was of no use.
func unread(e *supabase.Error) string {
	switch {
	case e.Gateway && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden):
		return fmt.Sprintf("The project's gateway refused the publishable key (%d), so that the function could not be asked. Give the project's current key and try again.", e.Status)
	case e.Gateway:
		return fmt.Sprintf("The project's gateway answered %d instead of its Data API. Check that the Data API is on and the project running.", e.Status)
	}
	return fmt.Sprintf("The project's Data API answered %d (%s) instead of the function's value. Check that the project is running, and try again.", e.Status, e.Code)
}

var (
	secretKeyShape       = regexp.MustCompile(`^sb_secret_[A-Za-z0-9_-]{8,190}$`)
	managementTokenShape = regexp.MustCompile(`^sbp_[A-Za-z0-9_]{20,196}$`)
)

// secretKeyOf is the key without blanks around it, when it looks like one that
// proves something.
func secretKeyOf(typed seal.Secret) (seal.Secret, error) {
	key := strings.TrimSpace(typed.Reveal())
	role, isJWT := "", jwtShape.FindString(key) == key && key != "" && len(key) <= 2048
	if isJWT {
		role, _ = jwtRole(key)
	}
	switch {
	case secretKeyShape.MatchString(key), role == "service_role":
		return seal.NewSecret(key), nil
	case strings.HasPrefix(key, "sb_publishable_"), role == "anon":
		return seal.Secret{}, fault.New(fault.Invalid, "key_is_publishable", "This is the publishable key, which proves nothing: everybody who uses the app has it. Copy the secret key (sb_secret_…) from Project Settings, API Keys.")
	case strings.HasPrefix(key, "sbp_"):
		return seal.Secret{}, fault.New(fault.Invalid, "key_is_access_token", "This is an access token of your Supabase account, not a key of the project. It was not sent or stored; give it where an access token is asked for.")
	}
	return seal.Secret{}, fault.New(fault.Invalid, "secret_key_malformed", "This is no secret key of a project. Copy it whole: it begins with sb_secret_, or is the legacy service_role key.")
}

// managementTokenOf is the same for a token of the Management API.
func managementTokenOf(typed seal.Secret) (seal.Secret, error) {
	token := strings.TrimSpace(typed.Reveal())
	if managementTokenShape.MatchString(token) {
		return seal.NewSecret(token), nil
	}
	if secretKey.MatchString(token) || jwtShape.MatchString(token) {
		return seal.Secret{}, fault.New(fault.Invalid, "token_is_project_key", "This is a key of a project, not an access token. It was not sent or stored; to prove ownership with it, give it where a secret key is asked for.")
	}
	return seal.Secret{}, fault.New(fault.Invalid, "access_token_malformed", "This is no access token. Make one under Account, Access Tokens, in Supabase's dashboard, and copy it whole: it begins with sbp_.")
}
