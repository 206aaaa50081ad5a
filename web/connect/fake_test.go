package connect_test

import (
	"context"
	"errors"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// fakeBridge is a bridge in memory, with the rules that the pages rely on:
// nothing without its cookie, nothing twice, nothing of another project.
type fakeBridge struct {
	mu       sync.Mutex
	methods  map[id.Project]bridge.Methods
	question bridge.Question
	refuse   map[string]error // by the name of the call

	signIns map[id.SignIn]*fakeSignIn
	visits  map[string]bridge.Person
	grants  map[id.Grant]fakeGrant
	answers []bridge.Answer
	calls   []string
	count   int
	outcome bridge.Outcome // of the next attempt to sign in

	pages, ownDomain string // where the pages are; what follows a project's name in its own host
}

type fakeSignIn struct {
	in       bridge.SignIn
	cookie   string
	handOver string
	arriving *bridge.Person
	finished bool
}

type fakeGrant struct {
	bridge.AccessGrant
	who bridge.Person
}

func newFake() *fakeBridge {
	return &fakeBridge{
		methods: map[id.Project]bridge.Methods{}, refuse: map[string]error{}, signIns: map[id.SignIn]*fakeSignIn{},
		visits: map[string]bridge.Person{}, grants: map[id.Grant]fakeGrant{}, pages: pagesURL, ownDomain: ".apps.example.test",
	}
}

func errStartAgain() error {
	return fault.New(fault.NotFound, "start_again", "This sign-in is over, or was begun in another browser. Start again from your AI app.")
}

// call notes a call, and refuses it where the test says so.
func (f *fakeBridge) call(name string) error {
	f.calls = append(f.calls, name)
	return f.refuse[name]
}

func (f *fakeBridge) secret() string {
	f.count++
	return "secret-" + strings.Repeat("x", 30) + string(rune('a'+f.count%26)) + strings.Repeat("y", f.count/26)
}

func (f *fakeBridge) begin(in bridge.SignIn) (*bridge.SignIn, seal.Secret, error) {
	in.ID, in.ExpiresAt = id.New[id.SignInKind](), time.Now().Add(10*time.Minute)
	of := &fakeSignIn{in: in, cookie: f.secret()}
	f.signIns[in.ID] = of
	return &in, seal.NewSecret(of.cookie), nil
}

func (f *fakeBridge) Authorize(_ context.Context, ep *tenants.Endpoint, query url.Values, _ bridge.Visitor) (*bridge.SignIn, seal.Secret, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call("Authorize"); err != nil {
		return nil, seal.Secret{}, err
	}
	return f.begin(bridge.SignIn{
		Endpoint: ep, Purpose: bridge.PurposeAuthorize, RedirectURI: query.Get("redirect_uri"), Scopes: strings.Fields(query.Get("scope")),
		Client: &bridge.Client{ID: query.Get("client_id"), Name: f.question.ClientName},
	})
}

func (f *fakeBridge) Apps(_ context.Context, ep *tenants.Endpoint, _ bridge.Visitor) (*bridge.SignIn, seal.Secret, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.begin(bridge.SignIn{Endpoint: ep, Purpose: bridge.PurposeApps})
}

func (f *fakeBridge) open(signIn id.SignIn, cookie seal.Secret) (*fakeSignIn, error) {
	of := f.signIns[signIn]
	if of == nil || of.finished || cookie.IsZero() || of.cookie != cookie.Reveal() {
		return nil, errStartAgain()
	}
	return of, nil
}

func (f *fakeBridge) Open(_ context.Context, signIn id.SignIn, cookie seal.Secret) (*bridge.SignIn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	of, err := f.open(signIn, cookie)
	if err != nil {
		return nil, err
	}
	in := of.in
	return &in, nil
}

func (f *fakeBridge) Cancel(_ context.Context, in *bridge.SignIn) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.signIns[in.ID].finished = true
	if in.Purpose == bridge.PurposeApps {
		return "", nil
	}
	return in.RedirectURI + "?error=access_denied", nil
}

func (f *fakeBridge) Again(_ context.Context, in *bridge.SignIn) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.signIns[in.ID]
	of.in.Person, of.in.Factor, of.in.Email = nil, false, ""
	return f.call("Again")
}

func (f *fakeBridge) Methods(ctx context.Context, in *bridge.SignIn, onOwnHost bool) (bridge.Methods, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.refuse["Methods"] != nil {
		return bridge.Methods{}, f.refuse["Methods"]
	}
	if err := ctx.Err(); err != nil {
		return bridge.Methods{}, err
	}
	m := f.methods[in.Endpoint.Project.ID]
	m.Password = m.Password && onOwnHost
	return m, nil
}

