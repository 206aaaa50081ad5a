package api_test

import (
	"testing"

	"github.com/chumbo-dev/chumbo/internal/api/apitest"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// TestEveryChangeIsInTheAuditLog does what each route that changes something
// is for, and looks for the row it leaves.
func TestEveryChangeIsInTheAuditLog(t *testing.T) {
	t.Parallel()
	w := published(t, apitest.Options{})
	token := w.Token(t, w.Alice, tenants.ScopeAdmin)
	actor := tokenID(t, w, token)
	for _, r := range everyRoute(t, w) {
		if r.needs < write {
			continue
		}
		rows := func(outcome string) int {
			return count(t, w, "select count(*) from audit_events where actor = $1 and outcome = $2 and address = '127.0.0.1' and target <> ''", actor, outcome)
		}
		done, refused := rows("ok"), rows("refused")
		status, answer := send(t, w, token, r.method, r.path, r.body)
		if status < 300 && rows("ok") == done || status >= 400 && rows("refused") != refused+1 {
			t.Errorf("%s %s answered %d, and the audit log does not tell: %v", r.method, r.path, status, answer)
		}
	}
}
