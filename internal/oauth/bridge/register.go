package bridge

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	maxClients    = 10_000 // of one surface
	clientsRoom   = 100    // made at once, when it is full
	registerTries = 600    // per address and surface in registerIn: some clients register at every start, some for all their users
	registerIn    = 10 * time.Minute
	maxText       = 255 // bytes of a member that is only echoed
)

// registration is what a client is told of itself (RFC 7591 section 3.2.1), and
// but for its first members what is stored of it. Nothing is null: some clients
// refuse an answer that has one.
type registration struct {
	ClientID      string `json:"client_id,omitempty"`
	IssuedAt      int64  `json:"client_id_issued_at,omitempty"`
	Secret        string `json:"client_secret,omitempty"`            // shown once
	SecretExpires *int64 `json:"client_secret_expires_at,omitempty"` // 0, with a secret only

	RedirectURIs    []string        `json:"redirect_uris"`
	AuthMethod      string          `json:"token_endpoint_auth_method"`
	GrantTypes      []string        `json:"grant_types"`
	ResponseTypes   []string        `json:"response_types"`
	Name            string          `json:"client_name,omitempty"`
	URI             string          `json:"client_uri,omitempty"`
	LogoURI         string          `json:"logo_uri,omitempty"`
	TermsURI        string          `json:"tos_uri,omitempty"`
	PolicyURI       string          `json:"policy_uri,omitempty"`
	Scope           string          `json:"scope,omitempty"`
	Keys            json.RawMessage `json:"jwks,omitempty"`
	KeysURI         string          `json:"jwks_uri,omitempty"`
	SoftwareID      string          `json:"software_id,omitempty"`
	SoftwareVersion string          `json:"software_version,omitempty"`
	ApplicationType string          `json:"application_type,omitempty"`
}

// serveRegistration is the registration endpoint (RFC 7591).
func (s *Service) serveRegistration(x *exchange) {
	if media := x.mediaType(); media != "application/json" {
		x.oauthError(&tokenError{status: http.StatusUnsupportedMediaType, code: "invalid_client_metadata", description: "Nothing was registered. Send the client's metadata as application/json."})
		return
	}
	body, refused := x.body()
	if refused != nil {
		refused.code = "invalid_client_metadata"
		x.oauthError(refused)
		return
	}
	answer, err := s.register(x.r.Context(), x.ep, body, x.visitor)
	story := events.Step{Kind: events.StepRegistration}
	if err != nil {
		story.Failed, story.Code = true, codeOf(err)
		s.step(x.ep, x.visitor, story)
		x.oauthError(err)
		return
	}
	story.Client, story.ClientName = answer.ClientID, answer.Name
	s.step(x.ep, x.visitor, story)
	x.header().Set("Cache-Control", "no-store")
	x.json(http.StatusCreated, answer)
}

// register stores what a client says of itself. The same public metadata again
// is the same client; one with a secret or keys is always a client of its own,
// so that whoever sends the same words gets nothing of it.
func (s *Service) register(ctx context.Context, ep *tenants.Endpoint, body []byte, v Visitor) (*registration, error) {
	if err := s.limited(ctx, "register", ep, v, registerTries, registerIn); err != nil {
		return nil, err
	}
	r, err := parseRegistration(ep, body)
	if err != nil {
		return nil, err
	}
	metadata, err := json.Marshal(r)
	if err != nil {
		return nil, fmt.Errorf("encode client metadata: %w", err)
	}
	id, now := "chc_"+rand.Text(), s.cfg.Now()
	r.ClientID, r.IssuedAt = id, now.Unix()
	methods, secretHash := []string{r.AuthMethod}, []byte(nil)
	switch r.AuthMethod { // a secret is good in either place
	case authBasic:
		methods = append(methods, authPost)
	case authPost:
		methods = append(methods, authBasic)
	}
	if slices.Contains(methods, authBasic) {
		secret := newSecret()
		r.Secret, r.SecretExpires, secretHash = secret.Reveal(), new(int64), hashOf(secret)
	}
	err = s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error {
		if r.AuthMethod == authNone {
			row, err := q.InsertPublicOAuthClient(ctx, db.InsertPublicOAuthClientParams{
				OrganizationID: ep.Organization, SurfaceID: ep.Surface, ClientID: id, Name: r.Name, RedirectUris: r.RedirectURIs,
				AuthMethods: methods, Metadata: metadata, Fingerprint: hashOf(seal.NewSecret(string(metadata))), Now: now,
			})
			if err != nil {
				return err
			}
			r.ClientID, r.IssuedAt = row.ClientID, row.CreatedAt.Unix()
		} else {
			err := q.InsertOAuthClient(ctx, db.InsertOAuthClientParams{
				OrganizationID: ep.Organization, SurfaceID: ep.Surface, ClientID: id, Name: r.Name, RedirectUris: r.RedirectURIs,
				AuthMethods: methods, SecretHash: secretHash, Metadata: metadata, Jwks: r.Keys, JWKSURI: r.KeysURI, Now: now,
			})
			if err != nil {
				return err
			}
		}
		return s.makeRoom(ctx, q, ep, now)
	})
	if err != nil {
		return nil, orAway(fmt.Errorf("store client: %w", err))
	}
	return r, nil
}

