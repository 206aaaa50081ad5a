package bridge

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"net/url"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// newSignIn is a sign-in about to begin.
type newSignIn struct {
	purpose     Purpose
	client      *Client // nil for PurposeApps
	redirectURI string
	state       string
	stateGiven  bool
	challenge   string   // S256, of the client
	scopes      []string // asked for; known to the surface
	ask         bool     // prompt=consent
}

// begin begins a sign-in at ep. The secret is the transaction cookie's value:
// only the browser that has it goes on.
func (s *Service) begin(ctx context.Context, ep *tenants.Endpoint, n newSignIn) (*SignIn, seal.Secret, error) {
	if err := maySignIn(ep); err != nil {
		return nil, seal.Secret{}, err
	}
	now, cookie := s.cfg.Now(), newSecret()
	in := &SignIn{
		ID: id.New[id.SignInKind](), Endpoint: ep, Purpose: n.purpose, Client: n.client, RedirectURI: n.redirectURI,
		Scopes: n.scopes, Ask: n.ask, ExpiresAt: now.Add(signInLifetime),
		state: n.state, stateGiven: n.stateGiven, challenge: n.challenge,
	}
	row := db.InsertSignInParams{
		OrganizationID: ep.Organization, ID: in.ID, SurfaceID: ep.Surface, ProjectID: ep.Project.ID, UrlRef: ep.Resource.Ref,
		Purpose: string(n.purpose), RedirectUri: n.redirectURI, State: n.state, StateGiven: n.stateGiven,
		CodeChallenge: n.challenge, Scopes: n.scopes, Ask: n.ask, CookieHash: hashOf(cookie), Now: now, ExpiresAt: in.ExpiresAt,
	}
	if n.client != nil {
		row.ClientID = n.client.ID
	}
	if row.Scopes == nil {
		row.Scopes = []string{}
	}
	err := s.cfg.Store.AsOrganization(ctx, ep.Organization, func(q *db.Queries, _ pgx.Tx) error { return q.InsertSignIn(ctx, row) })
	if err != nil {
		return nil, seal.Secret{}, fmt.Errorf("begin sign-in: %w", err)
	}
	return in, cookie, nil
}

// maySignIn refuses while nobody is signed in to the project.
func maySignIn(ep *tenants.Endpoint) error {
	if ep.Project.SignInPaused {
		return fault.New(fault.Unavailable, "sign_in_paused",
			"Nobody can sign in to this app right now. Its owner must prove ownership of the project again first; tell them if you can.")
	}
	return nil
}

// startAgain is all that whoever lacks the cookie, comes late or has nothing
// to find is told.
func startAgain() *fault.Error {
	return fault.New(fault.NotFound, "start_again", "This sign-in is over, or was begun in another browser. Start again from your AI app.")
}

// newSecret returns 256 random bits, as 43 characters that fit cookies, paths
// and queries.
func newSecret() seal.Secret {
	b := make([]byte, 32)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return seal.NewSecret(base64.RawURLEncoding.EncodeToString(b))
}

// hashOf is what is stored of a secret of 256 random bits.
func hashOf(secret seal.Secret) []byte {
	sum := sha256.Sum256([]byte(secret.Reveal()))
	return sum[:]
}

// hashes reports whether hash is that of the secret. Nothing has no hash.
func hashes(hash []byte, secret seal.Secret) bool {
	return !secret.IsZero() && len(hash) > 0 && subtle.ConstantTimeCompare(hash, hashOf(secret)) == 1
}

// Open finds a sign-in by its id and the cookie that began it. Without the
// cookie, after its end and for an unknown id the error is the same:
// fault.NotFound with code start_again; nothing is spent.
func (s *Service) Open(ctx context.Context, signIn id.SignIn, cookie seal.Secret) (*SignIn, error) {
	if cookie.IsZero() {
		return nil, startAgain()
	}
	in, _, err := s.open(ctx, signIn, byCookie(cookie))
	return in, err
}

// proof says what a browser has of a sign-in, or refuses it.
type proof func(row *db.GetSignInRow, in *SignIn) error

// byCookie is the proof of the browser that began it. What another browser
// began on the project's own host is not shown to it.
func byCookie(cookie seal.Secret) proof {
	return func(row *db.GetSignInRow, in *SignIn) error {
		if !hashes(row.CookieHash, cookie) {
			return startAgain()
		}
		if len(row.TicketKey) == 0 {
			in.show(row)
		}
		return nil
	}
}

// show lets a browser see what it began.
func (in *SignIn) show(row *db.GetSignInRow) {
	in.Email, in.pending, in.Factor = row.Email, row.Pending, len(row.Pending) > 0 && in.Person == nil
}

// open loads a sign-in under way and checks the browser's proof before
// anything else is looked at.
func (s *Service) open(ctx context.Context, signIn id.SignIn, prove proof) (*SignIn, *db.GetSignInRow, error) {
	row, err := s.loadSignIn(ctx, signIn)
	if err != nil {
		return nil, nil, err
	}
	in := &SignIn{
		ID: row.ID, Purpose: Purpose(row.Purpose), RedirectURI: row.RedirectUri, Scopes: row.Scopes, Ask: row.Ask,
		ExpiresAt: row.ExpiresAt, state: row.State, stateGiven: row.StateGiven, challenge: row.CodeChallenge,
	}
	if err := prove(row, in); err != nil {
		return nil, nil, err
	}
	if row.FinishedAt != nil || !row.ExpiresAt.After(s.cfg.Now()) {
		return nil, nil, startAgain()
	}
	if err := s.place(ctx, row, in); err != nil {
		return nil, nil, err
	}
	return in, row, nil
}

