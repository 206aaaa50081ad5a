package mcp

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

func TestFailuresOfFunctionsAreToldApart(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		err           error
		reads, writes string
	}{
		{&supabase.FunctionError{Status: 401, Code: "UNAUTHORIZED_ASYMMETRIC_JWT"}, kindUpstream, kindUpstream},
		{&supabase.FunctionError{Status: 401, Code: "UNAUTHORIZED_NO_AUTH_HEADER"}, kindUpstream, kindUpstream},
		{&supabase.FunctionError{Status: 404, Code: "NOT_FOUND"}, kindOutOfDate, kindOutOfDate},
		{&supabase.FunctionError{Status: 404, Code: "NOT_FOUND_FUNCTION_BLOB"}, kindOutOfDate, kindOutOfDate},
		{&supabase.FunctionError{Status: 503, Code: "BOOT_ERROR"}, "unavailable", "unavailable"},
		{&supabase.FunctionError{Status: 500, Code: "WORKER_ERROR"}, "unavailable", "unavailable"},
		{&supabase.FunctionError{Status: 500, Code: "LOAD_FUNCTION_ERROR"}, "unavailable", "unavailable"},
		{&supabase.FunctionError{Status: 546, Code: "WORKER_RESOURCE_LIMIT"}, "unavailable", kindOutcomeUnknown},
		{&supabase.FunctionError{Status: 546, Code: "WORKER_LIMIT"}, "unavailable", kindOutcomeUnknown},
		{&supabase.FunctionError{Status: 504, Code: "IDLE_TIMEOUT"}, "timeout", kindOutcomeUnknown},
		{&supabase.FunctionError{Status: 500, Code: "INVALID_RESPONSE_STATUS_CODE"}, "unavailable", kindOutcomeUnknown},
		{&supabase.FunctionError{Status: 502}, "unavailable", kindOutcomeUnknown},
		{&supabase.FunctionError{Status: 504}, "timeout", kindOutcomeUnknown},
		{&supabase.FunctionError{Status: 429, Code: "RATE_LIMIT_EXCEEDED"}, "rate_limited", "rate_limited"},
		{&supabase.FunctionError{Status: 413}, "too_large", "too_large"},
		{&supabase.FunctionError{Status: 401}, kindUpstream, kindUpstream},
		{&supabase.FunctionError{Status: 405, Code: "METHOD_NOT_ALLOWED"}, kindUpstream, kindUpstream},
		{&supabase.FunctionError{Status: 500, Code: "EDGE_FUNCTION_ERROR", Own: true, Message: "secret"}, kindUpstream, kindOutcomeUnknown},
		{&supabase.FunctionError{Status: 400, Own: true}, "invalid", "invalid"},
		{&supabase.FunctionError{Status: 422, Own: true}, "invalid", "invalid"},
		{&supabase.FunctionError{Status: 401, Own: true}, "forbidden", "forbidden"},
		{&supabase.FunctionError{Status: 403, Own: true}, "forbidden", "forbidden"},
		{&supabase.FunctionError{Status: 404, Own: true}, "not_found", "not_found"},
		{&supabase.FunctionError{Status: 409, Own: true}, "conflict", "conflict"},
		{&supabase.FunctionError{Status: 413, Own: true}, "too_large", "too_large"},
		{&supabase.FunctionError{Status: 429, Own: true}, "rate_limited", "rate_limited"},
		{&supabase.FunctionError{Status: 402, Own: true}, kindRefused, kindRefused},
		{fault.New(fault.Timeout, "", "late"), "timeout", kindOutcomeUnknown},
		{fault.New(fault.Unavailable, "", "away"), "unavailable", kindOutcomeUnknown},
		{fault.Wrap(egress.ErrUnsent, fault.Unavailable, "", "full"), "unavailable", "unavailable"},
		{fault.New(fault.TooLarge, "", "large"), "too_large", "too_large"},
	} {
		if got := toldBy(t, refuses(k.err), readingFunction()); got != k.reads {
			t.Errorf("%v, reading: %s, want %s", k.err, got, k.reads)
		}
		if got := toldBy(t, refuses(k.err), functionTool()); got != k.writes {
			t.Errorf("%v, writing: %s, want %s", k.err, got, k.writes)
		}
	}
}

