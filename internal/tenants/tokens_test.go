package tenants_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func names(tokens []tenants.APIToken) []string {
	var out []string
	for _, token := range tokens {
		out = append(out, token.Name)
	}
	return out
}

func TestTokensListsThoseNotRevokedNewestFirst(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.clock.Advance(time.Minute)
	until := b.clock.Now().Add(time.Hour)
	ci, _, err := b.service.CreateToken(t.Context(), b.alice, tenants.NewAPIToken{Name: "ci", Scope: tenants.ScopeRead, Expires: until})
	if err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(time.Minute)
	gone, _, err := b.service.CreateToken(t.Context(), b.alice, tenants.NewAPIToken{Name: "gone", Scope: tenants.ScopeRead})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.service.RevokeToken(t.Context(), b.alice, gone); err != nil {
		t.Fatal(err)
	}
	b.clock.Advance(2 * time.Hour)
	list, err := b.service.Tokens(t.Context(), b.alice)
	if err != nil || !slices.Equal(names(list), []string{"ci", "first token"}) {
		t.Fatalf("tokens are %q, %v", names(list), err)
	}
	first := list[0]
	if first.ID != ci || first.Scope != tenants.ScopeRead || first.Builder != b.alice.Builder || !first.ExpiresAt.Equal(until) || first.LastUsedAt != nil {
		t.Errorf("ci is %+v", first)
	}
	if last := list[1]; last.ExpiresAt != nil || last.LastUsedAt == nil || last.Scope != tenants.ScopeAdmin {
		t.Errorf("the first token is %+v", last)
	}
}

func TestAliceAndBobKnowNothingOfEachOthersTokens(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	laptop := b.token(t, b.alice)
	list, err := b.service.Tokens(t.Context(), b.bob)
	if err != nil || len(list) != 1 || list[0].Builder != b.bob.Builder {
		t.Errorf("bob's tokens are %+v, %v", list, err)
	}
	for _, token := range []id.Token{b.alice.Token, id.New[id.TokenKind](), {}} {
		refused(t, "bob revokes", b.service.RevokeToken(t.Context(), b.bob, token), fault.NotFound, "token_unknown")
	}
	viewer := b.bob
	viewer.Role, viewer.Token = tenants.RoleViewer, id.Token{}
	refused(t, "bob as a viewer revokes", b.service.RevokeToken(t.Context(), viewer, b.alice.Token), fault.Forbidden, "viewer")
	if _, err := b.service.VerifyToken(t.Context(), laptop); err != nil {
		t.Errorf("alice's token after bob's tries: %v", err)
	}
	if n := b.count(t, "api_tokens", "revoked_at is not null"); n != 0 {
		t.Errorf("%d tokens are revoked", n)
	}
}

func TestNewTokensAreChecked(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	now := b.clock.Now()
	for _, c := range []struct {
		code string
		n    tenants.NewAPIToken
	}{
		{"scope_invalid", tenants.NewAPIToken{Name: "ci"}},
		{"scope_invalid", tenants.NewAPIToken{Name: "ci", Scope: "Admin"}},
		{"name_invalid", tenants.NewAPIToken{Scope: tenants.ScopeRead}},
		{"name_invalid", tenants.NewAPIToken{Name: strings.Repeat("x", 81), Scope: tenants.ScopeRead}},
		{"secret_key", tenants.NewAPIToken{Name: "sb_secret_0123456789abcdef", Scope: tenants.ScopeRead}},
		{"expires_at_invalid", tenants.NewAPIToken{Name: "ci", Scope: tenants.ScopeRead, Expires: now}},
		{"expires_at_invalid", tenants.NewAPIToken{Name: "ci", Scope: tenants.ScopeRead, Expires: now.Add(-time.Hour)}},
		{"expires_at_invalid", tenants.NewAPIToken{Name: "ci", Scope: tenants.ScopeRead, Expires: now.AddDate(10, 0, 1)}},
	} {
		_, _, err := b.service.CreateToken(t.Context(), b.alice, c.n)
		refused(t, c.code, err, fault.Invalid, c.code)
	}
	if _, _, err := b.service.CreateToken(t.Context(), b.alice, tenants.NewAPIToken{Name: "ci", Scope: tenants.ScopeRead, Expires: now.AddDate(10, 0, 0)}); err != nil {
		t.Errorf("ten years: %v", err)
	}
	if n := b.count(t, "audit_events", "action = 'token.create' and outcome = 'refused'"); n != 8 {
		t.Errorf("%d audit rows of refusals, want 8", n)
	}
	if n := b.count(t, "audit_events", "detail::text ~ 'sb_secret' or target ~ 'sb_secret'"); n != 0 {
		t.Error("a refused secret is in the audit log")
	}
}

