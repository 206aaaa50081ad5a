package demo

import (
	"net/http"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// publishAs publishes a surface file under a name and returns its URL.
func (p *tenant) publishAs(surface, file string) string {
	p.t.Helper()
	answer := p.must(http.MethodPost, "/projects/"+p.slug+"/surfaces/"+surface+"/publish", map[string]string{"file": file})
	return answer["urls"].([]any)[0].(string)
}

// advance lets time pass, here and at the project.
func (w *world) advance(p *tenant, d time.Duration) {
	w.clock.Advance(d)
	p.clock.Advance(d)
}

// await asks until something is so, which it must be soon.
func (w *world) await(t testing.TB, so func() bool) {
	t.Helper()
	for deadline := time.Now().Add(15 * time.Second); !so(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("what was awaited did not happen")
		}
	}
}

// exec changes our own database behind the service's back.
func (w *world) exec(t testing.TB, sql string, args ...any) int64 {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), w.database.AdminDSN)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	tag, err := conn.Exec(t.Context(), sql, args...)
	if err != nil {
		t.Fatal(err)
	}
	return tag.RowsAffected()
}
