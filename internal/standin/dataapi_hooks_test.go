package standin

import (
	"context"
	"net/http"
	"strings"
	"testing"
)

// begin sends a write in the background and returns how to give it up and
// where its status arrives: 0 for one that was given up.
func (c client) begin(method, path, body string, headers ...string) (giveUp func(), status <-chan int) {
	c.t.Helper()
	ctx, cancel := context.WithCancel(c.t.Context())
	req, err := http.NewRequestWithContext(ctx, method, c.p.URL()+"/rest/v1/"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	req.Header.Set("Apikey", c.p.PublishableKey())
	req.Header.Set("Authorization", "Bearer "+c.bearer)
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	done := make(chan int, 1)
	go func() {
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			done <- 0
			return
		}
		_ = res.Body.Close()
		done <- res.StatusCode
	}()
	return cancel, done
}

func TestHeldWrites(t *testing.T) {
	t.Parallel()
	p := startOdd(t, nil)
	c := as(t, p, AliceEmail)

	// Given up after its commit: the row is there, the answer is not.
	hold := p.HoldNext(AfterCommit, "/rest/v1/slots")
	giveUp, status := c.begin("POST", "slots", `{"id":1,"note":"a"}`)
	<-hold.Reached()
	if got := slots(t, c); got != "1 free a" {
		t.Errorf("after the commit: %q", got)
	}
	giveUp()
	if got := <-status; got != 0 {
		t.Errorf("a request that was given up was answered %d", got)
	}

	// Two writers: the second changes the row before the first one's statement.
	hold = p.HoldNext(BeforeStatement, "/rest/v1/slots")
	_, status = c.begin("PATCH", "slots?id=eq.1&note=eq.a", `{"note":"first"}`, "Accept", "application/vnd.pgrst.object+json")
	<-hold.Reached()
	if got := c.do("PATCH", "slots?id=eq.1", `{"note":"second"}`); got.status != 204 {
		t.Errorf("second writer: %d", got.status)
	}
	hold.Release()
	hold.Release()
	if got := <-status; got != 406 {
		t.Errorf("first writer: %d, want 406", got)
	}

	// Held before its commit: nobody sees it, and given up it is undone.
	hold = p.HoldNext(BeforeCommit, "/rest/v1/slots")
	giveUp, status = c.begin("PATCH", "slots?id=eq.1", `{"note":"never"}`)
	<-hold.Reached()
	if got := slots(t, c); got != "1 free second" {
		t.Errorf("before the commit: %q", got)
	}
	giveUp()
	<-status
	if got := c.do("PATCH", "slots?id=eq.1", `{"note":"third"}`); got.status != 204 {
		t.Errorf("after a hold that was given up: %d", got.status)
	}
	if got := slots(t, c); got != "1 free third" {
		t.Errorf("at the end: %q", got)
	}
}

func TestForgottenMaxAffected(t *testing.T) {
	t.Parallel()
	p := startOdd(t, nil)
	c := as(t, p, AliceEmail)
	c.do("POST", "slots", `[{"id":1},{"id":2}]`)
	p.ForgetMaxAffectedNext("/rest/v1/slots")
	const strict = "handling=strict, max-affected=1"
	if got := c.do("PATCH", "slots?id=lt.9", `{"note":"x"}`, "Prefer", strict); got.status != 204 || got.header.Get("Preference-Applied") != "handling=strict" {
		t.Errorf("once: %d %q", got.status, got.header.Get("Preference-Applied"))
	}
	if got := c.do("PATCH", "slots?id=lt.9", `{"note":"y"}`, "Prefer", strict); got.status != 400 || got.code() != "PGRST124" {
		t.Errorf("and then no more: %d %s", got.status, got.body)
	}
}

// TestRepresentationNeedsTheKey: PostgREST returns the primary key with every
// representation, whether it was selected or not.
func TestRepresentationNeedsTheKey(t *testing.T) {
	t.Parallel()
	p := startOdd(t, func(o *Options) {
		o.Schema += `
create table public.drops (id int primary key, body text);
grant insert, select (body) on public.drops to authenticated;`
	})
	c := as(t, p, AliceEmail)
	if got := c.do("POST", "drops", `{"id":1,"body":"a"}`); got.status != 201 {
		t.Errorf("minimal: %d %s", got.status, got.body)
	}
	if got := c.do("POST", "drops?select=body", `{"id":2,"body":"b"}`, "Prefer", "return=representation"); got.status != 403 || got.code() != "42501" {
		t.Errorf("representation: %d %s, want 403 42501", got.status, got.body)
	}
}
