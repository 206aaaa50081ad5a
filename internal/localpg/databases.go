package localpg

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
)

// template is one template database; built once, by whoever asks first.
type template struct {
	once sync.Once
	name string
	err  error
}

// CreateDatabase makes a database as a copy of template, which nobody may be
// connected to; an empty template means an empty database.
func (s *Server) CreateDatabase(ctx context.Context, name, template string) error {
	if template == "" {
		template = "template0"
	}
	sql := "create database " + quote(name) + " template " + quote(template)
	if _, err := s.admin.Exec(ctx, sql); err != nil {
		return fmt.Errorf("create database: %w", err)
	}
	s.mu.Lock()
	s.made[name] = true
	s.mu.Unlock()
	return nil
}

// DropDatabase drops a database and ends the connections to it. One that does
// not exist is no error.
func (s *Server) DropDatabase(ctx context.Context, name string) error {
	if _, err := s.admin.Exec(ctx, "drop database if exists "+quote(name)+" with (force)"); err != nil {
		return fmt.Errorf("drop database: %w", err)
	}
	s.mu.Lock()
	delete(s.made, name)
	s.mu.Unlock()
	return nil
}

// NewName is a database name that nobody else on the server uses.
func (s *Server) NewName() string {
	return "chumbo_" + s.run + "_" + hex.EncodeToString(randomBytes(6))
}

// Template returns the name of a template database, building it on the first
// call for key: build gets the URL of an empty database and must close its
// connections before it returns. One build runs at a time on the whole server,
// so that it may also create roles. Settings made with `alter database` and
// rights on the database itself are not copied from a template. A build that
// fails is not tried again.
func (s *Server) Template(ctx context.Context, key string, build func(ctx context.Context, dsn string) error) (string, error) {
	s.mu.Lock()
	t := s.templates[key]
	if t == nil {
		t = &template{}
		s.templates[key] = t
	}
	s.mu.Unlock()

	t.once.Do(func() {
		sum := sha256.Sum256([]byte(key))
		name := "chumbo_" + s.run + "_t" + hex.EncodeToString(sum[:6])
		// Not the caller's context: another caller may be waiting too.
		t.name, t.err = name, s.buildTemplate(context.WithoutCancel(ctx), name, build)
	})
	if t.err != nil {
		return "", fmt.Errorf("build template %s: %w", key, t.err)
	}
	return t.name, nil
}

func (s *Server) buildTemplate(ctx context.Context, name string, build func(ctx context.Context, dsn string) error) error {
	return s.Exclusively(ctx, func(ctx context.Context) error {
		if err := s.CreateDatabase(ctx, name, ""); err != nil {
			return err
		}
		return build(ctx, s.DSN(name))
	})
}

// Clone makes a database from a template for one test, drops it when the test
// ends, and returns its URL. An empty template gives an empty database.
func (s *Server) Clone(t testing.TB, template string) (dsn string) {
	t.Helper()
	name := s.NewName()
	if err := s.CreateDatabase(t.Context(), name, template); err != nil {
		t.Fatalf("clone template: %v", err)
	}
	t.Cleanup(func() {
		if err := s.DropDatabase(context.WithoutCancel(t.Context()), name); err != nil {
			t.Errorf("drop the test's database: %v", err)
		}
	})
	return s.DSN(name)
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
