package db

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrTransactionPooler is inside every refusal of a transaction pooler, which
// breaks LISTEN, advisory locks and settings of a session.
var ErrTransactionPooler = errors.New("transaction pooler")

// poolerPort is where Supabase and Supavisor serve transaction pooling.
const poolerPort = 6543

// checkTimeout bounds what CheckPooler waits for.
const checkTimeout = 10 * time.Second

func refusePoolerPort(port uint16) error {
	if port != poolerPort {
		return nil
	}
	return fmt.Errorf("%w: port %d serves transaction pooling, which Chumbo cannot use; take the direct or session URL (port 5432)", ErrTransactionPooler, poolerPort)
}

// CheckPooler refuses a database URL that leads to a transaction pooler: by
// its port, or because two sessions are seen to share one server process.
func CheckPooler(ctx context.Context, dsn string) error {
	config, err := pgx.ParseConfig(dsn)
	if err != nil {
		return fmt.Errorf("parse database URL: %w", err)
	}
	if err := refusePoolerPort(config.Port); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	first, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("reach database: %w", err)
	}
	defer func() { _ = first.Close(ctx) }()
	second, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return fmt.Errorf("reach database: %w", err)
	}
	defer func() { _ = second.Close(ctx) }()
	return compareBackends(ctx, first, second)
}

// compareBackends asks which server process is behind the first session, then
// behind the second while its transaction is open, then the first again. A
// session that owns its process always answers the same, and no other does.
func compareBackends(ctx context.Context, first, second *pgx.Conn) error {
	before, err := backendPID(ctx, first)
	if err != nil {
		return err
	}
	tx, err := second.Begin(ctx)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	other, err := backendPID(ctx, tx)
	if err != nil {
		return err
	}
	if before == other { // known already, and a pool of one would not answer the next question
		return errShared()
	}
	after, err := backendPID(ctx, first)
	if err != nil {
		return err
	}
	if before != after {
		return errShared()
	}
	return nil
}

func errShared() error {
	return fmt.Errorf("%w: sessions share server processes; take the direct or session URL of the database (port 5432)", ErrTransactionPooler)
}

func backendPID(ctx context.Context, q interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}) (uint32, error) {
	var pid uint32
	if err := q.QueryRow(ctx, "select pg_backend_pid()::bigint", pgx.QueryExecModeSimpleProtocol).Scan(&pid); err != nil {
		return 0, fmt.Errorf("ask for the server process: %w", err)
	}
	return pid, nil
}

// CheckRole refuses a login role with which Row Level Security would mean
// little: a superuser, one with BYPASSRLS, one that owns a table or has a
// privilege on one, or one that may become anything but chumbo_app and
// chumbo_system. Start runs it, and does not go on after an error.
func CheckRole(ctx context.Context, pool *pgxpool.Pool) error {
	var user string
	var super, bypass, createRole, member bool
	err := pool.QueryRow(ctx, `
		select r.rolname, r.rolsuper, r.rolbypassrls, r.rolcreaterole,
		    coalesce(pg_has_role(app.oid, 'member') and pg_has_role(sys.oid, 'member'), false)
		from pg_roles r
		left join pg_roles app on app.rolname = 'chumbo_app'
		left join pg_roles sys on sys.rolname = 'chumbo_system'
		where r.rolname = session_user`).Scan(&user, &super, &bypass, &createRole, &member)
	if err != nil {
		return fmt.Errorf("read login role: %w", err)
	}
	switch {
	case super:
		return refuseRole(user, "is a superuser")
	case bypass:
		return refuseRole(user, "has BYPASSRLS")
	case createRole:
		return refuseRole(user, "may create roles")
	case !member:
		return refuseRole(user, "is not a member of chumbo_app and chumbo_system; run the migrations first")
	}
	return checkReach(ctx, pool, user)
}

// checkReach looks for what the login role itself holds, and for roles it may
// become.
func checkReach(ctx context.Context, pool *pgxpool.Pool, user string) error {
	const all = "select, insert, update, delete, truncate, references, trigger"
	checks := []struct{ query, why string }{
		{`select c.oid::regclass::text from pg_class c where c.relkind in ('r', 'p', 'v', 'm', 'f')
		  and c.relowner = (select oid from pg_roles where rolname = session_user) order by 1 limit 5`, "owns"},
		{`select c.oid::regclass::text from pg_class c join pg_namespace n on n.oid = c.relnamespace
		  where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname in ('chumbo', 'river')
		  and has_table_privilege(session_user, c.oid, '` + all + `') order by 1 limit 5`, "has privileges on"},
		{`select r.rolname from pg_roles r where pg_has_role(session_user, r.oid, 'member')
		  and r.rolname not in (session_user, 'chumbo_app', 'chumbo_system') order by 1 limit 5`, "may become"},
	}
	for _, check := range checks {
		rows, err := pool.Query(ctx, check.query)
		if err != nil {
			return fmt.Errorf("check login role: %w", err)
		}
		names, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil {
			return fmt.Errorf("check login role: %w", err)
		}
		if len(names) > 0 {
			return refuseRole(user, check.why+" "+strings.Join(names, ", "))
		}
	}
	return nil
}

func refuseRole(user, why string) error {
	return fmt.Errorf("login role %q %s: Row Level Security would not hold; log in as chumbo_server, which server migrate makes", user, why)
}
