package tenants_test

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// cheap is a cost that lets tests sign in by the hundred.
var cheap = tenants.PasswordCost{MemoryKiB: 64, Passes: 1, Lanes: 1}

const (
	alicesPassword = "four words in a row"
	bobsPassword   = "another four words, in a row"
	alicesAddress  = "192.0.2.1"
	bobsAddress    = "198.51.100.2"
)

func secret(text string) seal.Secret { return seal.NewSecret(text) }

// passwords gives Alice and Bob theirs.
func (b *bundle) passwords(t *testing.T) {
	t.Helper()
	for email, password := range map[string]string{"alice@example.test": alicesPassword, "bob@example.test": bobsPassword} {
		if err := b.service.SetPassword(t.Context(), email, secret(password)); err != nil {
			t.Fatal(err)
		}
	}
}

func asAlice() tenants.SignIn {
	return tenants.SignIn{Email: "alice@example.test", Password: secret(alicesPassword), Address: alicesAddress, Agent: "Firefox"}
}

func asBob() tenants.SignIn {
	return tenants.SignIn{Email: "bob@example.test", Password: secret(bobsPassword), Address: bobsAddress, Agent: "Safari"}
}

func (b *bundle) signIn(t *testing.T, in tenants.SignIn) tenants.Session {
	t.Helper()
	session, err := b.service.SignIn(t.Context(), in)
	if err != nil {
		t.Fatal(err)
	}
	if session.Cookie.IsZero() {
		t.Fatal("sign-in gives no cookie")
	}
	return session
}

func (b *bundle) session(t *testing.T, cookie seal.Secret) tenants.Session {
	t.Helper()
	session, err := b.service.Session(t.Context(), cookie, alicesAddress)
	if err != nil {
		t.Fatal(err)
	}
	return session
}

// refused expects a fault of that kind and code, with a sentence.
func refused(t *testing.T, what string, err error, kind fault.Kind, code string) {
	t.Helper()
	var f *fault.Error
	if !errors.As(err, &f) || f.Kind != kind || f.Code != code || f.Message == "" {
		t.Errorf("%s: %v, want %s %s (%d %s)", what, err, kind, code, kind.Status(), http.StatusText(kind.Status()))
	}
}

func throttled(t *testing.T, what string, err error) {
	t.Helper()
	refused(t, what, err, fault.RateLimited, "too_many_tries")
	if f := fault.From(err); f.RetryAfter <= 0 || f.RetryAfter > 15*time.Minute {
		t.Errorf("%s: retry after %s", what, f.RetryAfter)
	}
}

// empty is a database with nobody in it.
func empty(t *testing.T) *bundle {
	t.Helper()
	b := &bundle{Database: dbtest.NewDatabase(t), clock: newClock()}
	b.service = b.replica(t)
	return b
}

// replica is one more server over the same database, with the same keys.
func (b *bundle) replica(t *testing.T) *tenants.Service {
	t.Helper()
	keys, err := seal.ParseKeyset(secret("AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="))
	if err != nil {
		t.Fatal(err)
	}
	s, err := tenants.NewService(tenants.ServiceConfig{
		Store: b.Store, Hosts: tenants.Hosts{PublicURL: publicURL}, Now: b.clock.Now, Keys: keys, Passwords: cheap,
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// token makes one more API token for a principal.
func (b *bundle) token(t *testing.T, p tenants.Principal) seal.Secret {
	t.Helper()
	_, token, err := b.service.CreateToken(t.Context(), p, tenants.NewAPIToken{Name: "laptop", Scope: tenants.ScopeAdmin})
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// hold runs a statement in a transaction of its own and keeps its locks until
// release commits it.
func (b *bundle) hold(t *testing.T, statement string) (release func()) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), b.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	tx, err := conn.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	return func() {
		if err := tx.Commit(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// waiting returns once that many wait for a lock in this database.
func (b *bundle) waiting(t *testing.T, n int) {
	t.Helper()
	waits := fmt.Sprintf("(select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock') >= %d", n)
	eventually(t, "requests wait", func() bool { return b.count(t, "builders", waits) > 0 })
}
