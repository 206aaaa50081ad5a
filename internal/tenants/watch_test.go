package tenants_test

import (
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"

	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// changes collects what a Watch tells.
type changes struct {
	mu   sync.Mutex
	list []string
}

func (c *changes) add(scope string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.list = append(c.list, scope)
}

func (c *changes) count(scope string) (n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, have := range c.list {
		if have == scope {
			n++
		}
	}
	return n
}

func (b *bundle) notify(t *testing.T, payload string) {
	t.Helper()
	b.Exec(t, "select pg_notify('chumbo_directory', $1)", payload)
}

func TestWatchTellsWhatChangedAndForgetsOnlyThat(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-crm", "main")
	l := b.counted(t, nil)
	d := directory(t, b, tenants.DirectoryConfig{StaleMax: time.Minute})
	w := d.Watch()
	var grants, upstreams changes
	w.OnChange(tenants.ScopeGrant, grants.add)
	w.OnChange(tenants.ScopeUpstream, upstreams.add)

	if m := w.Mark("grant:x"); w.Fresh(m) {
		t.Error("fresh before anything is heard")
	}
	run(t, d)
	warm(t, d, l, "/acme-crm/mcp")
	if grants.count("") != 1 || upstreams.count("") != 1 {
		t.Errorf("the beginning of hearing was told %v and %v, want once each", grants.list, upstreams.list)
	}
	alice, bob, session := tenants.ScopeGrant+uuid.NewString(), tenants.ScopeGrant+uuid.NewString(), tenants.ScopeUpstream+uuid.NewString()
	ofAlice, ofBob := w.Mark(alice, session), w.Mark(bob)
	if !w.Fresh(ofAlice) || !w.Fresh(ofBob) || !w.Usable(ofAlice) {
		t.Fatal("what was read a moment ago is not fresh")
	}
	loaded := l.count()
	b.notify(t, session)
	eventually(t, "alice's session is told", func() bool { return upstreams.count(session) == 1 })
	if w.Fresh(ofAlice) || w.Usable(ofAlice) {
		t.Error("what a notice named still counts")
	}
	if !w.Fresh(ofBob) {
		t.Error("bob's went with alice's")
	}
	ofAlice = w.Mark(alice)
	b.notify(t, bob)
	eventually(t, "bob's grant is told", func() bool { return grants.count(bob) == 1 })
	if w.Fresh(ofBob) || !w.Fresh(ofAlice) || upstreams.count(bob) != 0 {
		t.Error("a notice of bob's grant has another effect than on it")
	}
	if _, err := d.Lookup(t.Context(), host, "/acme-crm/mcp"); err != nil || l.count() != loaded {
		t.Errorf("a notice of a grant made the directory load again: %v", err)
	}
	b.notify(t, "somethingnew:1")
	eventually(t, "what is not understood is told as everything", func() bool { return grants.count("") == 2 && upstreams.count("") == 2 })
	if w.Fresh(ofAlice) {
		t.Error("fresh though anything may have changed")
	}
}

func TestWatchWithTheDatabaseAway(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.surface(t, b.alice, "acme-crm", "main")
	p := newProxy(t, b.ServerDSN)
	l := b.counted(t, p)
	d := directory(t, b, tenants.DirectoryConfig{StaleMax: time.Minute})
	none := directory(t, b, tenants.DirectoryConfig{StaleMax: 0})
	var told changes
	d.Watch().OnChange(tenants.ScopeGrant, told.add)
	run(t, d)
	run(t, none)
	warm(t, d, l, "/acme-crm/mcp")
	warm(t, none, l, "/acme-crm/mcp")
	m, without := d.Watch().Mark("grant:1"), none.Watch().Mark("grant:1")
	p.set(false, true)
	b.clock.Advance(30 * time.Second)
	if d.Watch().Fresh(m) || !d.Watch().Usable(m) {
		t.Error("within the stale bound it must be usable and not fresh")
	}
	if none.Watch().Usable(without) {
		t.Error("usable with a stale bound of 0")
	}
	b.clock.Advance(31 * time.Second)
	if d.Watch().Usable(m) {
		t.Error("usable beyond the stale bound")
	}
	var zero tenants.Mark
	if d.Watch().Fresh(zero) || d.Watch().Usable(zero) {
		t.Error("the zero mark counts")
	}
	before := told.count("")
	p.set(false, false)
	eventually(t, "hearing anew is told", func() bool { return told.count("") > before })
	if d.Watch().Fresh(m) {
		t.Error("what was read before the silence is fresh after it")
	}
}

func TestTriggersOfGrantsAreHeard(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	s := b.surface(t, b.alice, "acme-crm", "main")
	l := b.counted(t, nil)
	d := directory(t, b, tenants.DirectoryConfig{})
	var grants, upstreams changes
	d.Watch().OnChange(tenants.ScopeGrant, grants.add)
	d.Watch().OnChange(tenants.ScopeUpstream, upstreams.add)
	run(t, d)
	warm(t, d, l, "/acme-crm/mcp")
	grant, session := uuid.New(), uuid.New()
	b.Exec(t, `insert into upstream_sessions (organization_id, id, project_id, issuer, subject, email, kind, access_token, refresh_token, access_until, created_at, refreshed_at)
		values ($1, $2, $3, 'i', 's', '', 'oauth', '', '', now(), now(), now())`, s.Organization.UUID(), session, s.Project.UUID())
	b.Exec(t, `insert into grants (organization_id, id, project_id, surface_id, kind, issuer, subject, client_id, client_name, asked, scopes, read_only, writes, upstream_session_id, created_at, approved_at, expires_at)
		values ($1, $2, $3, $4, 'client', 'i', 's', 'c', '', '{}', '{}', false, '{}', $5, now(), now(), now())`,
		s.Organization.UUID(), grant, s.Project.UUID(), s.ID.UUID(), session)
	b.Exec(t, "update grants set last_used_at = now() where id = $1", grant)
	b.Exec(t, "update upstream_sessions set version = version + 1 where id = $1", session)
	b.Exec(t, "update grants set revoked_at = now() where id = $1", grant)
	eventually(t, "the revocation is heard", func() bool { return grants.count(tenants.ScopeGrant+grant.String()) > 0 })
	if n := grants.count(tenants.ScopeGrant + grant.String()); n != 1 {
		t.Errorf("heard %d times: use must not notify", n)
	}
	b.Exec(t, "update upstream_sessions set ended_at = now() where id = $1", session)
	eventually(t, "the end of the session is heard", func() bool { return upstreams.count(tenants.ScopeUpstream+session.String()) == 1 })
}