// makeRoom keeps a surface at 10,000 clients, after one was added: the ones
// unused for longest go, never one with a live grant or a sign-in under way.
func (s *Service) makeRoom(ctx context.Context, q *db.Queries, ep *tenants.Endpoint, now time.Time) error {
	n, err := q.CountOAuthClients(ctx, db.CountOAuthClientsParams{OrganizationID: ep.Organization, SurfaceID: ep.Surface})
	if err != nil {
		return fmt.Errorf("count clients: %w", err)
	}
	over := n - s.maxClients
	if over <= 0 {
		return nil
	}
	gone, err := q.DeleteOldestOAuthClients(ctx, db.DeleteOldestOAuthClientsParams{
		OrganizationID: ep.Organization, SurfaceID: ep.Surface, Now: now, Before: now, Room: int32(over + min(clientsRoom, s.maxClients/clientsRoom)),
	})
	if err != nil {
		return fmt.Errorf("make room for a client: %w", err)
	}
	if gone < over {
		return fault.New(fault.Unavailable, "temporarily_unavailable", "No more apps can register here now. Try again later.").WithRetryAfter(time.Hour)
	}
	return nil
}

// parseRegistration reads what a client sends. Members and scopes that are not
// known are dropped, not refused; so are links that are no links. What decides
// over security is refused, all of it at once.
func parseRegistration(ep *tenants.Endpoint, body []byte) (*registration, error) {
	members, err := parseMembers(body)
	if err != nil {
		return nil, badMetadata("the body is not one JSON object")
	}
	r := &registration{}
	for name, into := range map[string]any{
		"redirect_uris": &r.RedirectURIs, "token_endpoint_auth_method": &r.AuthMethod, "grant_types": &r.GrantTypes,
		"response_types": &r.ResponseTypes, "jwks": &r.Keys, "jwks_uri": &r.KeysURI,
	} {
		if err := members.read(name, into); err != nil {
			return nil, badMetadata(name + " has the wrong type")
		}
	}
	// Read for people and logs only: of another type is as good as not there.
	for name, into := range map[string]*string{
		"client_name": &r.Name, "client_uri": &r.URI, "logo_uri": &r.LogoURI, "tos_uri": &r.TermsURI, "policy_uri": &r.PolicyURI,
		"scope": &r.Scope, "software_id": &r.SoftwareID, "software_version": &r.SoftwareVersion, "application_type": &r.ApplicationType,
	} {
		_ = members.read(name, into)
	}
	r.tidy(ep)
	return r, errors.Join(r.checkRedirects(), r.checkTypes(), r.checkAuth())
}

// tidy drops what cannot be echoed.
func (r *registration) tidy(ep *tenants.Endpoint) {
	r.Name = cleanName(r.Name)
	for _, link := range []*string{&r.URI, &r.LogoURI, &r.TermsURI, &r.PolicyURI} {
		if !strings.HasPrefix(*link, "https://") && !strings.HasPrefix(*link, "http://") || redirectProblem(*link) != "" {
			*link = ""
		}
	}
	for _, text := range []*string{&r.SoftwareID, &r.SoftwareVersion} {
		if len(*text) > maxText || !printable(*text) {
			*text = ""
		}
	}
	if r.ApplicationType != "native" && r.ApplicationType != "web" {
		r.ApplicationType = ""
	}
	scopes := knownScopes(ep, r.Scope)
	if slices.Contains(strings.Fields(r.Scope), offlineAccess) {
		scopes = append(scopes, offlineAccess)
	}
	r.Scope = strings.Join(scopes, " ")
}

