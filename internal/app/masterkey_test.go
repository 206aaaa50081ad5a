package app

import (
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// A server with another key than its database's would sign people out and
// could open nothing: it does not start. A rotated key goes after the new one.
func TestServerWithAnotherMasterKeyDoesNotStart(t *testing.T) {
	t.Parallel()
	database, first, second := dbtest.NewDatabase(t), seal.GenerateKey().Reveal(), seal.GenerateKey().Reveal()
	start := func(key string) error {
		cfg, err := LoadConfig([]string{"CHUMBO_PUBLIC_URL=https://mcp.example.test", "CHUMBO_DATABASE_URL=" + database.ServerDSN, "CHUMBO_MASTER_KEY=" + key})
		if err != nil {
			t.Fatal(err)
		}
		server, err := NewServer(t.Context(), cfg, Options{Logger: slog.New(slog.DiscardHandler), Version: "test"})
		if err == nil {
			err = server.Close(t.Context())
		}
		return err
	}
	for _, key := range []string{first, first, second + "," + first} {
		if err := start(key); err != nil {
			t.Fatal(err)
		}
	}
	err := start(second)
	if !errors.Is(err, errWrongMasterKey) || strings.Contains(err.Error(), second) {
		t.Errorf("another key: %v", err)
	}
	if err := start(first); err != nil {
		t.Errorf("the first key afterwards: %v", err)
	}
}
