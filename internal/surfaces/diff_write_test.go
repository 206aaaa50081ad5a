package surfaces

import (
	"slices"
	"testing"
)

const diffWrites = `version: 1
title: Notes
access: { mode: oauth, authorization: direct }
context: { rpc: chumbo_context }
tools:
  - table: notes
    operations: [create, update, delete]
    columns: [id, body, created_at]
    write: { create: { customer_id: , body: { max_length: 200 } }, update: { body: { max_length: 200 } } }
    set: { create: { author_id: claims.sub } }
    guard: { update: created_at }
    dedupe: request_id
  - table: notes
    name: old_notes
    title: Old notes
    operations: [delete]
    columns: [id, customer_id, created_at]
    filters: { created_at: [lt], customer_id: [eq] }
    max_affected: 20
`

func TestDiffClassesWhatWritesChangeForClients(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edits, want, back []string
	}{
		"a column of a patch goes": {
			[]string{"update: { body: { max_length: 200 } }", "update: { customer_id: }"},
			[]string{"breaks notes_update: argument patch.body is gone; calls that send it are refused", "safe notes_update: argument patch.customer_id is new and optional"}, nil,
		},
		"a bound inside a patch tightens": {
			[]string{"update: { body: { max_length: 200 } }", "update: { body: { max_length: 100 } }"},
			[]string{"breaks notes_update: argument patch.body is at most 100 characters now"},
			[]string{"safe notes_update: argument patch.body is at most 200 characters now"},
		},
		"null is accepted": {
			[]string{"update: { body: { max_length: 200 } }", "update: { request_id: { null: true } }", "    dedupe: request_id\n", ""},
			[]string{"safe notes_update: argument patch.request_id is new and optional"}, nil,
		},
		"a column is set for the caller": {
			[]string{"set: { create: { author_id: claims.sub } }", "set: { create: { author_id: claims.sub, created_at: { value: 2026-01-01T00:00:00Z } } }"},
			[]string{`behaviour notes_create: column created_at is set now, from the value "2026-01-01T00:00:00Z"`},
			[]string{"behaviour notes_create: column created_at is not set for the caller any more"},
		},
		"a set column has another source": {
			[]string{"claims.sub", "context.user.id"},
			[]string{"behaviour notes_create: column author_id is set from the context's user.id now, it was the claim sub"}, nil,
		},
		"the guard goes": {
			[]string{"    guard: { update: created_at }\n", ""},
			[]string{"breaks notes_update: argument created_at is gone; calls that send it are refused", "behaviour notes_update: a write no longer loses to a change that came first"},
			[]string{"breaks notes_update: argument created_at is new and required", "behaviour notes_update: a write loses to a change that came first now: created_at must be as last read"},
		},
		"creates are not told apart": {
			[]string{"    dedupe: request_id\n", ""},
			[]string{"behaviour notes_create: identical calls make a row each now"}, []string{"behaviour notes_create: identical calls within ten minutes make one row now (request_id)"},
		},
		"a call writes fewer rows": {
			[]string{"max_affected: 20", "max_affected: 10"},
			[]string{"breaks old_notes_delete: a call writes at most 10 rows now, it was 20; calls that match more are refused"},
			[]string{"behaviour old_notes_delete: a call may write 20 rows now, it was 10"},
		},
		"one row, not many": {
			[]string{"    max_affected: 20\n", ""},
			[]string{"behaviour old_notes_delete: writes one row by its key now; it was every row that matches its filters", "breaks old_notes_delete: argument id is new and required"},
			[]string{"behaviour old_notes_delete: writes every row that matches its filters now, 20 at most; it was one row by its key"},
		},
		"another operation by the same name": {
			[]string{"    operations: [delete]\n", "    operations: [list]\n", "    name: old_notes\n", "    name: { list: old_notes_delete }\n", "    max_affected: 20\n", ""},
			[]string{"behaviour old_notes_delete: lists rows of notes now, it deletes rows of notes before", "behaviour old_notes_delete: is read-only now"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := mustBuild(t, diffWrites, loadSnapshot(t)), mustBuild(t, edited(t, diffWrites, c.edits...), loadSnapshot(t))
			for _, way := range []struct {
				from, to *Compiled
				want     []string
			}{{before, after, c.want}, {after, before, c.back}} {
				got := lines(Diff(way.from, way.to))
				for _, want := range way.want {
					if !slices.Contains(got, want) {
						t.Errorf("%q is not among %q", want, got)
					}
				}
			}
		})
	}
}
