package events

import (
	"bytes"
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/id"
)

const (
	// joinWithin is how long before a client names itself its first requests
	// are taken for its own, by their address.
	joinWithin = 15 * time.Minute

	// callsWithin joins the first calls that a direct client is seen to make
	// again and again.
	callsWithin = 24 * time.Hour
)

// Attempts joins the steps of one surface to attempts, newest first by their
// last step. Every step is in exactly one; their order does not matter.
//
// A sign-in is one attempt, whatever address its steps come from. What names a
// grant and no sign-in belongs to the grant's latest attempt. Steps before
// that are joined by address, and a registration to its authorization by the
// client id. Where two attempts are as likely, a step begins one of its own:
// the stories of two people are never mixed.
func Attempts(steps []StoredStep, now time.Time) []Attempt {
	sorted := slices.Clone(steps)
	slices.SortFunc(sorted, func(a, b StoredStep) int {
		return cmp.Or(a.At.Compare(b.At), compareIDs(a.ID, b.ID))
	})
	j := joiner{
		bySignIn: map[id.SignIn]*strand{}, byGrant: map[id.Grant]*strand{},
		byAddress: map[[32]byte][]*strand{}, byClient: map[string][]*strand{}, calling: map[caller]*strand{},
	}
	for _, s := range sorted {
		j.add(s)
	}
	attempts := make([]Attempt, 0, len(j.strands))
	for _, st := range j.strands {
		attempts = append(attempts, attempt(st.steps, now))
	}
	slices.SortFunc(attempts, func(a, b Attempt) int {
		return cmp.Or(b.Ended.Compare(a.Ended), compareIDs(b.ID, a.ID))
	})
	return attempts
}

func compareIDs(a, b id.Step) int { return bytes.Compare(a[:], b[:]) }

// strand is an attempt while its steps are joined.
type strand struct {
	steps    []StoredStep
	started  time.Time
	last     time.Time
	client   string
	signIn   id.SignIn
	grant    id.Grant
	address  [32]byte // of the client's own requests; zero until one is known
	browser  [32]byte // of the person's browser
	agents   map[string]bool
	finished bool
}

// named reports whether the attempt is known by more than an address.
func (st *strand) named() bool {
	return st.client != "" || !st.signIn.IsZero() || !st.grant.IsZero()
}

// current reports whether a step at that moment may still belong to it.
func (st *strand) current(at time.Time) bool {
	if st.named() {
		return at.Sub(st.last) <= joinWithin
	}
	return at.Sub(st.started) <= joinWithin
}

// joiner holds the attempts found so far. Those that a step without a known
// sign-in or grant may belong to stand under what it can be found by.
type joiner struct {
	strands   []*strand
	bySignIn  map[id.SignIn]*strand
	byGrant   map[id.Grant]*strand // the latest of each
	byAddress map[[32]byte][]*strand
	byClient  map[string][]*strand
	calling   map[caller]*strand // connected without a grant: direct clients
}

// caller is a direct client as it shows in its calls.
type caller struct {
	client  string
	address [32]byte
}

func (j *joiner) add(s StoredStep) {
	st := j.find(s)
	if st == nil {
		st = &strand{started: s.At, agents: map[string]bool{}}
		j.strands = append(j.strands, st)
	}
	st.take(s)
	if !s.SignIn.IsZero() {
		j.bySignIn[s.SignIn] = st
	}
	if !s.Grant.IsZero() {
		j.byGrant[s.Grant] = st
	}
	if st.finished && st.grant.IsZero() && st.client != "" {
		j.calling[caller{st.client, st.address}] = st
	}
	if st.finished {
		return
	}
	if s.Address != ([32]byte{}) {
		enter(j.byAddress, s.Address, st)
	}
	if s.Client != "" && !shared(s.Client) { // an id that says whose copy it is
		enter(j.byClient, s.Client, st)
	}
}

func enter[K comparable](index map[K][]*strand, key K, st *strand) {
	if !slices.Contains(index[key], st) {
		index[key] = append(index[key], st)
	}
}

