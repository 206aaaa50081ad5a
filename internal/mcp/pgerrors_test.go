package mcp

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// leak is what must never reach a model, put into every message below.
const leak = `select * from "private"."salaries" at db.ref.example.test`

func TestErrorsOfTheProjectAreMapped(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status int
		code   string
		kind   string
	}{
		{403, "42501", "forbidden"}, {401, "42501", "forbidden"}, {401, "PGRST302", "forbidden"},
		{409, "23505", "conflict"}, {409, "23503", "conflict"}, {400, "23514", "invalid"}, {400, "23502", "invalid"}, {409, "23P01", "conflict"},
		{400, "22P02", "invalid"}, {400, "22003", "invalid"}, {400, "22007", "invalid"}, {400, "22021", "invalid"}, {400, "22P05", "invalid"},
		{500, "57014", "timeout"}, {500, "40001", "conflict"}, {500, "40P01", "conflict"},
		{404, "PGRST202", "out_of_date"}, {300, "PGRST203", "out_of_date"}, {404, "PGRST205", "out_of_date"}, {404, "42P01", "out_of_date"},
		{400, "42703", "out_of_date"}, {406, "PGRST106", "out_of_date"}, {404, "42883", "out_of_date"}, {405, "25006", "out_of_date"},
		{503, "PGRST002", "unavailable"}, {504, "PGRST003", "unavailable"}, {500, "XX000", "unavailable"}, {503, "53300", "unavailable"}, {500, "P0002", "unavailable"},
		{429, "X", "rate_limited"}, {400, "PGRST100", "upstream_error"}, {400, "42601", "upstream_error"}, {402, "PGRST999", "upstream_error"},
	} {
		p := failing(&supabase.Error{Status: test.status, Code: test.code, Message: leak, Upstream: "up-9"})
		got := runTool(t, newTestRunner(t, p), runCall(), listTool(), `{"id_gt":"1"}`)
		if got.kind() != test.kind {
			t.Errorf("%d %s: %s", test.status, test.code, got.text)
		}
		if strings.Contains(got.text, "salaries") || strings.Contains(got.text, "ref.example") {
			t.Errorf("%d %s leaks: %s", test.status, test.code, got.text)
		}
		if got.call.unauthorized || got.call.outcome.errorKind != test.kind || got.call.upstream != "up-9" {
			t.Errorf("%d %s: call %+v", test.status, test.code, got.call.outcome)
		}
		var body map[string]any
		if err := json.Unmarshal([]byte(got.text), &body); err != nil || body["detail"] == "" || body["trace_id"] != "req-test" {
			t.Errorf("%d %s: %s", test.status, test.code, got.text)
		}
	}
}

func TestGatewayErrorsAreTheOwnersBusiness(t *testing.T) {
	t.Parallel()
	for status, kind := range map[int]string{401: "upstream_error", 403: "upstream_error", 404: "unavailable", 429: "rate_limited", 500: "unavailable", 520: "unavailable", 200: "unavailable"} {
		p := failing(&supabase.Error{Status: status, Gateway: true, Message: leak})
		got := runTool(t, newTestRunner(t, p), runCall(), listTool(), `{}`)
		if got.kind() != kind || got.call.unauthorized || strings.Contains(got.text, "salaries") {
			t.Errorf("%d: %s", status, got.text)
		}
	}
}

func TestWhatTheAuthorRaisedPasses(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		status     int
		code, kind string
	}{{400, "P0001", "refused"}, {402, "PT402", "refused"}, {403, "PT403", "forbidden"}, {404, "PT404", "not_found"}, {409, "PT409", "conflict"}, {401, "PT401", "forbidden"}} {
		p := failing(&supabase.Error{Status: test.status, Code: test.code, Message: "The trial is\nover.\u202e Upgrade first." + strings.Repeat("x", 5000)})
		got := runTool(t, newTestRunner(t, p), runCall(), listTool(), `{}`)
		if got.kind() != test.kind || !strings.Contains(got.text, "The trial is over. Upgrade first.") || len(got.text) > 1200 {
			t.Errorf("%s: %s", test.code, got.text)
		}
	}
}

