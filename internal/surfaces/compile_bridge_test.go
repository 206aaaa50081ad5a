package surfaces

import (
	"slices"
	"strings"
	"testing"
)

const bridgeFile = `version: 1
title: CRM
access: { mode: oauth, authorization: bridge, advertise: [crm.read] }
tools:
  - { table: customers, columns: [id, name], scopes: [crm.read] }
  - { rpc: archive_customer, description: Archives., scopes: [crm.write] }
`

func TestBridgeIsWhatAFileGetsThatDoesNotSay(t *testing.T) {
	t.Parallel()
	without := edited(t, bridgeFile, "authorization: bridge, ", "")
	if a, b := Build([]byte(bridgeFile), loadSnapshot(t), known()), Build([]byte(without), loadSnapshot(t), known()); a.Compiled == nil || a.Digest != b.Digest || !b.Compiled.Access.Bridged() {
		t.Errorf("written out %q, left out %q: %v %v", a.Digest, b.Digest, a.Problems, b.Problems)
	}
	public := "version: 1\ntitle: News\naccess: { mode: public, public: { confirm: true, calls: 60, per: 1m } }\ntools:\n  - { table: announcements, columns: [id, body], public: true }\n"
	if c := mustBuild(t, public, loadSnapshot(t)); c.Access.Authorization != "" || c.Access.Bridged() || c.Access.Scopes != nil {
		t.Errorf("a surface without oauth has an authorization server: %+v", c.Access)
	}
	direct := edited(t, bridgeFile, "authorization: bridge, advertise: [crm.read]", "authorization: direct", ", scopes: [crm.read]", "", ", scopes: [crm.write]", "")
	if c := mustBuild(t, direct, loadSnapshot(t)); c.Access.Scopes != nil {
		t.Errorf("direct has scopes of its own: %v", c.Access.Scopes)
	}
}

func TestField40_BridgeWorksWithAnyProject(t *testing.T) {
	t.Parallel()
	for name, facts := range map[string]ProjectFacts{
		"HS256":            {Signing: SigningHS256, ScopesSupported: []string{}},
		"OAuth off":        {Signing: SigningAsymmetric, OAuthOff: true, ScopesSupported: []string{}},
		"no own scopes":    {Signing: SigningAsymmetric, ScopesSupported: []string{"openid"}},
		"nothing is known": {},
	} {
		b := Build([]byte(bridgeFile), loadSnapshot(t), facts)
		if b.Compiled == nil {
			t.Errorf("%s: %v", name, b.Problems)
			continue
		}
		for _, p := range b.Problems {
			if !strings.Contains(p.Message, "index") {
				t.Errorf("%s: %s", name, p)
			}
		}
		if want := []string{"crm.read", "crm.write"}; !slices.Equal(b.Compiled.Access.Scopes, want) {
			t.Errorf("%s: scopes %v, want %v", name, b.Compiled.Access.Scopes, want)
		}
	}
}

func TestDirectRefusalsNameTheBridge(t *testing.T) {
	t.Parallel()
	src := []byte(edited(t, bridgeFile, "authorization: bridge", "authorization: direct"))
	_, problems := Compile(src, loadSnapshot(t), ProjectFacts{Signing: SigningHS256, OAuthOff: true, ScopesSupported: []string{"openid"}})
	if len(problems) < 5 {
		t.Fatalf("problems %v, want the keys, the server and three scopes", problems)
	}
	for _, p := range problems {
		if p.Severity == SeverityError && !strings.Contains(p.Message, "authorization: bridge") {
			t.Errorf("does not name the other way: %s", p)
		}
	}
}

func TestScopesThatBindNobodyAreWarnedOf(t *testing.T) {
	t.Parallel()
	src := edited(t, bridgeFile, "authorization: bridge, advertise: [crm.read]", "authorization: direct", "[crm.read]", "[email]", "[crm.write]", "[email]")
	if _, problems := Compile([]byte(src), loadSnapshot(t), known()); !mentions(problems, 5, "bridge is recommended") {
		t.Errorf("no warning: %v", problems)
	}
	src = edited(t, src, ", scopes: [email]", "", ", scopes: [email]", "")
	if _, problems := Compile([]byte(src), loadSnapshot(t), known()); mentions(problems, 0, "recommended") {
		t.Errorf("warned without scopes: %v", problems)
	}
	if _, problems := Compile([]byte(bridgeFile), loadSnapshot(t), known()); mentions(problems, 0, "recommended") {
		t.Errorf("the bridge is warned of: %v", problems)
	}
}

func TestFromDirectToBridgeBreaksEveryClient(t *testing.T) {
	t.Parallel()
	bridge := edited(t, bridgeFile, ", advertise: [crm.read]", "", ", scopes: [crm.read]", "", ", scopes: [crm.write]", "")
	direct := edited(t, bridge, "authorization: bridge", "authorization: direct")
	a, b := mustBuild(t, direct, loadSnapshot(t)), mustBuild(t, bridge, loadSnapshot(t))
	for name, changes := range map[string][]Change{"to bridge": Diff(a, b), "to direct": Diff(b, a)} {
		if len(changes) != 1 || changes[0].Class != ChangeBreaks || !strings.Contains(changes[0].Summary, "every client must sign in again") {
			t.Errorf("%s: %v", name, lines(changes))
		}
	}
	// The surface's list of scopes follows from the rest, which is told.
	more := mustBuild(t, edited(t, bridgeFile, "scopes: [crm.write]", "scopes: [crm.write, crm.admin]"), loadSnapshot(t))
	changes := Diff(mustBuild(t, bridgeFile, loadSnapshot(t)), more)
	if len(changes) != 1 || changes[0].Capability != "archive_customer" {
		t.Errorf("a tool's new scope: %v", lines(changes))
	}
}

func TestEffectNamesWhatAToolWrites(t *testing.T) {
	t.Parallel()
	c := mustBuild(t, bridgeFile, loadSnapshot(t))
	effects := map[string]string{}
	for i := range c.Tools {
		effects[c.Tools[i].Name] = c.Tools[i].Effect()
	}
	if effects["customers_list"] != "" || effects["customers_get"] != "" || effects["archive_customer"] != "archive_customer rpc public.archive_customer destructive" {
		t.Errorf("effects %q", effects)
	}
	archive := toolNamed(c.Tools, "archive_customer")
	base, seen := archive.Effect(), map[string]string{}
	seen[base] = "unchanged"
	for name, change := range map[string]func(*Tool){
		"another name":         func(t *Tool) { t.Name = "archive" },
		"another function":     func(t *Tool) { t.RPC.Relation.Name = "delete_customer" },
		"another schema":       func(t *Tool) { t.RPC.Relation.Schema = "private" },
		"not destructive":      func(t *Tool) { t.Annotations.Destructive = false },
		"a name that pretends": func(t *Tool) { t.Annotations.Destructive = false; t.RPC.Relation.Name = "archive_customer destructive" },
		"only reading":         func(t *Tool) { t.Annotations.ReadOnly = true },
	} {
		other, plan := *archive, *archive.RPC
		other.RPC = &plan
		change(&other)
		if twin := seen[other.Effect()]; twin != "" {
			t.Errorf("%s has the effect of %s: %s", name, twin, other.Effect())
		}
		seen[other.Effect()] = name
	}
	same, plan := *archive, *archive.RPC
	same.RPC = &plan
	same.Title, same.Description, same.Input = "Another title", "Another text.", nil
	plan.Arguments = plan.Arguments[:1]
	if same.Effect() != base {
		t.Error("words and arguments are part of the effect")
	}
}
