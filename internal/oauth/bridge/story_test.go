package bridge

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// attempts joins what was recorded at main, as a builder sees it.
func (w *world) attempts() []events.Attempt {
	w.steps.mu.Lock()
	defer w.steps.mu.Unlock()
	var steps []events.StoredStep
	for _, s := range w.steps.steps {
		if s.Surface == w.ep.Surface {
			steps = append(steps, events.StoredStep{ID: id.New[id.StepKind](), Step: s})
		}
	}
	return events.Attempts(steps, w.clock.Now())
}

// TestTheStoryOfAConnectionIsOneAttempt: from the request for access to the
// refresh that is refused since the access was taken away.
func TestTheStoryOfAConnectionIsOneAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	app := w.client(t, w.ep, "app", appRedirect)
	code := w.code(t, w.ep, request(app.ID, nil), "alice@example.test")
	refusedAs(t, w.post(t, w.ep, "/oauth/token", exchangeForm(app.ID, code, url.Values{"code_verifier": {strings.Repeat("a", 43)}})), 400, "invalid_grant")
	list := w.attempts()
	if len(list) != 1 || list[0].State != events.AttemptFailed || list[0].Broke.Kind != events.StepToken || list[0].Broke.Code != "pkce_mismatch" || list[0].Grant.IsZero() {
		t.Fatalf("with another verifier: %+v", list)
	}
	given := decoded[tokenAnswer](t, w.post(t, w.ep, "/oauth/token", exchangeForm(app.ID, code, nil)), http.StatusOK)
	if list := w.attempts(); len(list) != 1 || list[0].State != events.AttemptConnected {
		t.Fatalf("with a token: %+v", list)
	}
	if rec := w.post(t, w.ep, "/oauth/revoke", url.Values{"client_id": {app.ID}, "token": {given.RefreshToken}}); rec.Code != http.StatusOK {
		t.Fatalf("%d %s", rec.Code, rec.Body)
	}
	w.clock.Advance(time.Hour)
	refusedAs(t, w.post(t, w.ep, "/oauth/token", refreshForm(app.ID, given.RefreshToken)), 400, "invalid_grant")
	list = w.attempts()
	if len(list) != 1 || list[0].State != events.AttemptEnded {
		t.Fatalf("revoked: %+v", list)
	}
	last := list[0].Steps[len(list[0].Steps)-1]
	if last.Kind != events.StepRefresh || last.Code != "revoked" || last.Why == "" {
		t.Errorf("the last step is %+v", last)
	}
}

// Whoever asks without end, and proves nothing, fills nobody's story, and takes
// no room in it from others.
func TestStrangersCannotFillTheStory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	try := func(address string) {
		for range strangerSteps + 30 {
			w.service.step(w.ep, Visitor{Address: address}, events.Step{Kind: events.StepToken, Failed: true, Code: "invalid_client"})
			w.service.step(w.ep, Visitor{Address: address}, events.Step{Kind: events.StepMetadata})
		}
	}
	try("192.0.2.1")
	if n := len(w.steps.of(w.ep.Surface, events.StepToken)); n != strangerSteps {
		t.Errorf("%d failures are kept", n)
	}
	if n := len(w.steps.of(w.ep.Surface, events.StepMetadata)); n != strangerSteps {
		t.Errorf("%d reads are kept", n)
	}
	try("192.0.2.2")
	w.clock.Advance(strangerIn)
	try("192.0.2.1")
	if n := len(w.steps.of(w.ep.Surface, events.StepToken)); n != 3*strangerSteps {
		t.Errorf("%d failures are kept of three", n)
	}
	sales := w.surface(t, w.builder, w.project, "acme", "sales", nil)
	w.service.step(sales, Visitor{Address: "192.0.2.1"}, events.Step{Kind: events.StepMetadata})
	w.service.step(w.ep, Visitor{Address: "192.0.2.1"}, events.Step{Kind: events.StepToken, Failed: true, Grant: id.New[id.GrantKind]()})
	if len(w.steps.of(sales.Surface, events.StepMetadata)) != 1 || len(w.steps.of(w.ep.Surface, events.StepToken)) != 3*strangerSteps+1 {
		t.Error("another surface's, or a grant's, is not kept")
	}
}
