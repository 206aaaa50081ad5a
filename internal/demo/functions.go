package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

// The Edge Functions of the stand-in project, in Go. examples/crm has the same
// in TypeScript, as they are deployed to a project of Supabase's.

// resultType says that an answer is an MCP result.
const resultType = "application/vnd.chumbo.result+json"

// edge is what the functions know of where they run: set once the project is up.
type edge struct {
	project atomic.Pointer[standin.Project]
	builder atomic.Pointer[builder] // publishes the conformance surface
}

// functions are all functions by slug, and the slugs that anybody may call.
func (e *edge) functions() (all map[string]http.Handler, open []string, err error) {
	file, err := surfaceFile(conformanceSurface)
	if err != nil {
		return nil, nil, err
	}
	all = conformanceFunctions(changer(file, func(ctx context.Context, file []byte) error {
		b := e.builder.Load()
		if b == nil {
			return errors.New("nothing is published yet")
		}
		_, err := b.publishFile(ctx, conformanceSurface, file)
		return err
	}))
	for slug := range all {
		open = append(open, slug)
	}
	all["build-report"] = http.HandlerFunc(e.buildReport)
	all["announce"] = http.HandlerFunc(announce)
	all["interview"] = answering(interview)
	return all, open, nil
}

// buildReport counts what its caller sees: it asks the Data API with the token
// that it was called with.
func (e *edge) buildReport(w http.ResponseWriter, r *http.Request) {
	var arguments struct {
		Month string `json:"month"`
	}
	if json.NewDecoder(r.Body).Decode(&arguments) != nil || arguments.Month == "" {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusUnprocessableEntity)
		_, _ = w.Write([]byte(`{"message":"Say which month, such as 2026-11."}`))
		return
	}
	p := e.project.Load()
	req, err := http.NewRequestWithContext(r.Context(), http.MethodGet, p.URL()+"/rest/v1/customers?select=id", nil)
	if err != nil {
		http.Error(w, "no request", http.StatusInternalServerError)
		return
	}
	req.Header.Set("Apikey", p.PublishableKey())
	req.Header.Set("Authorization", r.Header.Get("Authorization"))
	res, err := (&http.Client{Timeout: 10 * time.Second}).Do(req)
	if err != nil {
		http.Error(w, "no answer", http.StatusInternalServerError)
		return
	}
	defer func() { _ = res.Body.Close() }()
	var rows []json.RawMessage
	if err := json.NewDecoder(io.LimitReader(res.Body, 1<<20)).Decode(&rows); err != nil {
		http.Error(w, "no rows", http.StatusInternalServerError)
		return
	}
	writeJSON(w, "application/json", object{"month": arguments.Month, "rows": len(rows)})
}

// announce tells of its progress on the way.
func announce(w http.ResponseWriter, r *http.Request) {
	events(w, r, []event{
		{"progress", object{"progress": 1, "total": 2, "message": "Writing"}},
		{"progress", object{"progress": 2, "total": 2, "message": "Sending"}},
		{"result", object{"content": []any{text("Announced.")}, "structuredContent": object{"sent": true}}},
	})
}

// interview asks a person for a topic.
func interview(body []byte) object {
	e := opened(body)
	answer, asked := e.InputResponses["topic"]
	switch {
	case !asked:
		return object{"inputRequests": object{"topic": ask("What shall we talk about?", "topic", "string")}}
	case answer.Action != "accept":
		return object{"content": []any{text("No interview.")}}
	}
	return object{"content": []any{text("Let us talk about " + e.filled("topic", "topic") + ".")}}
}

// answering is a function that answers each body with an MCP result.
func answering(f func(body []byte) object) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(io.LimitReader(r.Body, 1<<20))
		if err != nil {
			http.Error(w, "no body", http.StatusBadRequest)
			return
		}
		writeJSON(w, resultType, f(body))
	})
}

func writeJSON(w http.ResponseWriter, media string, answer object) {
	w.Header().Set("Content-Type", media)
	_ = json.NewEncoder(w).Encode(answer)
}

// event is one event of a stream.
type event struct {
	name string
	data object
}

// events streams them with a pause between each, until the caller has gone.
func events(w http.ResponseWriter, r *http.Request, list []event) {
	w.Header().Set("Content-Type", "text/event-stream")
	control := http.NewResponseController(w)
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for _, e := range list {
		data, err := json.Marshal(e.data)
		if err != nil {
			return
		}
		if _, err := fmt.Fprintf(w, "event: %s\ndata: %s\n\n", e.name, data); err != nil {
			return
		}
		if control.Flush() != nil {
			return
		}
		select {
		case <-tick.C:
		case <-r.Context().Done():
			return
		}
	}
}
