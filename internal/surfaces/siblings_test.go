package surfaces

import (
	"strings"
	"testing"
)

const directFile = "version: 1\ntitle: Direct\naccess: { mode: oauth, authorization: direct }\ntools:\n  - { rpc: greet }\n"

func TestDirectSurfacesThatDifferAreWarnedOf(t *testing.T) {
	t.Parallel()
	direct := func(change func(*Access)) Access {
		a := Access{Modes: []Mode{ModeOAuth}, Authorization: AuthorizationDirect, Roles: []string{"authenticated"}}
		change(&a)
		return a
	}
	for name, c := range map[string]struct {
		sibling Access
		own     string
		words   string
	}{
		"the same":               {direct(func(*Access) {}), "", ""},
		"the bridge":             {Access{Modes: []Mode{ModeOAuth}, Authorization: AuthorizationBridge, AAL: AAL2}, "", ""},
		"scopes":                 {direct(func(a *Access) { a.Require = []string{"email"} }), "", "require"},
		"roles":                  {direct(func(a *Access) { a.Roles = []string{"clerk"} }), "", "differs in roles"},
		"the app's roles":        {direct(func(a *Access) { a.RequiredRoles = &RequiredRoles{Claim: []string{"role"}, Roles: []string{"a"}} }), "", "required_roles"},
		"a second factor":        {direct(func(a *Access) { a.AAL = AAL2; a.Require = []string{"email"} }), "", "require, aal"},
		"isolated here only":     {direct(func(a *Access) { a.AAL = AAL2 }), ", isolation: client", "aal"},
		"isolated there only":    {direct(func(a *Access) { a.AAL, a.Isolation = AAL2, IsolationClient }), "", "aal"},
		"isolated on both sides": {direct(func(a *Access) { a.AAL, a.Isolation = AAL2, IsolationClient }), ", isolation: client", ""},
		"an order of its own":    {direct(func(a *Access) { a.Require = []string{"phone", "email"} }), ", require: [email, phone]", ""},
	} {
		facts := known()
		facts.Siblings = []Sibling{{Slug: "beside", Access: c.sibling}}
		compiled, problems := Compile([]byte(edited(t, directFile, "authorization: direct", "authorization: direct"+c.own)), loadSnapshot(t), facts)
		if compiled == nil || mentions(problems, 3, "the surface beside") != (c.words != "") || c.words != "" && !mentions(problems, 3, c.words) {
			t.Errorf("%s: compiled %t, want %q: %v", name, compiled != nil, c.words, problems)
		}
	}
}

// TestServiceKnowsWhatIsLiveBeside: of the same project and organization, and
// nobody else's.
func TestServiceKnowsWhatIsLiveBeside(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	w.snapshot(w.bob)
	strict := edited(t, directFile, "authorization: direct", "authorization: direct, required_roles: [admin]")
	w.publish(w.bob, strict) // also named main, in another organization
	const words = "differs in"
	done := w.publish(w.alice, directFile)
	if mentions(done.Warnings, 0, words) {
		t.Errorf("Bob's surface is told to Alice: %v", done.Warnings)
	}
	beside := w.alice
	beside.surface = w.surface(w.alice, "strict")
	if done := w.publish(beside, strict); !mentions(done.Warnings, 3, "the surface main of this project") {
		t.Errorf("no warning beside main: %v", done.Warnings)
	}
	plan, err := w.service.Plan(t.Context(), w.alice.org, w.alice.project, w.alice.surface, []byte(directFile), known())
	if err != nil || !mentions(plan.Problems, 3, "the surface strict of this project") || strings.Count(problemLines(plan.Problems), words) != 1 {
		t.Errorf("plan: %v, %v", plan.Problems, err)
	}
	built, err := w.service.Check(t.Context(), w.alice.org, w.alice.project, beside.surface, []byte(strict), known())
	if err != nil || strings.Count(problemLines(built.Problems), words) != 1 {
		t.Errorf("check: %v, %v", built.Problems, err)
	}
}

func TestServiceKnowsHowPeopleSignIn(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.snapshot(w.alice)
	src := []byte("version: 1\ntitle: T\naccess: { mode: oauth, aal: aal2 }\ntools:\n  - { rpc: greet }\n")
	warned := func(off bool) bool {
		t.Helper()
		facts := known()
		facts.OAuthOff = off
		built, err := w.service.Check(t.Context(), w.alice.org, w.alice.project, w.alice.surface, src, facts)
		if err != nil || built.Compiled == nil {
			t.Fatalf("%v, %v", built.Problems, err)
		}
		return mentions(built.Problems, 3, "second factor")
	}
	set := func(b builders, method string) {
		t.Helper()
		w.db.Exec(t, `insert into sign_in_settings (organization_id, project_id, method, updated_at) values ($1, $2, $3, now())
			on conflict (organization_id, project_id) do update set method = $3`, b.org.UUID(), b.project.UUID(), method)
	}
	set(w.bob, "hosted") // of another organization
	if !warned(false) || warned(true) {
		t.Error("without settings it is by the project's OAuth server, where that is on")
	}
	set(w.alice, "hosted")
	if warned(false) {
		t.Error("the hosted page asks for the second factor")
	}
	set(w.alice, "oauth")
	if !warned(true) {
		t.Error("the project's own page does not")
	}
}

func problemLines(problems []Problem) string {
	var b strings.Builder
	for _, p := range problems {
		b.WriteString(p.String() + "\n")
	}
	return b.String()
}
