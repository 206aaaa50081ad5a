package standin

import (
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
)

//go:embed sql/*.sql
var sqlFiles embed.FS

// openDatabase clones the project's database and opens the owner's pool.
func (p *Project) openDatabase(ctx context.Context, o Options) error {
	template, err := p.template(ctx, o)
	if err != nil {
		return err
	}
	name := p.postgres.NewName()
	if err := p.postgres.CreateDatabase(ctx, name, template); err != nil {
		return fmt.Errorf("clone project database: %w", err)
	}
	p.database = name
	p.owner, err = openPool(ctx, p.postgres.DSN(name))
	return err
}

// template builds the template database of these users and this schema once
// per server. Auth makes the users there, so that hashing their passwords is
// paid once too.
func (p *Project) template(ctx context.Context, o Options) (string, error) {
	bootstrap, err := readSQL("roles", "bootstrap", "auth", "storage")
	if err != nil {
		return "", err
	}
	key, err := json.Marshal([]any{bootstrap, o.Schema, o.Users})
	if err != nil {
		return "", fmt.Errorf("encode template key: %w", err)
	}
	sum := sha256.Sum256(key)
	return p.postgres.Template(ctx, "standin "+hex.EncodeToString(sum[:]), func(ctx context.Context, dsn string) error {
		pool, err := openPool(ctx, dsn)
		if err != nil {
			return err
		}
		defer pool.Close()
		password := "alter role authenticator password '" + p.postgres.RolePassword("authenticator") + "';\n"
		if _, err := pool.Exec(ctx, bootstrap+password); err != nil {
			return fmt.Errorf("run bootstrap: %w", err)
		}
		config := authConfigOf(o)
		config.pool, config.keys, config.anonKey = pool, p.keys, p.keySet.anon
		config.baseURL, config.siteURL = "http://127.0.0.1", "http://127.0.0.1"
		if _, err := newAuthServer(ctx, config); err != nil {
			return fmt.Errorf("make users: %w", err)
		}
		if _, err := pool.Exec(ctx, o.Schema); err != nil {
			return fmt.Errorf("run schema: %w", err)
		}
		return nil
	})
}

func readSQL(names ...string) (string, error) {
	var all string
	for _, name := range names {
		content, err := sqlFiles.ReadFile("sql/" + name + ".sql")
		if err != nil {
			return "", fmt.Errorf("read sql: %w", err)
		}
		all += string(content) + "\n"
	}
	return all, nil
}

func openPool(ctx context.Context, dsn string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, fmt.Errorf("parse connection url: %w", err)
	}
	config.MaxConns = 4
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open pool: %w", err)
	}
	return pool, nil
}
