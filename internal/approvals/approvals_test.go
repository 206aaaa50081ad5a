package approvals_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chumbo-dev/chumbo/internal/approvals"
	"github.com/chumbo-dev/chumbo/internal/clocktest"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestMain(m *testing.M) { localpg.TestMain(m) }

var noon = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

const (
	issuer = "https://project.example.test/auth/v1"
	alice  = "alice@example.test"
	bob    = "bob@example.test"
)

// world is two servers of one database, with a surface of each of two
// organizations.
type world struct {
	*dbtest.Database
	clock        *clocktest.Clock
	one, other   *approvals.Service
	acme, globex *tenants.Endpoint
	grant        id.Grant
	log          lockedLog
}

type lockedLog struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lockedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func newWorld(t *testing.T) *world {
	t.Helper()
	keys, err := seal.ParseKeyset(seal.GenerateKey())
	if err != nil {
		t.Fatal(err)
	}
	w := &world{Database: dbtest.NewDatabase(t), clock: clocktest.New(noon)}
	server := func() *approvals.Service {
		s, err := approvals.New(approvals.Config{Store: w.Store, Keys: keys, PagesURL: "https://pages.example.test/", Now: w.clock.Now, Logger: slog.New(slog.NewTextHandler(&w.log, nil))})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	w.one, w.other = server(), server()
	w.acme, w.globex = w.endpoint(t, "acme"), w.endpoint(t, "globex")
	w.grant = id.New[id.GrantKind]()
	upstream := uuid.New()
	w.Exec(t, `insert into upstream_sessions (organization_id, id, project_id, issuer, subject, email, kind, access_token, refresh_token, access_until, created_at, refreshed_at)
		values ($1, $2, $3, $4, $5, 'e', 'session', 'a', 'r', now(), now(), now())`, w.acme.Organization.UUID(), upstream, w.acme.Project.ID.UUID(), issuer, alice)
	w.Exec(t, `insert into grants (organization_id, id, surface_id, project_id, kind, issuer, subject, client_id, client_name, asked, scopes, read_only, writes, upstream_session_id, created_at, approved_at, expires_at)
		values ($1, $2, $3, $4, 'client', $5, $6, 'claude', 'Claude', '{}', '{}', false, '{}', $7, now(), now(), now())`,
		w.acme.Organization.UUID(), w.grant.UUID(), w.acme.Surface.UUID(), w.acme.Project.ID.UUID(), issuer, alice, upstream)
	return w
}

func (w *world) endpoint(t *testing.T, slug string) *tenants.Endpoint {
	t.Helper()
	ep := &tenants.Endpoint{
		Organization: id.New[id.OrganizationKind](), Surface: id.New[id.SurfaceKind](), Title: "Acme CRM",
		Project: tenants.ProjectRef{ID: id.New[id.ProjectKind](), Issuer: issuer}, Resource: tenants.Resource{Ref: "ref-" + slug},
	}
	w.Exec(t, "insert into organizations values ($1, $2, $2, now())", ep.Organization.UUID(), slug)
	w.Exec(t, "insert into projects values ($1, $2, $3, $3, 'u', 'https://' || $3, $4, 'j', 'k', 'hs256', true, '{}', null, now(), now())", ep.Organization.UUID(), ep.Project.ID.UUID(), slug, issuer)
	w.Exec(t, "insert into surfaces values ($1, $2, $3, 'main', 'live', null, null, now(), now())", ep.Organization.UUID(), ep.Surface.UUID(), ep.Project.ID.UUID())
	return ep
}

// call is the same call of somebody's client, unless the digest differs.
func (w *world) call(ep *tenants.Endpoint, subject, client, digest string) approvals.Call {
	return approvals.Call{
		Endpoint: ep, Digest: []byte(digest),
		Caller: &oauth.Caller{Key: oauth.CallerKey{Surface: ep.Surface, Mode: oauth.ModeBridge, Issuer: issuer, Subject: subject, Client: client}, Grant: w.grant},
		About: approvals.About{
			Tool: "crm_archive", Title: "Archive a customer", Surface: "Acme CRM", Question: `Archive "42"?`, Arguments: json.RawMessage(`{"id":42,"why":"private words"}`),
		},
	}
}

func ask(t *testing.T, s *approvals.Service, c approvals.Call) approvals.Answer {
	t.Helper()
	a, err := s.Ask(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// page opens the page of a pending answer.
func page(t *testing.T, s *approvals.Service, url string) approvals.Place {
	t.Helper()
	name, ok := strings.CutPrefix(url, "https://pages.example.test/connect/approvals/")
	if !ok {
		t.Fatalf("the page is at %q", url)
	}
	at, err := s.Find(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

func decide(t *testing.T, s *approvals.Service, at approvals.Place, who string, approve bool) bool {
	t.Helper()
	done, err := s.Decide(t.Context(), at, approvals.Person{Issuer: issuer, Subject: who}, approve)
	if err != nil {
		t.Fatal(err)
	}
	return done
}

func stateOf(t *testing.T, s *approvals.Service, at approvals.Place, who string) approvals.State {
	t.Helper()
	r, err := s.Request(t.Context(), at, approvals.Person{Issuer: issuer, Subject: who})
	if fault.Is(err, fault.NotFound) {
		return "unknown"
	}
	if err != nil {
		t.Fatal(err)
	}
	return r.State
}

func TestAnApprovedCallRunsOnceOnAnyServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	call := w.call(w.acme, alice, "claude", "archive 42")
	asked := ask(t, w.one, call)
	if asked.State != approvals.Pending || !asked.Until.Equal(noon.Add(approvals.Window)) {
		t.Fatalf("%+v", asked)
	}
	if again := ask(t, w.other, call); again != asked {
		t.Errorf("the same call has another page: %+v, %+v", asked, again)
	}
	at := page(t, w.other, asked.URL)
	r, err := w.other.Request(t.Context(), at, approvals.Person{Issuer: issuer, Subject: alice})
	if err != nil || r.Client != "Claude" || r.Question != `Archive "42"?` || string(r.Arguments) != `{"id":42,"why":"private words"}` || r.State != approvals.Pending || at.Ref != "ref-acme" {
		t.Fatalf("%+v %v", r, err)
	}
	if !decide(t, w.one, at, alice, true) || decide(t, w.other, at, alice, false) {
		t.Fatal("an answer counts once")
	}
	if got := stateOf(t, w.one, at, alice); got != approvals.Approved {
		t.Errorf("it is %s", got)
	}
	if got := ask(t, w.other, call); got.State != approvals.Approved {
		t.Fatalf("approved, and told %+v", got)
	}
	if got := ask(t, w.one, call); got.State != approvals.Pending || got.URL == asked.URL {
		t.Errorf("the same call once more: %+v", got)
	}
	if got := stateOf(t, w.one, at, alice); got != approvals.Used {
		t.Errorf("it is %s", got)
	}
	for _, secret := range []string{"private words", "crm_archive", alice} {
		if strings.Contains(w.log.b.String(), secret) {
			t.Errorf("%q is in the log", secret)
		}
	}
}

func TestManyCallsAtOnceUseOneApprovalOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	call := w.call(w.acme, alice, "claude", "archive 42")
	decide(t, w.one, page(t, w.one, ask(t, w.one, call).URL), alice, true)
	var mu sync.Mutex
	var group sync.WaitGroup
	counts := map[approvals.State]int{}
	urls := map[string]bool{}
	for i := range 12 {
		group.Go(func() {
			server := w.one
			if i%2 == 1 {
				server = w.other
			}
			a, err := server.Ask(t.Context(), call)
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			counts[a.State]++
			urls[a.URL] = true
		})
	}
	group.Wait()
	if counts[approvals.Approved] != 1 || counts[approvals.Pending] != 11 || len(urls) != 2 {
		t.Errorf("%v, at %d pages", counts, len(urls)-1)
	}
}

func TestManyUseAStateAtOnceAndOneMay(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var mu sync.Mutex
	var group sync.WaitGroup
	first := 0
	for i := range 12 {
		group.Go(func() {
			used, err := []*approvals.Service{w.one, w.other}[i%2].Use(t.Context(), w.acme.Organization, []byte("state"), noon.Add(time.Minute))
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			defer mu.Unlock()
			if used {
				first++
			}
		})
	}
	group.Wait()
	if first != 1 {
		t.Errorf("%d used it", first)
	}
}

func TestADeclinedCallIsToldSoOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	call := w.call(w.acme, alice, "claude", "archive 42")
	at := page(t, w.one, ask(t, w.one, call).URL)
	decide(t, w.one, at, alice, false)
	if got := stateOf(t, w.one, at, alice); got != approvals.Declined {
		t.Errorf("it is %s", got)
	}
	if got := ask(t, w.other, call); got.State != approvals.Declined {
		t.Fatalf("declined, and told %+v", got)
	}
	if got := ask(t, w.one, call); got.State != approvals.Pending {
		t.Errorf("told twice: %+v", got)
	}
}

func TestQuestionsAndAnswersRunOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	call := w.call(w.acme, alice, "claude", "archive 42")
	first := ask(t, w.one, call)
	at := page(t, w.one, first.URL)
	w.clock.Advance(approvals.Window)
	if stateOf(t, w.one, at, alice) != approvals.Expired || decide(t, w.one, at, alice, true) {
		t.Fatal("answered after its time")
	}
	second := ask(t, w.one, call)
	if second.State != approvals.Pending || second.URL == first.URL {
		t.Fatalf("%+v", second)
	}
	at = page(t, w.one, second.URL)
	w.clock.Advance(approvals.Window - time.Second)
	if !decide(t, w.one, at, alice, true) {
		t.Fatal("not answered within its time")
	}
	w.clock.Advance(approvals.Window)
	if got := ask(t, w.one, call); got.State != approvals.Pending {
		t.Errorf("an answer of %s ago is told: %+v", approvals.Window, got)
	}
}

func TestNobodyAnswersForAnother(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	call := w.call(w.acme, alice, "claude", "archive 42")
	at := page(t, w.one, ask(t, w.one, call).URL)
	inOther := approvals.Place{Name: at.Name, Organization: w.globex.Organization, Surface: w.globex.Surface, Ref: w.globex.Resource.Ref}
	for what, try := range map[string]struct {
		at  approvals.Place
		who approvals.Person
	}{
		"Bob":                           {at, approvals.Person{Issuer: issuer, Subject: bob}},
		"a namesake of another project": {at, approvals.Person{Issuer: "https://other.example.test/auth/v1", Subject: alice}},
		"nobody":                        {at, approvals.Person{}},
		"Alice at another organization": {inOther, approvals.Person{Issuer: issuer, Subject: alice}},
		"Alice at another surface":      {approvals.Place{Name: at.Name, Organization: at.Organization, Surface: w.globex.Surface}, approvals.Person{Issuer: issuer, Subject: alice}},
	} {
		if r, err := w.one.Request(t.Context(), try.at, try.who); !fault.Is(err, fault.NotFound) {
			t.Errorf("%s sees %+v, %v", what, r, err)
		}
		if done, err := w.one.Decide(t.Context(), try.at, try.who, true); done || err != nil {
			t.Errorf("%s answers: %v, %v", what, done, err)
		}
	}
	if !decide(t, w.one, at, alice, true) {
		t.Fatal("Alice cannot answer")
	}
	// What Alice approved is this very call of this very client.
	for what, other := range map[string]approvals.Call{
		"Bob":             w.call(w.acme, bob, "claude", "archive 42"),
		"another client":  w.call(w.acme, alice, "cursor", "archive 42"),
		"other arguments": w.call(w.acme, alice, "claude", "archive 43"),
		"another surface": w.call(w.globex, alice, "claude", "archive 42"),
	} {
		if got := ask(t, w.other, other); got.State != approvals.Pending {
			t.Errorf("%s uses what Alice approved: %+v", what, got)
		}
	}
	if got := ask(t, w.other, call); got.State != approvals.Approved {
		t.Errorf("and Alice's own: %+v", got)
	}
	for _, name := range []string{"", "x", at.Name + "a", strings.ToUpper(at.Name), strings.Repeat("a", 32), "../" + at.Name[3:]} {
		if _, err := w.one.Find(t.Context(), name); !fault.Is(err, fault.NotFound) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

func TestOnlyCallersOfABridgeHaveAPage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for what, change := range map[string]func(*oauth.CallerKey){
		"public":             func(k *oauth.CallerKey) { k.Mode, k.Subject = oauth.ModePublic, "" },
		"direct":             func(k *oauth.CallerKey) { k.Mode = oauth.ModeDirect },
		"nobody":             func(k *oauth.CallerKey) { k.Subject = "" },
		"of another surface": func(k *oauth.CallerKey) { k.Surface = w.globex.Surface },
	} {
		call := w.call(w.acme, alice, "claude", "archive 42")
		change(&call.Caller.Key)
		if a, err := w.one.Ask(t.Context(), call); err == nil {
			t.Errorf("%s: %+v", what, a)
		}
	}
}

func TestACallerHasSoManyQuestions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var group sync.WaitGroup
	var mu sync.Mutex
	made, refused := 0, 0
	for i := range approvals.MaxPending + 5 {
		group.Go(func() {
			_, err := w.one.Ask(t.Context(), w.call(w.acme, alice, "claude", fmt.Sprint(i)))
			mu.Lock()
			defer mu.Unlock()
			switch {
			case err == nil:
				made++
			case fault.Is(err, fault.RateLimited):
				refused++
			default:
				t.Error(err)
			}
		})
	}
	group.Wait()
	if made != approvals.MaxPending || refused != 5 {
		t.Errorf("%d made, %d refused", made, refused)
	}
	if a := ask(t, w.one, w.call(w.acme, bob, "claude", "mine")); a.State != approvals.Pending {
		t.Errorf("Alice's are counted for Bob: %+v", a)
	}
	large := w.call(w.acme, bob, "claude", "large")
	large.About.Arguments = json.RawMessage(`{"text":"` + strings.Repeat("x", approvals.MaxArguments) + `"}`)
	if _, err := w.one.Ask(t.Context(), large); !fault.Is(err, fault.TooLarge) {
		t.Errorf("large arguments: %v", err)
	}
}

func TestAStateIsUsedOnceOnAnyServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	use := func(s *approvals.Service, ep *tenants.Endpoint, name string) bool {
		first, err := s.Use(t.Context(), ep.Organization, []byte(name), noon.Add(time.Minute))
		if err != nil {
			t.Fatal(err)
		}
		return first
	}
	if !use(w.one, w.acme, "a") || use(w.other, w.acme, "a") || use(w.one, w.acme, "a") || !use(w.one, w.acme, "b") || !use(w.one, w.globex, "a") {
		t.Error("a state is not used exactly once by its organization")
	}
}

