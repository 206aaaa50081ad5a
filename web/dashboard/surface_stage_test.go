package dashboard_test

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/builders"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/localpg"
	"github.com/chumbo-dev/chumbo/internal/mcp"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
	"github.com/chumbo-dev/chumbo/web/dashboard"
)

// surfaceStage is a dashboard on loopback with a project of Acme whose schema
// is imported, and people who are signed in.
type surfaceStage struct {
	url      string
	db       *dbtest.Database
	log      *lockedLog
	tenants  *tenants.Service
	surfaces *surfaces.Service
	builders *builders.Service

	project tenants.Project
	// Alice owns Acme, Vera may only look at it, Bob owns Globex.
	alice, vera, bob *builderAtWork
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

func (l *lockedLog) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// crmSnapshot imports the schema of the example once for all tests.
var crmSnapshot = sync.OnceValues(func() (*surfaces.Snapshot, error) {
	ctx := context.Background()
	postgres, err := localpg.SharedServer()
	if err != nil {
		return nil, err
	}
	project, err := standin.Start(ctx, standin.Options{Postgres: postgres, Schema: standin.CRM, Users: standin.CRMUsers()})
	if err != nil {
		return nil, err
	}
	defer func() { _ = project.Close() }()
	conn, err := pgx.Connect(ctx, project.DSN())
	if err != nil {
		return nil, err
	}
	defer func() { _ = conn.Close(ctx) }()
	return surfaces.ImportPostgres(ctx, conn, surfaces.ImportOptions{})
})
