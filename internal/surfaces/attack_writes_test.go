package surfaces

import (
	"strings"
	"testing"
)

// TestWritesThatAreSoonMistakenAreWarnedOf.
func TestWritesThatAreSoonMistakenAreWarnedOf(t *testing.T) {
	t.Parallel()
	const bridge = "version: 1\ntitle: T\naccess: { mode: oauth, authorization: bridge }\ntools:\n"
	const external = "version: 1\ntitle: T\naccess: { mode: oauth, authorization: external, issuer: https://login.example.com, audience: [crm] }\ntools:\n"
	for name, c := range map[string]struct {
		file, says string
		warned     bool
	}{
		"a delete without the scope of update":   {bridge + "  - { table: customers, operations: [list, update, delete], columns: [id, name], write: [name], scopes: { update: [crm.write] } }", "update needs a scope, and delete of the same table does not", true},
		"scopes of all that writes":              {bridge + "  - { table: customers, operations: [list, update, delete], columns: [id, name], write: [name], scopes: { update: [crm.write], delete: [crm.write] } }", "needs a scope", false},
		"no scopes":                              {bridge + "  - { table: customers, operations: [update, delete], columns: [id, name], write: [name] }", "needs a scope", false},
		"a subject that is no user":              {external + "  - { table: notes, operations: [create], columns: [id], write: [customer_id, body], set: { author_id: claims.sub } }", "no user of the project", true},
		"a subject that is one":                  {bridge + "  - { table: notes, operations: [create], columns: [id], write: [customer_id, body], set: { author_id: claims.sub } }", "no user of the project", false},
		"another claim that is not of a subject": {external + "  - { table: notes, operations: [create], columns: [id], write: [customer_id, body], set: { author_id: claims.author } }", "no user of the project", false},
	} {
		warned := false
		for _, p := range Build([]byte(c.file), loadSnapshot(t), known()).Problems {
			warned = warned || p.Severity == SeverityWarning && strings.Contains(p.Message, c.says)
		}
		if warned != c.warned {
			t.Errorf("%s: warned %t", name, warned)
		}
	}
}