// TestWithAGrantGoesWhatWasApprovedForIt: no page, no answer, and nothing left
// for the same client when it is allowed anew.
func TestWithAGrantGoesWhatWasApprovedForIt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	call, later := w.call(w.acme, alice, "claude", "archive 42"), w.call(w.acme, alice, "claude", "archive 43")
	decide(t, w.one, page(t, w.one, ask(t, w.one, call).URL), alice, true)
	waiting := page(t, w.one, ask(t, w.one, later).URL)
	w.Exec(t, "update grants set revoked_at = now(), revoked_why = 'user' where id = $1", w.grant.UUID())
	if got := stateOf(t, w.one, waiting, alice); got != "unknown" {
		t.Errorf("the page of a client that is not allowed any more: %s", got)
	}
	if decide(t, w.one, waiting, alice, true) {
		t.Error("it is answered")
	}
	anew := call
	again := *call.Caller
	again.Grant = id.New[id.GrantKind]()
	anew.Caller = &again
	if got := ask(t, w.other, anew); got.State != approvals.Pending {
		t.Errorf("allowed anew, it uses what was approved before: %+v", got)
	}
	again.Grant = id.Grant{}
	if a, err := w.one.Ask(t.Context(), anew); err == nil {
		t.Errorf("without a grant: %+v", a)
	}
}
