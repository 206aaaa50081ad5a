package events

import (
	"time"

	"github.com/chumbo-dev/chumbo/internal/id"
)

// StepKind is one kind of step of an attempt to connect.
type StepKind string

// The steps, in their usual order. Direct surfaces see challenge, metadata and
// first call only; the rest happens at the project.
const (
	StepChallenge    StepKind = "challenge"    // a request without a credential was told to sign in
	StepMetadata     StepKind = "metadata"     // protected-resource or authorization-server metadata was read
	StepRegistration StepKind = "registration" // RFC 7591, or a metadata document read for the first time
	StepAuthorize    StepKind = "authorize"    // the browser came
	StepSignIn       StepKind = "sign_in"      // the person signed in, or failed to
	StepConsent      StepKind = "consent"      // allowed or denied
	StepToken        StepKind = "token"        // the code was exchanged
	StepFirstCall    StepKind = "first_call"   // the first call with the token
	StepRefresh      StepKind = "refresh"      // a refresh that failed; others are not kept
	StepEnded        StepKind = "ended"        // the grant ended: revoked, or the session ended at the project
)

// Step is one step of an attempt to connect, as recorded. It holds nothing
// that a person typed, no token and no address.
type Step struct {
	Organization  id.Organization
	Surface       id.Surface
	At            time.Time
	Kind          StepKind
	Failed        bool
	Code          string   // of what failed, such as invalid_client, access_denied, session_ended
	Address       [32]byte // keyed hash of the client's address (seal.AddressHash); zero where there is none
	Client        string   // OAuth client id; empty before it is known
	ClientName    string   // unverified
	ClientVersion string
	Agent         string    // User-Agent, cut to 120 characters
	SignIn        id.SignIn // zero where there is none
	Grant         id.Grant  // zero where there is none
	RequestID     string
}

// StoredStep is a Step as read back. Organization and surface are those it was
// read for, and not in it.
type StoredStep struct {
	ID id.Step
	Step
}
