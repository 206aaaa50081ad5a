package bridge

import (
	"time"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// Client is an OAuth client of one surface.
type Client struct {
	ID           string // what it calls itself: an id of ours, or the URL of its metadata document
	Name         string // as it says: unverified
	Document     bool   // ID is the URL of its metadata document
	RedirectURIs []string
	AuthMethods  []string // accepted at the token endpoint, its own first

	secretHash []byte // SHA-256; nil for a public client
	keys       clientKeys
	firstSeen  bool // its metadata document was read for the first time
}

// Purpose is why a browser signs in.
type Purpose string

// The purposes of a sign-in.
const (
	PurposeAuthorize Purpose = "authorize" // a client asks for access
	PurposeApps      Purpose = "apps"      // the person looks at their connected apps
)

// SignIn is a browser on its way through our pages, as its transaction cookie
// proves.
type SignIn struct {
	ID          id.SignIn
	Endpoint    *tenants.Endpoint // the surface, by the URL whose issuer is to be named
	Purpose     Purpose
	Client      *Client // nil for PurposeApps
	RedirectURI string
	Scopes      []string // asked for; known to the surface
	Ask         bool     // prompt=consent: the question is never skipped
	Email       string   // an emailed code or link is on its way to this address
	Factor      bool     // signed in but for the second factor
	Person      *Person  // who signed in; nil until then
	ExpiresAt   time.Time

	state      string
	stateGiven bool
	challenge  string

	byTicket  bool        // opened on the project's own host, without the transaction cookie
	ticketKey seal.Secret // of the browser there; zero while it has begun nothing
	pending   []byte      // sealed: the session that still needs its second factor
	signedIn  id.Upstream // whose session the row names, live or not; zero for nobody's
}

// Person is an end user of one project who signed in through us.
type Person struct {
	Organization id.Organization
	Project      id.Project
	Issuer       string // of the project
	Subject      string
	Email        string // for their own eyes; may be empty
	Upstream     id.Upstream
}

// AccessGrant is what one caller allowed one client at one surface.
type AccessGrant struct {
	ID           id.Grant
	Surface      id.Surface
	SurfaceTitle string // of its live revision; only Connected tells it
	Subject      string
	Personal     bool
	Client       string
	ClientName   string // unverified
	Scopes       []string
	ReadOnly     bool
	CreatedAt    time.Time
	ApprovedAt   time.Time
	ExpiresAt    time.Time
	LastUsedAt   *time.Time
	RevokedAt    *time.Time
	RevokedWhy   string         // by_user, by_builder, code_replayed, token_reused, upstream_ended, replaced, expired
	TokenHint    string         // last characters of a personal token
	MoreNow      bool           // live, not read-only, and the surface offers writing tools that it does not cover; only Connected tells it
	More         []QuestionTool // those tools, for the person to see what they would agree to
}