func (f *fakeBridge) StartOAuth(context.Context, *bridge.SignIn) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return "https://project.example.test/auth/v1/oauth/authorize", f.call("StartOAuth")
}

func (f *fakeBridge) StartProvider(_ context.Context, _ *bridge.SignIn, provider string) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	return "https://project.example.test/auth/v1/authorize?provider=" + provider, f.call("StartProvider")
}

// attempt is any way to sign in: it leads where the test says.
func (f *fakeBridge) attempt(name string, in *bridge.SignIn, email string) (bridge.Outcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err := f.call(name); err != nil {
		return bridge.Outcome{}, err
	}
	of := f.signIns[in.ID]
	switch o := f.outcome; {
	case o.Person != nil && name == "Password":
		of.arriving = o.Person
	case o.Person != nil:
		of.in.Person = o.Person
	case o.Factor:
		of.in.Factor = true
	case o.Mailed:
		of.in.Email = email
	}
	return f.outcome, nil
}

func (f *fakeBridge) Password(_ context.Context, in *bridge.SignIn, email string, _ seal.Secret, captcha string, _ bridge.Visitor) (bridge.Outcome, error) {
	f.mu.Lock()
	f.calls = append(f.calls, "captcha "+captcha)
	f.mu.Unlock()
	return f.attempt("Password", in, email)
}

func (f *fakeBridge) SignUp(_ context.Context, in *bridge.SignIn, email string, _ seal.Secret, _ string, _ bridge.Visitor) (bridge.Outcome, error) {
	return f.attempt("SignUp", in, email)
}

func (f *fakeBridge) SendCode(_ context.Context, in *bridge.SignIn, email, captcha string, _ bridge.Visitor) (bridge.Outcome, error) {
	f.mu.Lock()
	f.calls = append(f.calls, "captcha "+captcha)
	f.mu.Unlock()
	return f.attempt("SendCode", in, email)
}

func (f *fakeBridge) VerifyEmailCode(_ context.Context, in *bridge.SignIn, code string, _ bridge.Visitor) (bridge.Outcome, error) {
	return f.attempt("VerifyEmailCode "+code, in, "")
}

func (f *fakeBridge) VerifyFactor(_ context.Context, in *bridge.SignIn, code string, _ bridge.Visitor) (bridge.Outcome, error) {
	return f.attempt("VerifyFactor "+code, in, "")
}

func (f *fakeBridge) Callback(_ context.Context, query url.Values, cookie func(id.SignIn) seal.Secret, _ bridge.Visitor) (*bridge.SignIn, bridge.Outcome, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, err := id.Parse[id.SignInKind](query.Get("state"))
	if err != nil {
		return nil, bridge.Outcome{}, errStartAgain()
	}
	of, err := f.open(at, cookie(at))
	if err != nil {
		return nil, bridge.Outcome{}, err
	}
	in := of.in
	if err := f.call("Callback"); err != nil {
		return &in, bridge.Outcome{}, err
	}
	of.in.Person = f.outcome.Person
	return &in, f.outcome, nil
}

func (f *fakeBridge) Ticket(in *bridge.SignIn) string { return "t" + in.ID.String() }

func (f *fakeBridge) OpenTicket(_ context.Context, host, ticket string) (*bridge.SignIn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	at, err := id.Parse[id.SignInKind](strings.TrimPrefix(ticket, "t"))
	of := f.signIns[at]
	if err != nil || of == nil || of.finished || host != of.in.Endpoint.Project.Slug+f.ownDomain {
		return nil, errStartAgain()
	}
	in := of.in
	return &in, nil
}

func (f *fakeBridge) HandBack(_ context.Context, in *bridge.SignIn) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.signIns[in.ID]
	of.handOver = f.secret()
	return f.pages + "/connect/complete/" + in.ID.String() + "?h=" + of.handOver, nil
}

func (f *fakeBridge) Complete(_ context.Context, signIn id.SignIn, cookie seal.Secret, secret string) (*bridge.SignIn, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	of, err := f.open(signIn, cookie)
	if err != nil {
		return nil, err
	}
	if secret == "" || secret != of.handOver {
		return nil, errStartAgain()
	}
	of.handOver, of.in.Person = "", of.arriving
	in := of.in
	return &in, nil
}

func (f *fakeBridge) NewVisit(_ context.Context, who *bridge.Person) (seal.Secret, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	cookie := f.secret()
	f.visits[cookie] = *who
	return seal.NewSecret(cookie), nil
}

