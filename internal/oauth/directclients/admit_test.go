package directclients

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

func TestNewSaysWhatIsMissing(t *testing.T) {
	t.Parallel()
	if _, err := New(Config{}); err == nil {
		t.Error("nothing is missing")
	}
}

func TestAClientBelongsToTheSurfaceItCameToFirst(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := w.replica(t)
	for _, server := range []*world{w, second, w} {
		server.admits(t, w.main, "client-1")
		server.refuses(t, w.sales, "client-1")
		server.admits(t, w.sales, "client-2")
		server.refuses(t, w.main, "client-2")
	}
	err := w.admit(t, w.sales, "client-1")
	var challenge *oauth.Challenge
	if !errors.As(err, &challenge) || !strings.Contains(challenge.Header(), `error="invalid_token"`) ||
		!strings.Contains(challenge.Header(), "belongs to another server of the app") || !strings.Contains(challenge.Header(), "/acme/sales/mcp") {
		t.Errorf("got %s", challenge.Header())
	}
	// Where clients are not isolated the row is no limit, but it counts elsewhere.
	w.admits(t, isolated(w.sales, false), "client-1")
	w.admits(t, isolated(w.sales, false), "client-3")
	w.service.writeUses()
	second.refuses(t, w.main, "client-3")
	second.admits(t, w.sales, "client-3")
}

// TestAliceAndBobWithOneClientID: the same project at Supabase, registered by two
// organizations. What one knows of a client is nothing to the other.
func TestAliceAndBobWithOneClientID(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	second := w.replica(t)
	var wg sync.WaitGroup
	for _, server := range []*world{w, second} {
		for _, ep := range []*tenants.Endpoint{w.main, w.globex} {
			wg.Go(func() {
				for range 20 {
					if err := server.admit(t, ep, "client-1"); err != nil {
						t.Errorf("%s: %v", ep.Resource.Path, err)
						return
					}
				}
			})
		}
	}
	wg.Wait()
	w.service.Name(w.globex, w.caller(w.globex, "client-1"), "Bob's agent")
	w.service.writeUses()
	hers, his := w.clients(t, w.alice, w.main.Project.ID), w.clients(t, w.bob, w.globex.Project.ID)
	if len(hers) != 1 || hers["client-1"].Surface != w.main.Surface || hers["client-1"].Name != "" {
		t.Errorf("Alice's: %+v", hers)
	}
	if len(his) != 1 || his["client-1"].Surface != w.globex.Surface || his["client-1"].Name != "Bob's agent" {
		t.Errorf("Bob's: %+v", his)
	}
	for _, p := range []struct {
		who     tenants.Principal
		project *tenants.Endpoint
	}{{w.alice, w.globex}, {w.bob, w.main}} {
		if list, err := w.service.List(t.Context(), p.who, p.project.Project.ID); len(list) != 0 || !fault.Is(err, fault.NotFound) {
			t.Errorf("the other's clients: %+v, %v", list, err)
		}
	}
}

// TestTwoServersAndTwoSurfacesAtOnce: exactly one surface wins a new client,
// whoever asks where.
func TestTwoServersAndTwoSurfacesAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	servers := []*world{w, w.replica(t)}
	for i := range 20 {
		client := fmt.Sprint("client-", i)
		var mu sync.Mutex
		won := map[string]int{}
		var wg sync.WaitGroup
		for _, server := range servers {
			for _, ep := range []*tenants.Endpoint{w.main, w.sales} {
				wg.Go(func() {
					err := server.admit(t, ep, client)
					var challenge *oauth.Challenge
					if err != nil && !errors.As(err, &challenge) {
						t.Errorf("%s: %v", ep.Resource.Path, err)
					}
					if err == nil {
						mu.Lock()
						won[ep.SurfaceSlug]++
						mu.Unlock()
					}
				})
			}
		}
		wg.Wait()
		if len(won) != 1 || won["main"]+won["sales"] != len(servers) {
			t.Errorf("%s: admitted at %v", client, won)
		}
	}
}