func (s *Service) loadSignIn(ctx context.Context, signIn id.SignIn) (*db.GetSignInRow, error) {
	var row db.GetSignInRow
	var owner id.Organization
	err := s.cfg.Store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		owner, err = q.FindSignIn(ctx, signIn)
		return err
	})
	if err == nil {
		err = s.cfg.Store.AsOrganization(ctx, owner, func(q *db.Queries, _ pgx.Tx) error {
			row, err = q.GetSignIn(ctx, db.GetSignInParams{OrganizationID: owner, ID: signIn})
			return err
		})
	}
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, startAgain()
	}
	if err != nil {
		return nil, fmt.Errorf("load sign-in: %w", err)
	}
	return &row, nil
}

// place finds the surface, client and person that a row names, as they stand
// now.
func (s *Service) place(ctx context.Context, row *db.GetSignInRow, in *SignIn) error {
	ep, err := s.cfg.Directory.ByRef(ctx, row.UrlRef)
	if fault.Is(err, fault.NotFound) || err == nil && !isPlaceOf(ep, row) {
		return startAgain() // taken down, moved or renamed since
	}
	if err != nil {
		return err
	}
	in.Endpoint = ep
	if row.UpstreamSessionID != nil {
		in.signedIn = *row.UpstreamSessionID
		in.Person = personOf(row)
	}
	if in.Person != nil {
		in.Factor = false
	}
	if in.Purpose != PurposeAuthorize {
		return nil
	}
	in.Client, err = s.client(ctx, ep, row.ClientID)
	return err
}

// isPlaceOf reports whether an address still leads where it led when the row
// was written: an address can be given to another surface.
func isPlaceOf(ep *tenants.Endpoint, row *db.GetSignInRow) bool {
	return ep.Organization == row.OrganizationID && ep.Surface == row.SurfaceID && ep.Project.ID == row.ProjectID && ep.Access.Bridged()
}

// personOf is who signed in; nil when their session has ended.
func personOf(row *db.GetSignInRow) *Person {
	if row.Issuer == nil || row.Subject == nil || row.PersonEmail == nil {
		return nil
	}
	return &Person{
		Organization: row.OrganizationID, Project: row.ProjectID, Issuer: *row.Issuer, Subject: *row.Subject,
		Email: *row.PersonEmail, Upstream: *row.UpstreamSessionID,
	}
}

// change writes to a sign-in under way: one row, or it is over meanwhile.
func (s *Service) change(ctx context.Context, in *SignIn, what string, fn func(q *db.Queries) (int64, error)) error {
	var n int64
	err := s.cfg.Store.AsOrganization(ctx, in.Endpoint.Organization, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		n, err = fn(q)
		return err
	})
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if n != 1 {
		return startAgain()
	}
	return nil
}

// setPerson notes who signed in; nil for nobody.
func (s *Service) setPerson(ctx context.Context, in *SignIn, who *Person) error {
	var session *id.Upstream
	if who != nil {
		session = &who.Upstream
	}
	ep := in.Endpoint
	err := s.change(ctx, in, "note who signed in", func(q *db.Queries) (int64, error) {
		return q.SetSignInPerson(ctx, db.SetSignInPersonParams{
			OrganizationID: ep.Organization, ID: in.ID, ProjectID: ep.Project.ID, UpstreamSessionID: session, Now: s.cfg.Now(),
		})
	})
	if err != nil {
		return err
	}
	before := in.signedIn
	in.Person, in.Factor, in.Email, in.pending, in.signedIn = who, false, "", nil, id.Upstream{}
	if session != nil {
		in.signedIn = *session
	}
	if !before.IsZero() && before != in.signedIn {
		s.releaseUpstream(ctx, &ep.Project, ep.Organization, before)
	}
	return nil
}

// Cancel gives a sign-in up and sends the browser back to its client with
// access_denied; "" where there is no client.
func (s *Service) Cancel(ctx context.Context, in *SignIn) (string, error) {
	if in.byTicket { // a ticket signs in, and nothing else
		return "", startAgain()
	}
	ep := in.Endpoint
	err := s.change(ctx, in, "give sign-in up", func(q *db.Queries) (int64, error) {
		now := s.cfg.Now()
		return q.GiveUpSignIn(ctx, db.GiveUpSignInParams{OrganizationID: ep.Organization, ID: in.ID, ProjectID: ep.Project.ID, Now: &now})
	})
	if err != nil {
		return "", err
	}
	if !in.signedIn.IsZero() {
		s.releaseUpstream(ctx, &ep.Project, ep.Organization, in.signedIn)
	}
	if in.Purpose != PurposeAuthorize {
		return "", nil
	}
	return s.backTo(in, url.Values{"error": {"access_denied"}, "error_description": {"The sign-in was cancelled. Connect again to sign in."}}), nil
}

// Again forgets who signed in, so that somebody else can ("Not you?").
func (s *Service) Again(ctx context.Context, in *SignIn) error {
	if in.byTicket {
		return startAgain()
	}
	return s.setPerson(ctx, in, nil)
}

// noteSignIn records how an attempt to sign in went.
func (s *Service) noteSignIn(in *SignIn, v Visitor, err error) {
	st := events.Step{Kind: events.StepSignIn, SignIn: in.ID}
	if in.Client != nil {
		st.Client, st.ClientName = in.Client.ID, in.Client.Name
	}
	if err != nil {
		st.Failed, st.Code = true, codeOf(err)
	}
	s.step(in.Endpoint, v, st)
}
