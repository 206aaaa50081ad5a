package cli_test

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/api/apitest"
	"github.com/chumbo-dev/chumbo/internal/cli"
)

// whenAsked does something while a question stands, then answers it.
type whenAsked struct {
	do     func()
	answer io.Reader
}

func (w *whenAsked) Read(p []byte) (int, error) {
	if w.do != nil {
		w.do()
		w.do = nil
	}
	return w.answer.Read(p)
}

const file = `version: 1
title: Acme CRM
access: { mode: oauth, authorization: direct }
tools:
  - table: customers
    operations: [list, get]
    columns: [id, name, status]
`

// TestSomebodyPublishesBetweenPlanAndPush: what was agreed to is not what
// would happen any more, so nothing does.
func TestSomebodyPublishesBetweenPlanAndPush(t *testing.T) {
	t.Parallel()
	w := apitest.New(t, apitest.Options{})
	dir := t.TempDir()
	write := func(text string) {
		t.Helper()
		path := filepath.Join(dir, "supabase", "chumbo", "main.yaml")
		if err := os.MkdirAll(filepath.Dir(path), 0o750); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	vars := map[string]string{"CHUMBO_URL": w.URL, "CHUMBO_TOKEN": w.Alice, "SUPABASE_DB_URL": w.Project.DSN()}
	chumbo := func(in io.Reader, args ...string) (int, string) {
		var out bytes.Buffer
		code := cli.Main(t.Context(), cli.Environment{
			Args: args, Getenv: func(name string) string { return vars[name] }, Dir: dir, Out: &out, Err: &out, In: in, IsTerminal: in != nil,
		})
		return code, out.String()
	}
	must := func(args ...string) {
		t.Helper()
		if code, out := chumbo(nil, args...); code != 0 {
			t.Fatalf("%v: exit %d: %s", args, code, out)
		}
	}
	must("link", "--project-url", w.Project.URL(), "--publishable-key", w.Project.PublishableKey(), "--slug", "acme")
	must("import")
	write(file)
	must("push")

	write(strings.Replace(file, "[list, get]", "[list]", 1))
	somebody := func() {
		other := strings.Replace(file, "Acme CRM", "Acme, renamed", 1)
		status, _, body := w.Do(t, w.Alice, http.MethodPost, "/api/v1/projects/acme/surfaces/main/publish", "text/yaml", other)
		if status != http.StatusOK {
			t.Errorf("publish in between: %d %s", status, body)
		}
	}
	code, out := chumbo(&whenAsked{somebody, strings.NewReader("y\n")}, "push")
	if code != 1 || !strings.Contains(out, "alice@example.test") || !strings.Contains(out, "chumbo diff main") {
		t.Errorf("exit %d: %s", code, out)
	}
	if _, out := chumbo(nil, "status"); !strings.Contains(out, "live, revision 2,") {
		t.Errorf("published all the same: %s", out)
	}
}
