package apikeys

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// panicking is an app whose answer nobody can stand.
type panicking struct{}

func (panicking) Call(context.Context, supabase.Session, supabase.Call) (supabase.Answer, error) {
	panic("partner-acme")
}

// TestAPanicOverOneAppsAnswerEndsNothingElse: questions run on a goroutine of
// their own, where a panic would end the process, for every tenant.
func TestAPanicOverOneAppsAnswerEndsNothingElse(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.service.cfg.Projects = panicking{}
	for range 2 {
		c, err := w.service.AdmitChecked(t.Context(), w.main, "partner-acme", visitor)
		if c != nil || !fault.Is(err, fault.Unavailable) || strings.Contains(err.Error(), "partner-acme") {
			t.Fatalf("%v, %v; want unavailable", c, err)
		}
	}
	if strings.Contains(w.logs.String(), "partner-acme") {
		t.Error("the value of the panic is in the log")
	}
}

// TestGuessesFromManyAddressesTakeNothingFromCalls: everybody may guess, from as
// many addresses as they have, and the app's function is as slow as it is. Calls
// of the project's users go on beside that.
func TestGuessesFromManyAddressesTakeNothingFromCalls(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	var once sync.Once
	arrived, answer := make(chan struct{}), make(chan struct{})
	w.project.Intercept(func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
			if r.URL.Path == check {
				once.Do(func() { close(arrived) })
				<-answer
			}
			next.ServeHTTP(rw, r)
		})
	})
	var flood sync.WaitGroup
	for n := range 150 {
		flood.Go(func() {
			_, _ = w.service.AdmitChecked(t.Context(), w.main, fmt.Sprint("guess-", n), fmt.Sprintf("2001:db8:0:%x::1", n))
		})
	}
	<-arrived
	eventually(t, "the lane of guesses is full", func() bool {
		_, err := w.service.AdmitChecked(t.Context(), w.main, newSecret().Reveal()[4:], "192.0.2.99")
		return fault.Is(err, fault.Unavailable)
	})
	project := supabase.Project{ID: w.main.Project.ID, APIOrigin: w.main.Project.APIOrigin, PublishableKey: w.main.Project.PublishableKey}
	other := supabase.Call{Function: "nothing_of_this_name", Arguments: []byte("{}")}
	_, err := w.service.cfg.Projects.Call(t.Context(), supabase.AsAnon(project), other)
	var answered *supabase.Error
	if !errors.As(err, &answered) || answered.Status != http.StatusNotFound {
		t.Errorf("a call beside the flood: %v", err)
	}
	close(answer)
	flood.Wait()
}