// still gives the attempts under a key that are not over, and forgets others.
func still[K comparable](index map[K][]*strand, key K, at time.Time) []*strand {
	kept := slices.DeleteFunc(index[key], func(st *strand) bool { return st.finished || !st.current(at) })
	if index[key] != nil {
		index[key] = kept
	}
	return kept
}

func (st *strand) take(s StoredStep) {
	st.steps, st.last = append(st.steps, s), s.At
	if st.client == "" {
		st.client = s.Client
	}
	if st.signIn.IsZero() {
		st.signIn = s.SignIn
	}
	if st.grant.IsZero() {
		st.grant = s.Grant
	}
	if s.Address != ([32]byte{}) {
		if byBrowser[s.Kind] {
			st.browser = s.Address
		} else if st.address == ([32]byte{}) {
			st.address = s.Address
		}
	}
	if s.Agent != "" && !byBrowser[s.Kind] {
		st.agents[s.Agent] = true
	}
	switch {
	case s.Kind == StepEnded, s.Kind == StepConsent && s.Failed, !s.Failed && (s.Kind == StepToken || s.Kind == StepFirstCall):
		st.finished = true
	}
}

// find is the attempt a step belongs to; nil when it begins one.
func (j *joiner) find(s StoredStep) *strand {
	if !s.SignIn.IsZero() {
		if st := j.bySignIn[s.SignIn]; st != nil {
			return st
		}
	} else if !s.Grant.IsZero() {
		if st := j.byGrant[s.Grant]; st != nil {
			return st
		}
	}
	if s.Kind == StepFirstCall && s.Grant.IsZero() && s.Client != "" {
		if st := j.calling[caller{s.Client, s.Address}]; st != nil && s.At.Sub(st.last) <= callsWithin {
			return st
		}
	}
	var best []*strand
	bestFit := fitNot
	for _, st := range j.near(s) {
		switch fit := st.fit(s); {
		case fit == fitNot || fit < bestFit:
		case fit > bestFit:
			best, bestFit = append(best[:0], st), fit
		default:
			best = append(best, st)
		}
	}
	if len(best) == 1 {
		return best[0]
	}
	return nil
}

// near are the attempts under way at the step's address, or of its client.
func (j *joiner) near(s StoredStep) []*strand {
	var near []*strand
	if s.Address != ([32]byte{}) {
		near = slices.Clone(still(j.byAddress, s.Address, s.At))
	}
	if s.Client == "" {
		return near
	}
	for _, st := range still(j.byClient, s.Client, s.At) {
		if !slices.Contains(near, st) {
			near = append(near, st)
		}
	}
	return near
}

// The ways a step fits an attempt, the surest last.
const (
	fitNot         = iota
	fitClient      // by client id only: its registration, and now its authorization
	fitAddress     // by the address only
	fitAddressFree // by the address only, of an attempt that no client has claimed
	fitAgent       // and the User-Agent
	fitBoth        // by client id and address
)

// fit tells how a step without a known sign-in or grant fits an attempt that is
// under way.
func (st *strand) fit(s StoredStep) int {
	sameClient := s.Client != "" && s.Client == st.client
	if s.Client != "" && st.client != "" && !sameClient {
		return fitNot
	}
	if !s.SignIn.IsZero() && !st.signIn.IsZero() || !s.Grant.IsZero() && !st.grant.IsZero() {
		return fitNot
	}
	if byBrowser[s.Kind] && st.browser != ([32]byte{}) && st.browser != s.Address {
		return fitNot // another person's browser
	}
	sameAddress := s.Address != ([32]byte{}) && (s.Address == st.address || byBrowser[s.Kind] && s.Address == st.browser)
	switch {
	case sameClient && sameAddress:
		return fitBoth
	case sameAddress && s.Client == "" && st.agents[s.Agent]:
		return fitAgent
	case sameAddress && st.client == "":
		return fitAddressFree
	case sameAddress:
		return fitAddress
	case sameClient && s.Kind == StepAuthorize && st.signIn.IsZero() && st.browser == ([32]byte{}):
		return fitClient
	}
	return fitNot
}

// shared reports whether everybody's copy of a client has this id: the URL of
// its metadata document.
func shared(client string) bool { return strings.Contains(client, "://") }
