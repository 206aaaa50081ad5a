package surfaces

import (
	"slices"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

func TestPostureLooksAtWhatTheProjectServes(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if _, err := w.service.Posture(t.Context(), w.alice.org, w.alice.project); !fault.Is(err, fault.NotFound) {
		t.Errorf("without a snapshot: %v", err)
	}
	w.snapshot(w.alice)
	used := func() []string {
		t.Helper()
		findings, err := w.service.Posture(t.Context(), w.alice.org, w.alice.project)
		if err != nil || len(findings) == 0 {
			t.Fatalf("posture: %v, %v", findings, err)
		}
		var ids []string
		for _, f := range findings {
			if f.Used {
				ids = append(ids, f.ID)
			}
		}
		return ids
	}
	if got := used(); len(got) != 0 {
		t.Errorf("before anything is served: %q", got)
	}
	w.publish(w.alice, "version: 1\ntitle: CRM\naccess: { mode: oauth, authorization: direct }\ntools:\n"+
		"  - { table: customers, columns: [id, name, visits], filters: { visits: [eq] } }\n")
	if got := used(); !slices.Equal(got, []string{"missing_index:public.customers:visits"}) {
		t.Errorf("of what is served: %q", got)
	}
	// Nothing of Acme's is Bob's to see, not even that it is there.
	if _, err := w.service.Posture(t.Context(), w.bob.org, w.alice.project); !fault.Is(err, fault.NotFound) {
		t.Errorf("Bob sees Alice's posture: %v", err)
	}
}