func (f *fakeBridge) Visit(_ context.Context, ep *tenants.Endpoint, cookie seal.Secret) (*bridge.Person, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	who, known := f.visits[cookie.Reveal()]
	if !known || who.Project != ep.Project.ID {
		return nil, fault.New(fault.Unauthenticated, "visit_over", "Nothing was done: you are not signed in any more. Open the page again.")
	}
	return &who, nil
}

func (f *fakeBridge) EndVisit(_ context.Context, project id.Project, cookie seal.Secret) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.visits[cookie.Reveal()].Project == project {
		delete(f.visits, cookie.Reveal())
	}
	return nil
}

func (f *fakeBridge) Recognize(_ context.Context, in *bridge.SignIn, who *bridge.Person) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if who.Project != in.Endpoint.Project.ID {
		return errors.New("another project's person")
	}
	f.signIns[in.ID].in.Person = who
	return nil
}

func (f *fakeBridge) Question(_ context.Context, in *bridge.SignIn) (*bridge.Question, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if in.Person == nil {
		return nil, errors.New("nobody to ask")
	}
	q := f.question
	q.Surface, q.Redirect, q.Email, q.Scopes = in.Endpoint.Title, in.RedirectURI, in.Person.Email, in.Scopes
	return &q, nil
}

func (f *fakeBridge) Decide(_ context.Context, in *bridge.SignIn, a bridge.Answer, _ bridge.Visitor) (string, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	of := f.signIns[in.ID]
	if of.finished {
		return "", errStartAgain()
	}
	if a.Allow && !a.Skipped && !slices.Contains(f.question.Lifetimes, a.Lifetime) {
		return "", fault.New(fault.Invalid, "lifetime", "Nothing was allowed: choose how long from the list.")
	}
	of.finished = true
	f.answers = append(f.answers, a)
	if !a.Allow {
		return in.RedirectURI + "?error=access_denied", nil
	}
	return in.RedirectURI + "?code=x", nil
}

func (f *fakeBridge) Connected(_ context.Context, who *bridge.Person) ([]bridge.AccessGrant, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var list []bridge.AccessGrant
	for _, g := range f.grants {
		if g.who.Project == who.Project && g.who.Subject == who.Subject {
			list = append(list, g.AccessGrant)
		}
	}
	slices.SortFunc(list, func(a, b bridge.AccessGrant) int { return strings.Compare(b.ID.String(), a.ID.String()) })
	return list, nil
}

// change changes a grant of the person's own.
func (f *fakeBridge) change(who *bridge.Person, grant id.Grant, fn func(*bridge.AccessGrant)) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	g, known := f.grants[grant]
	if !known || g.who.Project != who.Project || g.who.Subject != who.Subject {
		return fault.New(fault.NotFound, "unknown_grant", "Nothing was done: there is no such connected app. Open the list again.")
	}
	fn(&g.AccessGrant)
	f.grants[grant] = g
	return nil
}

func (f *fakeBridge) Revoke(_ context.Context, who *bridge.Person, grant id.Grant) error {
	return f.change(who, grant, func(g *bridge.AccessGrant) {
		now := time.Now()
		g.RevokedAt, g.RevokedWhy = &now, "by_user"
	})
}

func (f *fakeBridge) Narrow(_ context.Context, who *bridge.Person, grant id.Grant, readOnly bool, scopes []string) error {
	return f.change(who, grant, func(g *bridge.AccessGrant) { g.ReadOnly, g.Scopes = readOnly, scopes })
}

func (f *fakeBridge) Widen(_ context.Context, who *bridge.Person, grant id.Grant) error {
	return f.change(who, grant, func(g *bridge.AccessGrant) { g.MoreNow, g.More = false, nil })
}

func (f *fakeBridge) NewPersonalToken(_ context.Context, who *bridge.Person, ep *tenants.Endpoint, name string, readOnly bool, lifetime time.Duration) (bridge.AccessGrant, seal.Secret, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if strings.TrimSpace(name) == "" {
		return bridge.AccessGrant{}, seal.Secret{}, fault.New(fault.Invalid, "name", "No token was made: give it a name.").WithIssues(fault.Issue{Path: "name", Message: "give it a name"})
	}
	g := bridge.AccessGrant{ID: id.New[id.GrantKind](), Surface: ep.Surface, Personal: true, ClientName: name, ReadOnly: readOnly, ApprovedAt: time.Now(), ExpiresAt: time.Now().Add(lifetime), TokenHint: "abcd"}
	f.grants[g.ID] = fakeGrant{AccessGrant: g, who: *who}
	return g, seal.NewSecret("chp_" + f.secret()), nil
}
