package dedupe_test

import (
	"bytes"
	"context"
	"encoding/hex"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/clocktest"
	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/dedupe"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

func TestMain(m *testing.M) { localpg.TestMain(m) }

var noon = time.Date(2026, time.November, 30, 12, 0, 0, 0, time.UTC)

// world is a database with the keys that all its servers share.
type world struct {
	*dbtest.Database
	keys *seal.Keyset
	log  bytes.Buffer
}

func newWorld(t *testing.T) *world {
	t.Helper()
	keys, err := seal.ParseKeyset(seal.GenerateKey())
	if err != nil {
		t.Fatal(err)
	}
	return &world{Database: dbtest.NewDatabase(t), keys: keys}
}

func (w *world) server(t *testing.T, now func() time.Time) *dedupe.Creates {
	t.Helper()
	c, err := dedupe.New(dedupe.Config{Store: w.Store, Keys: w.keys, Now: now, Logger: slog.New(slog.NewTextHandler(&w.log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func keyOf(t *testing.T, c *dedupe.Creates, surface id.Surface, digest string) uuid.UUID {
	t.Helper()
	key, err := c.Key(t.Context(), surface, []byte(digest))
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestOneKeyForTenMinutesOnEveryServer(t *testing.T) {
	t.Parallel()
	w, clock, surface := newWorld(t), clocktest.New(noon), id.New[id.SurfaceKind]()
	one, other := w.server(t, clock.Now), w.server(t, clock.Now)
	first := keyOf(t, one, surface, "alice makes a note")
	clock.Advance(dedupe.Window - time.Second)
	if again := keyOf(t, other, surface, "alice makes a note"); again != first {
		t.Error("another server, within ten minutes: another key")
	}
	clock.Advance(time.Second)
	later := keyOf(t, other, surface, "alice makes a note")
	if later == first {
		t.Error("the same key after ten minutes")
	}
	clock.Advance(dedupe.Window - time.Second)
	if again := keyOf(t, one, surface, "alice makes a note"); again != later {
		t.Error("the window that began later does not last ten minutes")
	}
}

// TestAliceAndBobShareNoKey: nor do two surfaces, whatever the digest.
func TestAliceAndBobShareNoKey(t *testing.T) {
	t.Parallel()
	w, surface := newWorld(t), id.New[id.SurfaceKind]()
	c := w.server(t, clocktest.New(noon).Now)
	alice := keyOf(t, c, surface, "alice makes a note")
	if keyOf(t, c, surface, "bob makes a note") == alice || keyOf(t, c, id.New[id.SurfaceKind](), "alice makes a note") == alice {
		t.Error("one key for two creates")
	}
}

func TestManyAtOnceGetOneKey(t *testing.T) {
	t.Parallel()
	w, surface := newWorld(t), id.New[id.SurfaceKind]()
	c := w.server(t, clocktest.New(noon).Now)
	var keys sync.Map
	var all sync.WaitGroup
	for range 16 {
		all.Go(func() {
			key, err := c.Key(context.WithoutCancel(t.Context()), surface, []byte("at once"))
			if err != nil {
				t.Error(err)
			}
			keys.Store(key, true)
		})
	}
	all.Wait()
	n := 0
	keys.Range(func(any, any) bool { n++; return true })
	if n != 1 {
		t.Errorf("%d keys", n)
	}
}

func TestWhatIsStoredTellsNothingAndGoes(t *testing.T) {
	t.Parallel()
	w, clock, surface := newWorld(t), clocktest.New(noon), id.New[id.SurfaceKind]()
	c := w.server(t, clock.Now)
	for _, who := range []string{"alice", "bob", "carol"} {
		keyOf(t, c, surface, who+" wrote: a secret")
	}
	if rows := w.rows(t); strings.Contains(rows, hex.EncodeToString([]byte("secret"))) || strings.Contains(rows, hex.EncodeToString([]byte(surface.String()))) || strings.Count(rows, "\n") != 3 {
		t.Error(rows)
	}
	clock.Advance(dedupe.Window)
	keyOf(t, c, surface, "somebody else")
	if rows := w.rows(t); strings.Count(rows, "\n") != 1 {
		t.Errorf("keys whose time is over stay: %s", rows)
	}
}

// rows are the rows as text, bytes in hexadecimal.
func (w *world) rows(t *testing.T) (text string) {
	t.Helper()
	err := w.Store.AsSystem(t.Context(), func(_ *db.Queries, tx pgx.Tx) error {
		return tx.QueryRow(t.Context(), "select coalesce(string_agg(k::text || E'\\n', ''), '') from create_keys k").Scan(&text)
	})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

func TestWithoutTheDatabaseNothingIsCreated(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	c := w.server(t, clocktest.New(noon).Now)
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Key(ended, id.New[id.SurfaceKind](), []byte("alice makes a note")); !fault.Is(err, fault.Unavailable) {
		t.Error(err)
	}
	if strings.Contains(w.log.String(), "note") {
		t.Error(w.log.String())
	}
	if _, err := dedupe.New(dedupe.Config{}); err == nil {
		t.Error("a Creates without a store")
	}
}
