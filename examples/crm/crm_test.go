package crm_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/examples/crm"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

func TestMain(m *testing.M) { localpg.TestMain(m) }

func snapshot(t *testing.T) *surfaces.Snapshot {
	t.Helper()
	project, err := standin.Start(t.Context(), standin.Options{Postgres: localpg.Shared(t), Schema: standin.CRM, Users: standin.CRMUsers()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = project.Close() })
	conn, err := pgx.Connect(t.Context(), project.DSN())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(context.Background()) })
	snap, err := surfaces.ImportPostgres(t.Context(), conn, surfaces.ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// TestSurfaceFilesHaveNoProblemAtAll: what people copy from must be clean, down
// to the last warning.
func TestSurfaceFilesHaveNoProblemAtAll(t *testing.T) {
	t.Parallel()
	snap := snapshot(t)
	for _, name := range []string{"main", "reports", "desk", "assistant"} {
		file, err := crm.SurfaceFile(name)
		if err != nil {
			t.Fatal(err)
		}
		compiled, problems := surfaces.Compile(file, snap, surfaces.ProjectFacts{})
		if compiled == nil || len(problems) > 0 {
			t.Errorf("%s: %v", name, problems)
		}
	}
}