func TestABindingIsRememberedUntilItChanges(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hears(t)
	w.admits(t, w.main, "client-1")
	written := func() (at time.Time) {
		w.query(t, &at, "select last_used_at from direct_clients where client_id = 'client-1'")
		return at
	}
	before := written()
	w.clock.Advance(time.Second)
	w.hears(t)
	w.admits(t, w.main, "client-1")
	if at := written(); !at.Equal(before) {
		t.Error("the database was asked again")
	}
	w.Exec(t, "update direct_clients set surface_id = $1 where client_id = 'client-1'", w.sales.Surface.UUID())
	eventually(t, "the change is heard", func() bool { return w.admit(t, w.main, "client-1") != nil })
	w.refuses(t, w.main, "client-1")
	w.admits(t, w.sales, "client-1")
	w.Exec(t, "delete from surface_urls where surface_id = $1", w.sales.Surface.UUID())
	w.Exec(t, "delete from surfaces where id = $1", w.sales.Surface.UUID())
	eventually(t, "the client is free again", func() bool { return w.admit(t, w.main, "client-1") == nil })
}

func TestWhileTheDatabaseIsAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.hears(t)
	w.admits(t, w.main, "client-1")
	w.refuses(t, w.sales, "client-1")
	gone, err := pgxpool.New(t.Context(), "postgres://nobody@127.0.0.1:1/none?connect_timeout=1")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gone.Close)
	w.service.cfg.Store = db.NewStore(gone)
	w.clock.Advance(20 * time.Second) // memory is no longer known to be right
	for range 3 {
		w.admits(t, w.main, "client-1")
		w.refuses(t, w.sales, "client-1")
	}
	w.unknown(t, w.main, "client-2")
	w.admits(t, isolated(w.main, false), "client-2")
	w.service.writeUses() // in vain, and nothing breaks
	w.service.cfg.Store = w.store
	w.clock.Advance(awayFor)
	w.admits(t, w.main, "client-2")
}

func TestClientsThatCannotBeKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, client := range []string{"", "a\x00b", "cliént", "a\nb", strings.Repeat("a", longestClient+1)} {
		w.refuses(t, w.main, client)
		w.admits(t, isolated(w.main, false), client)
	}
	w.service.writeUses()
	w.admits(t, w.main, strings.Repeat("a", longestClient))
	if list := w.clients(t, w.alice, w.main.Project.ID); len(list) != 1 {
		t.Errorf("clients %+v", list)
	}
}

func TestTenThousandClientsAreKept(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.admits(t, w.main, "old")
	w.Exec(t, `insert into direct_clients (organization_id, project_id, client_id, surface_id, first_seen_at, last_used_at)
		select $1, $2, 'client-' || n, $3, $4, $4 from generate_series(2, $5::int) n`,
		w.main.Organization.UUID(), w.main.Project.ID.UUID(), w.main.Surface.UUID(), w.clock.Now(), mostClients)
	if err := w.admit(t, w.main, "new"); !fault.Is(err, fault.Forbidden) || fault.From(err).Code != codeTooMany {
		t.Errorf("isolated: %v", err)
	}
	w.admits(t, isolated(w.main, false), "new")
	w.service.writeUses()
	w.admits(t, w.main, "old")
	w.admits(t, w.main, "client-7")
	w.refuses(t, w.sales, "client-7")
	w.admits(t, w.globex, "new") // another project's count
	var kept int
	w.query(t, &kept, "select count(*) from direct_clients where project_id = $1", w.main.Project.ID.UUID())
	if list := w.clients(t, w.alice, w.main.Project.ID); kept != mostClients || len(list) != Most {
		t.Errorf("%d kept, %d listed", kept, len(list))
	}
}

func TestOnlyDirectCallersHaveClients(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for _, mode := range []oauth.Mode{oauth.ModeBearer, oauth.ModeBridge, oauth.ModeExternal} {
		c := w.caller(w.main, "client-1")
		c.Key.Mode = mode
		w.service.Name(w.main, c, "Agent")
		if err := w.service.Admit(t.Context(), w.main, c); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
	}
	w.service.writeUses()
	if list := w.clients(t, w.alice, w.main.Project.ID); len(list) != 0 {
		t.Errorf("clients %+v", list)
	}
}
