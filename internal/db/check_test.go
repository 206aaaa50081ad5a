package db_test

import (
	"context"
	"errors"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgproto3"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/db/dbtest"
)

func TestCheckRoleRefusesRolesThatRowLevelSecurityDoesNotBind(t *testing.T) {
	t.Parallel()
	d := dbtest.NewDatabase(t)
	conn := admin(t, d)
	var suffix string
	if err := conn.QueryRow(t.Context(), "select replace(gen_random_uuid()::text, '-', '')").Scan(&suffix); err != nil {
		t.Fatal(err)
	}
	member := "grant chumbo_app, chumbo_system to "
	for name, c := range map[string]struct {
		options string
		setup   string // after the memberships; $ is the role
		says    string
	}{
		"fit":        {"noinherit", "", ""},
		"superuser":  {"superuser", "", "superuser"},
		"bypass":     {"noinherit bypassrls", "", "BYPASSRLS"},
		"createrole": {"noinherit createrole", "", "create roles"},
		"stranger":   {"noinherit", "revoke chumbo_app, chumbo_system from $", "not a member"},
		"inherits":   {"inherit", "", "has privileges on"},
		"granted":    {"noinherit", "grant select on chumbo.projects to $", "has privileges on chumbo.projects"},
		"owner":      {"noinherit", "create table public.mine_$ (); alter table public.mine_$ owner to $", "owns"},
		"becomes":    {"noinherit", "grant chumbo_owner to $", "may become chumbo_owner"},
		"reads all":  {"noinherit", "grant pg_read_all_data to $", "may become pg_read_all_data"},
	} {
		role := "t_" + strings.ReplaceAll(name, " ", "_") + "_" + suffix[:12]
		script := "create role " + role + " login password 'x' " + c.options + "; " + member + role
		if c.setup != "" {
			script += "; " + strings.ReplaceAll(c.setup, "$", role)
		}
		if _, err := conn.Exec(t.Context(), script, pgx.QueryExecModeSimpleProtocol); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		t.Cleanup(func() {
			for _, statement := range []string{"drop owned by " + role, "drop role " + role} {
				if _, err := conn.Exec(context.Background(), statement); err != nil {
					t.Errorf("%s: %v", statement, err)
				}
			}
		})
		dsn, err := url.Parse(d.ServerDSN)
		if err != nil {
			t.Fatal(err)
		}
		dsn.User = url.UserPassword(role, "x")
		pool, err := db.OpenSized(t.Context(), dsn.String(), 1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		err = db.CheckRole(t.Context(), pool)
		pool.Close()
		if c.says == "" && err != nil || c.says != "" && (err == nil || !strings.Contains(err.Error(), c.says)) {
			t.Errorf("%s: %v, want %q", name, err, c.says)
		}
	}
}

func TestField85_TransactionPoolerIsRefused(t *testing.T) {
	t.Parallel()
	byPort := "postgres://u:secret-password@db.example.test:6543/postgres"
	for what, err := range map[string]error{
		"check":   db.CheckPooler(t.Context(), byPort),
		"migrate": db.Migrate(t.Context(), byPort, db.MigrateOptions{}),
		"open":    func() error { _, err := db.Open(t.Context(), byPort); return err }(),
	} {
		if !errors.Is(err, db.ErrTransactionPooler) || !strings.Contains(err.Error(), "5432") || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s by port: %v", what, err)
		}
	}
	d := dbtest.NewDatabase(t)
	if err := db.CheckPooler(t.Context(), d.ServerDSN); err != nil {
		t.Errorf("a direct connection: %v", err)
	}
	if err := db.CheckPooler(t.Context(), poolTransactions(t, d.ServerDSN)); !errors.Is(err, db.ErrTransactionPooler) {
		t.Errorf("behind a transaction pooler on another port: %v", err)
	}
}

// poolTransactions serves any number of clients over one session of dsn, each
// transaction of theirs on its own: the smallest transaction pooler there is.
func poolTransactions(t *testing.T, dsn string) string {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), dsn)
	if err != nil {
		t.Fatal(err)
	}
	hijacked, err := conn.PgConn().Hijack()
	if err != nil {
		t.Fatal(err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = listener.Close(), hijacked.Conn.Close() })
	var shared sync.Mutex
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go poolClient(pgproto3.NewBackend(client, client), hijacked.Frontend, &shared)
		}
	}()
	u, err := url.Parse(dsn)
	if err != nil {
		t.Fatal(err)
	}
	u.Host = listener.Addr().String()
	return u.String()
}

func poolClient(client *pgproto3.Backend, server *pgproto3.Frontend, shared *sync.Mutex) {
	if _, err := client.ReceiveStartupMessage(); err != nil {
		return
	}
	client.Send(&pgproto3.AuthenticationOk{})
	client.Send(&pgproto3.ParameterStatus{Name: "standard_conforming_strings", Value: "on"})
	client.Send(&pgproto3.ParameterStatus{Name: "client_encoding", Value: "UTF8"})
	client.Send(&pgproto3.BackendKeyData{ProcessID: 1, SecretKey: []byte{0, 0, 0, 1}})
	client.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	if client.Flush() != nil {
		return
	}
	inTransaction := false
	defer func() {
		if inTransaction {
			shared.Unlock()
		}
	}()
	for {
		message, err := client.Receive()
		if err != nil {
			return
		}
		query, ok := message.(*pgproto3.Query)
		if !ok {
			return // Terminate; the check speaks the simple protocol only
		}
		if !inTransaction {
			shared.Lock()
			inTransaction = true
		}
		server.Send(query)
		if server.Flush() != nil {
			return
		}
		for {
			answer, err := server.Receive()
			if err != nil {
				return
			}
			client.Send(answer)
			ready, ok := answer.(*pgproto3.ReadyForQuery)
			if !ok {
				continue
			}
			if client.Flush() != nil {
				return
			}
			if ready.TxStatus == 'I' {
				shared.Unlock()
				inTransaction = false
			}
			break
		}
	}
}
