package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// The Edge Functions behind the conformance surface: what MCP's own suite wants
// to see, said by functions as any builder could write them.

const (
	conformanceSurface = "conformance"

	onePixel   = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg=="
	emptySound = "UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA="
)

// object is a JSON object being written.
type object = map[string]any

// said are the functions that always answer the same content.
var said = map[string]object{
	"simple-text":       {"content": []any{text("This is a simple text response for testing.")}},
	"image-content":     {"content": []any{image()}},
	"audio-content":     {"content": []any{object{"type": "audio", "data": emptySound, "mimeType": "audio/wav"}}},
	"embedded-resource": {"content": []any{embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")}},
	"mixed-content": {"content": []any{
		text("Multiple content types test:"), image(),
		embedded("test://mixed-content-resource", "application/json", `{"test":"data","value":123}`),
	}},
	"refusing": {"content": []any{text("This tool intentionally returns an error for testing")}, "isError": true},
}

// asked are the functions that ask something once, and then answer with it.
var asked = map[string]struct {
	requests object
	answer   func(e envelope) string
}{
	"ask-name": {object{"user_name": ask("What is your name?", "name", "string")}, func(e envelope) string {
		return "Hello, " + e.filled("user_name", "name") + "!"
	}},
	"ask-to-confirm": {object{"confirm": ask("Please confirm", "ok", "boolean")}, func(envelope) string { return "state-ok" }},
	"ask-model": {object{"capital_question": askModel("What is the capital of France?", 100)}, func(e envelope) string {
		return "The model says: " + e.modelled("capital_question")
	}},
	"ask-roots": {object{"client_roots": askRoots()}, func(e envelope) string {
		return fmt.Sprintf("%d roots", len(e.InputResponses["client_roots"].Roots))
	}},
	"ask-three": {object{
		"user_name": ask("What is your name?", "name", "string"), "greeting": askModel("Generate a greeting", 50), "client_roots": askRoots(),
	}, func(e envelope) string { return e.modelled("greeting") + " " + e.filled("user_name", "name") }},
	"ask-with-defaults": {object{"details": askForm("Who are you?", object{
		"name":     object{"type": "string", "default": "John Doe"},
		"age":      object{"type": "integer", "default": 30},
		"score":    object{"type": "number", "default": 95.5},
		"status":   object{"type": "string", "enum": []string{"active", "inactive", "pending"}, "default": "active"},
		"verified": object{"type": "boolean", "default": true},
	})}, func(e envelope) string { return "Elicitation completed: action=" + e.InputResponses["details"].Action }},
	"ask-to-choose": {object{"choice": askForm("What do you choose?", object{
		"untitledSingle": object{"type": "string", "enum": []string{"option1", "option2", "option3"}},
		"titledSingle":   object{"type": "string", "oneOf": []any{object{"const": "value1", "title": "First Option"}, object{"const": "value2", "title": "Second Option"}}},
		"untitledMulti":  object{"type": "array", "items": object{"type": "string", "enum": []string{"option1", "option2", "option3"}}},
	})}, func(e envelope) string { return "Elicitation completed: action=" + e.InputResponses["choice"].Action }},
}

// envelope is what a function that asks is sent.
type envelope struct {
	Arguments      map[string]any `json:"arguments"`
	InputResponses map[string]struct {
		Action  string          `json:"action"`
		Content json.RawMessage `json:"content"`
		Roots   []any           `json:"roots"`
	} `json:"inputResponses"`
	RequestState       string         `json:"requestState"`
	ClientCapabilities map[string]any `json:"clientCapabilities"`
}

// filled is a field of a form that was filled in.
func (e envelope) filled(key, field string) string {
	var form map[string]any
	_ = json.Unmarshal(e.InputResponses[key].Content, &form)
	return fmt.Sprint(form[field])
}

// modelled is what the client's model said.
func (e envelope) modelled(key string) string {
	var content struct {
		Text string `json:"text"`
	}
	_ = json.Unmarshal(e.InputResponses[key].Content, &content)
	return content.Text
}

func text(s string) object { return object{"type": "text", "text": s} }

func image() object { return object{"type": "image", "data": onePixel, "mimeType": "image/png"} }

func embedded(uri, mime, s string) object {
	return object{"type": "resource", "resource": object{"uri": uri, "mimeType": mime, "text": s}}
}

func askForm(message string, properties object, required ...string) object {
	schema := object{"type": "object", "properties": properties}
	if len(required) > 0 {
		schema["required"] = required
	}
	return object{"method": "elicitation/create", "params": object{"message": message, "requestedSchema": schema}}
}

func ask(message, field, kind string) object {
	return askForm(message, object{field: object{"type": kind}}, field)
}

func askModel(message string, tokens int) object {
	return object{"method": "sampling/createMessage", "params": object{
		"messages": []any{object{"role": "user", "content": text(message)}}, "maxTokens": tokens,
	}}
}

func askRoots() object { return object{"method": "roots/list", "params": object{}} }

// conformanceFunctions are the functions by slug. change publishes the surface
// with another list of the kind, tools or prompts.
func conformanceFunctions(change func(ctx context.Context, kind string) error) map[string]http.Handler {
	functions := map[string]http.Handler{
		"progressing":          http.HandlerFunc(progressing),
		"logging":              http.HandlerFunc(logging),
		"echo-region":          answering(echoRegion),
		"ask-twice":            answering(askTwice),
		"ask-what-is-possible": answering(askWhatIsPossible),
		"ask-context":          answering(askContext),
		"embedding":            answering(embedding),
		"templated":            http.HandlerFunc(templated),
		"change-tools":         changes(change, "tools"),
		"change-prompts":       changes(change, "prompts"),
	}
	for slug, result := range said {
		functions[slug] = answering(func([]byte) object { return result })
	}
	for slug, a := range asked {
		functions[slug] = answering(func(body []byte) object {
			e := opened(body)
			for key := range a.requests {
				if _, answered := e.InputResponses[key]; !answered {
					return object{"inputRequests": a.requests}
				}
			}
			return object{"content": []any{text(a.answer(e))}}
		})
	}
	return functions
}

func opened(body []byte) envelope {
	var e envelope
	_ = json.Unmarshal(body, &e)
	return e
}

// askTwice asks for a name and then, keeping it, for a colour.
func askTwice(body []byte) object {
	e := opened(body)
	_, named := e.InputResponses["step1"]
	_, coloured := e.InputResponses["step2"]
	switch {
	case coloured:
		return object{"content": []any{text(e.RequestState + " likes " + e.filled("step2", "color"))}}
	case named:
		return object{"inputRequests": object{"step2": ask("Step 2: What is your favorite color?", "color", "string")}, "requestState": e.filled("step1", "name")}
	}
	return object{"inputRequests": object{"step1": ask("Step 1: What is your name?", "name", "string")}, "requestState": "nobody yet"}
}

// askWhatIsPossible asks only what the client said it can answer.
func askWhatIsPossible(body []byte) object {
	e, requests := opened(body), object{}
	for capability, request := range map[string]struct {
		key  string
		what object
	}{
		"elicitation": {"user_name", ask("What is your name?", "name", "string")},
		"sampling":    {"greeting", askModel("Generate a short greeting", 50)},
		"roots":       {"client_roots", askRoots()},
	} {
		_, answered := e.InputResponses[request.key]
		if _, can := e.ClientCapabilities[capability]; can && !answered {
			requests[request.key] = request.what
		}
	}
	if len(requests) > 0 {
		return object{"inputRequests": requests}
	}
	return object{"content": []any{text("done")}}
}

func askContext(body []byte) object {
	e := opened(body)
	if _, answered := e.InputResponses["user_context"]; !answered {
		return object{"inputRequests": object{"user_context": ask("What context should the prompt use?", "context", "string")}}
	}
	return object{"messages": []any{message(text("Context: " + e.filled("user_context", "context")))}}
}

func message(content object) object { return object{"role": "user", "content": content} }

func echoRegion(body []byte) object {
	var arguments struct {
		Region string `json:"region"`
	}
	_ = json.Unmarshal(body, &arguments)
	return object{"content": []any{text("region=" + arguments.Region)}}
}

func embedding(body []byte) object {
	var arguments struct {
		ResourceURI string `json:"resourceUri"`
	}
	_ = json.Unmarshal(body, &arguments)
	return object{"messages": []any{
		message(embedded(arguments.ResourceURI, "text/plain", "Embedded resource content for testing.")),
		message(text("Please process the embedded resource above.")),
	}}
}

// templated answers a resource by its variable, as plain JSON.
func templated(w http.ResponseWriter, r *http.Request) {
	var variables struct {
		ID string `json:"id"`
	}
	_ = json.NewDecoder(r.Body).Decode(&variables)
	writeJSON(w, "application/json", object{"id": variables.ID, "templateTest": true, "data": "Data for ID: " + variables.ID})
}

// progressing tells of its progress: nothing, half, all.
func progressing(w http.ResponseWriter, r *http.Request) {
	events(w, r, []event{
		{"progress", object{"progress": 0, "total": 100, "message": "begun"}},
		{"progress", object{"progress": 50, "total": 100, "message": "half of it"}},
		{"progress", object{"progress": 100, "total": 100, "message": "all of it"}},
		{"result", object{"content": []any{text("Done.")}}},
	})
}

func logging(w http.ResponseWriter, r *http.Request) {
	events(w, r, []event{
		{"log", object{"level": "info", "data": "Tool execution started"}},
		{"log", object{"level": "info", "data": "Tool processing data"}},
		{"log", object{"level": "info", "data": "Tool execution completed"}},
		{"result", object{"content": []any{text("Done.")}}},
	})
}

// changes publishes the surface with another list, one call after the other.
func changes(change func(context.Context, string) error, kind string) http.Handler {
	var one sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		one.Lock()
		defer one.Unlock()
		if err := change(r.Context(), kind); err != nil {
			http.Error(w, "The surface could not be published.", http.StatusInternalServerError)
			return
		}
		writeJSON(w, resultType, object{"content": []any{text("ok")}})
	})
}

// otherLists are the two spellings of what change switches, by kind.
var otherLists = map[string][2]string{
	"tools":   {"Publishes this surface with another list of tools.", "Publishes this surface with the other list of tools."},
	"prompts": {"A message that is an image.", "A message that is a small image."},
}

// changer returns a function that publishes the surface file with the other list
// of a kind, each time it is called.
func changer(file []byte, publish func(ctx context.Context, file []byte) error) func(ctx context.Context, kind string) error {
	var mu sync.Mutex
	other := map[string]bool{}
	return func(ctx context.Context, kind string) error {
		mu.Lock()
		defer mu.Unlock()
		other[kind] = !other[kind]
		next := file
		for kind, spellings := range otherLists {
			if other[kind] {
				next = bytes.Replace(next, []byte(spellings[0]), []byte(spellings[1]), 1)
			}
		}
		return publish(ctx, next)
	}
}

// pause is between two events of a stream, so that a reader sees them arrive.
const pause = 50 * time.Millisecond