func TestAuthorsWordsPassAndNothingElse(t *testing.T) {
	t.Parallel()
	got := runTool(t, newServicesRunner(t, refuses(&supabase.FunctionError{Status: 422, Own: true, Message: "No such\nmonth." + strings.Repeat("x", 2000)})), runCall(), functionTool(), `{}`)
	if !strings.Contains(got.text, "No such month.") || len(got.text) > 1200 {
		t.Errorf("%d bytes: %.80s", len(got.text), got.text)
	}
	got = runTool(t, newServicesRunner(t, refuses(&supabase.FunctionError{Status: 500, Own: true, Code: "EDGE_FUNCTION_ERROR", Message: "secret", Upstream: "up-9"})), runCall(), functionTool(), `{}`)
	if strings.Contains(got.text, "secret") || got.call.upstream != "up-9" {
		t.Errorf("%s, upstream %s", got.text, got.call.upstream)
	}
}

func TestABreakInTheMiddleOfAnAnswer(t *testing.T) {
	t.Parallel()
	broken := func(media string, err error) *scriptedServices {
		return &scriptedServices{onInvoke: func(supabase.Session, supabase.Invoke) (supabase.FunctionAnswer, error) {
			return supabase.FunctionAnswer{Status: 200, ContentType: media, Body: io.NopCloser(io.MultiReader(strings.NewReader("{\"a\":"), iotest.ErrReader(err)))}, nil
		}}
	}
	for _, media := range []string{"application/json", mediaEvents} {
		reading, writing := readingFunction(), functionTool()
		reading.Function.Stream, writing.Function.Stream = true, true
		for kind, err := range map[fault.Kind]error{fault.Timeout: fault.New(fault.Timeout, "", "late"), fault.Unavailable: fault.New(fault.Unavailable, "", "cut")} {
			if got := toldBy(t, broken(media, err), reading); got != kind.String() {
				t.Errorf("%s %s, reading: %s", media, kind, got)
			}
			if got := toldBy(t, broken(media, err), writing); got != kindOutcomeUnknown {
				t.Errorf("%s %s, writing: %s", media, kind, got)
			}
		}
	}
	large := fault.New(fault.TooLarge, "", "large")
	for body, writing := range map[string]string{
		"event: log\ndata: " + strings.Repeat("x", maxEvent): kindOutcomeUnknown, "event: result\ndata: " + strings.Repeat("x", maxEvent): "too_large",
		"event: log\ndata: ": kindOutcomeUnknown, "event: result\ndata: {": "too_large", "": kindOutcomeUnknown,
	} {
		p := &scriptedServices{onInvoke: func(supabase.Session, supabase.Invoke) (supabase.FunctionAnswer, error) {
			return supabase.FunctionAnswer{Status: 200, ContentType: mediaEvents, Body: io.NopCloser(io.MultiReader(strings.NewReader(body+"\n"), iotest.ErrReader(large)))}, nil
		}}
		for want, tool := range map[string]*surfaces.Tool{"too_large": readingFunction(), writing + " ": functionTool()} {
			tool.Function.Stream = true
			if got := toldBy(t, p, tool); got != strings.TrimSpace(want) {
				t.Errorf("cut in %.20q…, reads %v: %s", body, tool.Annotations.ReadOnly, got)
			}
		}
	}
	// A stream that ends as it should, but for its result.
	for tool, want := range map[*surfaces.Tool]string{readingFunction(): fault.Unavailable.String(), functionTool(): kindOutcomeUnknown} {
		tool.Function.Stream = true
		got := runTool(t, newServicesRunner(t, answers(mediaEvents, "event: progress\ndata: {\"progress\":1}\n\n")), runCall(), tool, `{}`)
		if got.kind() != want || !strings.Contains(got.text, "ended before its result") {
			t.Errorf("a stream without a result: %s, want %s", got.text, want)
		}
	}
	ours := errors.New("ours")
	if _, err := newServicesRunner(t, refuses(ours)).run(t.Context(), runCall(), functionTool(), []byte(`{}`)); !errors.Is(err, ours) {
		t.Errorf("our own failure: %v", err)
	}
}