// TestScopesHold walks role and scope over what needs which.
func TestScopesHold(t *testing.T) {
	t.Parallel()
	for _, role := range []tenants.Role{tenants.RoleOwner, tenants.RoleAdmin, tenants.RoleDeveloper, tenants.RoleViewer} {
		for _, scope := range []tenants.Scope{tenants.ScopeRead, tenants.ScopeWrite, tenants.ScopeAdmin} {
			p := tenants.Principal{Role: role, Scope: scope}
			mayWrite := scope != tenants.ScopeRead && role != tenants.RoleViewer
			mayAdminister := scope == tenants.ScopeAdmin && (role == tenants.RoleOwner || role == tenants.RoleAdmin)
			if got := p.MayWrite() == nil; got != mayWrite {
				t.Errorf("%s with %s may write: %v", role, scope, got)
			}
			if got := p.MayAdminister() == nil; got != mayAdminister {
				t.Errorf("%s with %s may administer: %v", role, scope, got)
			}
		}
	}
	if (tenants.Principal{}).MayWrite() == nil || (tenants.Principal{Scope: tenants.ScopeAdmin, Role: "guest"}).MayAdminister() == nil {
		t.Error("nobody may do something")
	}
}

func TestScopeOfATokenIsTheScopeOfItsPrincipal(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	for _, scope := range []tenants.Scope{tenants.ScopeRead, tenants.ScopeWrite} {
		_, token, err := b.service.CreateToken(t.Context(), b.alice, tenants.NewAPIToken{Name: "ci", Scope: scope})
		if err != nil {
			t.Fatal(err)
		}
		p, err := b.service.VerifyToken(t.Context(), token)
		if err != nil || p.Scope != scope {
			t.Errorf("scope is %q, %v, want %s", p.Scope, err, scope)
		}
		_, _, err = b.service.CreateToken(t.Context(), p, tenants.NewAPIToken{Name: "more", Scope: tenants.ScopeAdmin})
		if !fault.Is(err, fault.Forbidden) {
			t.Errorf("a token of scope %s makes another: %v", scope, err)
		}
		if err := b.service.RevokeToken(t.Context(), p, b.alice.Token); !fault.Is(err, fault.Forbidden) {
			t.Errorf("a token of scope %s revokes another: %v", scope, err)
		}
	}
}

func TestEverybodyMayEndTheirOwnToken(t *testing.T) {
	t.Parallel()
	b := signedIn(t)
	carol := b.member(t, "carol@example.test", "Initech") // moves into Acme as a viewer
	b.Exec(t, "insert into members (organization_id, builder_id, role, created_at) values ($1, $2, 'viewer', now())",
		b.alice.Organization.ID.UUID(), carol.Builder.ID.UUID())
	dashboard := carol
	dashboard.Organization, dashboard.Role, dashboard.Token, dashboard.Address = b.alice.Organization, tenants.RoleViewer, id.Token{}, bobsAddress
	var made []tenants.Principal
	for range 2 {
		grant := b.device(t, tenants.ScopeRead)
		b.decide(t, dashboard, grant, true)
		out, err := b.service.PollDevice(t.Context(), grant.DeviceCode)
		if err != nil {
			t.Fatal(err)
		}
		p, err := b.service.VerifyToken(t.Context(), out.Token)
		if err != nil {
			t.Fatal(err)
		}
		made = append(made, p)
	}
	refused(t, "one token ends the other", b.service.RevokeToken(t.Context(), made[0], made[1].Token), fault.Forbidden, "scope_read")
	if err := b.service.RevokeToken(t.Context(), made[0], made[0].Token); err != nil {
		t.Errorf("a token ends itself: %v", err)
	}
	refused(t, "a viewer ends alice's", b.service.RevokeToken(t.Context(), dashboard, b.alice.Token), fault.Forbidden, "viewer")
	if err := b.service.RevokeToken(t.Context(), dashboard, made[1].Token); err != nil {
		t.Errorf("a viewer ends their own from the dashboard: %v", err)
	}
	if n := b.count(t, "audit_events", "action = 'token.revoke' and outcome = 'ok'"); n != 2 {
		t.Errorf("%d audit rows, want 2", n)
	}
}

func TestTokenOfABuilderWhoLeftIsRefused(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	alices, bobs := b.token(t, b.alice), b.token(t, b.bob)
	b.Exec(t, "alter table api_tokens drop constraint api_tokens_organization_id_builder_id_fkey") // as removing a member would
	b.Exec(t, "delete from members where builder_id = $1", b.alice.Builder.ID.UUID())
	_, err := b.service.VerifyToken(t.Context(), alices)
	refused(t, "alice's token", err, fault.Unauthenticated, "token_unknown")
	if _, err := b.service.VerifyToken(t.Context(), bobs); err != nil {
		t.Errorf("bob's token: %v", err)
	}
}