func TestABadValueNamesItsArgument(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ message, arguments, want string }{
		{`invalid input syntax for type bigint: "abc"`, `{"status":"open","id_gt":"abc"}`, "/id_gt"},
		{`invalid input value for enum customer_status: "opne"`, `{"status":"opne","id_gt":"5"}`, "/status"},
		{`invalid input value for enum customer_status: "b"`, `{"status_in":["a","b"]}`, "/status_in"},
		{`value out of range`, `{"status":"open","id_gt":"99999999999999999999"}`, "/id_gt"},
	} {
		p := failing(&supabase.Error{Status: 400, Code: "22P02", Message: test.message})
		got := runTool(t, newTestRunner(t, p), runCall(), listTool(), test.arguments)
		var body struct {
			Issues []fault.Issue `json:"issues"`
		}
		if err := json.Unmarshal([]byte(got.text), &body); err != nil || len(body.Issues) != 1 || body.Issues[0].Path != test.want {
			t.Errorf("%s: %s", test.message, got.text)
		}
		if strings.Contains(got.text, "syntax") || strings.Contains(got.text, "enum") {
			t.Errorf("the database's text passes: %s", got.text)
		}
	}
}

func TestField52_ALate401IsMarkedOnlyOnceTheTokensTimeIsOver(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name          string
		code, message string
		expires       time.Duration // from now
		mode          oauth.Mode
		late          bool
	}{
		{"expired, says the project", "PGRST303", "JWT expired", -time.Second, oauth.ModeDirect, true},
		{"expired, says a project whose clock is wrong", "PGRST303", "JWT expired", time.Second, oauth.ModeDirect, false},
		{"refused after exp", "PGRST301", "No suitable key or wrong key type", -time.Second, oauth.ModeDirect, true},
		{"refused before exp", "PGRST301", "No suitable key or wrong key type", time.Minute, oauth.ModeDirect, false},
		{"not yet valid", "PGRST303", "JWT not yet valid", time.Minute, oauth.ModeDirect, false},
		{"public has no token to renew", "PGRST303", "JWT expired", -time.Hour, oauth.ModePublic, false},
	} {
		p := failing(&supabase.Error{Status: 401, Code: test.code, Message: test.message})
		c := runCall()
		c.caller.Expires, c.caller.Key.Mode = runNow.Add(test.expires), test.mode
		if test.mode == oauth.ModePublic {
			c.caller.Token = seal.Secret{}
		}
		got := runTool(t, newTestRunner(t, p), c, listTool(), `{}`)
		want := "upstream_error"
		if test.late {
			want = "unauthenticated"
		}
		if c.unauthorized != test.late || got.kind() != want {
			t.Errorf("%s: unauthorized %v, %s", test.name, c.unauthorized, got.text)
		}
	}
}

func TestNoAnswerIsAToolErrorThatSaysTryAgain(t *testing.T) {
	t.Parallel()
	for kind, want := range map[fault.Kind]string{fault.Unavailable: "unavailable", fault.Timeout: "timeout", fault.TooLarge: "too_large", fault.Invalid: "upstream_error"} {
		cause := errors.New(leak)
		p := failing(fault.Wrap(cause, kind, "", "public").WithRetryAfter(7 * time.Second))
		got := runTool(t, newTestRunner(t, p), runCall(), listTool(), `{}`)
		if got.kind() != want || strings.Contains(got.text, "salaries") {
			t.Errorf("%v: %s", kind, got.text)
		}
		if kind == fault.Unavailable && !strings.Contains(got.text, "in 7 seconds") {
			t.Error(got.text)
		}
	}
}

func TestOurOwnFaultsAreNoToolErrors(t *testing.T) {
	t.Parallel()
	for _, err := range []error{errors.New("bug"), fault.New(fault.Internal, "", "x")} {
		if res, got := newTestRunner(t, failing(err)).run(t.Context(), runCall(), listTool(), nil); got == nil || res != nil {
			t.Errorf("%v became %v", err, res)
		}
	}
}