func (r *registration) checkRedirects() error {
	if len(r.RedirectURIs) == 0 {
		return &tokenError{status: 400, code: "invalid_redirect_uri", description: "Nothing was registered: redirect_uris is missing. Name where the browser goes after signing in."}
	}
	if len(r.RedirectURIs) > maxRedirects {
		return &tokenError{status: 400, code: "invalid_redirect_uri", description: fmt.Sprintf("Nothing was registered: %d redirect_uris, at most %d are kept.", len(r.RedirectURIs), maxRedirects)}
	}
	var wrong []string
	for i, uri := range r.RedirectURIs {
		if problem := redirectProblem(uri); problem != "" {
			wrong = append(wrong, fmt.Sprintf("redirect_uris[%d] %q %s", i, cut(uri, 100), problem))
		}
	}
	if len(wrong) > 0 {
		return &tokenError{status: 400, code: "invalid_redirect_uri", description: "Nothing was registered: " + strings.Join(wrong, "; ") + "."}
	}
	return nil
}

// checkTypes keeps of grant and response types what there is here. Others
// beside them are no error: some clients list all they know.
func (r *registration) checkTypes() error {
	grants, responses := kept(r.GrantTypes, grantTypes), kept(r.ResponseTypes, []string{"code"})
	if len(r.GrantTypes) == 0 {
		grants = slices.Clone(grantTypes)
	}
	if len(r.ResponseTypes) == 0 {
		responses = []string{"code"}
	}
	r.GrantTypes, r.ResponseTypes = grants, responses
	if !slices.Contains(grants, "authorization_code") {
		return badMetadata("grant_types must have authorization_code")
	}
	if len(responses) == 0 {
		return badMetadata("response_types must have code")
	}
	return nil
}

func kept(asked, offered []string) []string {
	list := []string{}
	for _, a := range asked {
		if slices.Contains(offered, a) && !slices.Contains(list, a) {
			list = append(list, a)
		}
	}
	return list
}

func (r *registration) checkAuth() error {
	if r.AuthMethod == "" {
		r.AuthMethod = authBasic // the default of RFC 7591 section 2
	}
	if !slices.Contains(authMethods, r.AuthMethod) {
		return badMetadata("token_endpoint_auth_method must be one of " + strings.Join(authMethods, ", "))
	}
	if r.AuthMethod != authKeyJWT {
		r.Keys, r.KeysURI = nil, "" // nothing would be checked with them
		return nil
	}
	switch {
	case len(r.Keys) > 0 && r.KeysURI != "":
		return badMetadata("jwks and jwks_uri cannot be together")
	case len(r.Keys) == 0 && r.KeysURI == "":
		return badMetadata("private_key_jwt needs jwks or jwks_uri")
	case r.KeysURI != "" && !looksLikeDocument(r.KeysURI):
		return badMetadata("jwks_uri must be an https URL with a path")
	case r.KeysURI != "":
		return nil
	}
	document, err := publicDocument(r.Keys)
	if err != nil {
		return badMetadata("jwks has no public key with a kid that is ES256, RS256 or EdDSA")
	}
	r.Keys = document
	return nil
}

func badMetadata(why string) *tokenError {
	return &tokenError{status: 400, code: "invalid_client_metadata", description: "Nothing was registered: " + why + "."}
}

// members are the members of a JSON object, by their exact names.
type members map[string]json.RawMessage

func parseMembers(body []byte) (members, error) {
	if !utf8.Valid(body) {
		return nil, errors.New("not UTF-8")
	}
	var m members
	if err := json.Unmarshal(body, &m); err != nil {
		return nil, err
	}
	if m == nil {
		return nil, errors.New("null")
	}
	return m, nil
}

// read decodes a member. One that is missing or null leaves into as it is.
func (m members) read(name string, into any) error {
	raw, ok := m[name]
	if !ok || string(raw) == "null" {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// cleanName is a client's name as it may be shown and stored: without controls
// and characters that turn the text around, and not long.
func cleanName(name string) string {
	name = strings.Map(func(r rune) rune {
		switch {
		case r == utf8.RuneError || unicode.Is(unicode.Cf, r):
			return -1
		case unicode.IsControl(r) || unicode.IsSpace(r):
			return ' '
		}
		return r
	}, name)
	return strings.TrimSpace(cut(strings.Join(strings.Fields(name), " "), maxClientName))
}
