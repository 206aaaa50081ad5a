package mcp

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// The call of an Edge Function has no transaction: what it did before it failed
// stands. So whoever calls one that writes is never told to just try again.

// functionFailed is what the caller is told of a call that did not end in an
// answer. reads says that calling again does no harm. The call is marked
// unauthorized where the platform refused the token because its time is over.
func (t *asker) functionFailed(ctx context.Context, err error, reads bool) error {
	var told *toolError
	var answer *supabase.FunctionError
	var f *fault.Error
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()), errors.As(err, &told):
		return err
	case errors.As(err, &answer):
		t.noted(0, answer.Upstream)
		return t.explainFunction(answer, reads)
	case errors.Is(err, errNoResult):
		return streamEnded(reads)
	case errors.Is(err, errFlood) && !reads: // it was ended in the middle of its work
		return functionUnknown("the app's function told more on the way than can be read, and was ended before its result")
	case errors.Is(err, errEvent):
		return functionTooLarge(reads)
	case errors.As(err, &f):
		switch {
		case f.Kind == fault.TooLarge || errors.Is(err, egress.ErrTooLarge):
			return functionTooLarge(reads)
		case !reads && !egress.Unsent(err) && f.Kind != fault.Internal && f.Kind != fault.Invalid:
			return functionUnknown("the app did not answer to the end after the call was sent")
		case f.Kind == fault.Timeout:
			return &toolError{kind: f.Kind.String(), detail: "The app's function did not answer in time. Try again, or ask for less."}
		}
		if told := explainFault(f); told != nil {
			return told
		}
	}
	return err
}

// functionUnknown is for a call that may have done its work.
func functionUnknown(why string) *toolError {
	return &toolError{kind: kindOutcomeUnknown, detail: "It is not known whether this was done: " + why + ". It may have happened, in part or whole; check before trying again."}
}

// callMade begins what is told of a call that was made and has no answer to
// show.
const callMade = "The call was made, and its effects stand, but "

func functionTooLarge(reads bool) *toolError {
	if reads {
		return &toolError{kind: fault.TooLarge.String(), detail: "The call was made, but its answer is larger than can be read. Ask for less, or ask the app's owner for a smaller answer."}
	}
	return &toolError{kind: fault.TooLarge.String(), detail: callMade + "its answer is larger than can be read. Do not repeat it just to see the answer."}
}

func streamEnded(reads bool) *toolError {
	if reads {
		return &toolError{kind: fault.Unavailable.String(), detail: "The app's function ended before its result. Try again in a moment."}
	}
	return functionUnknown("the app's function ended before its result")
}

// functionMisfit is for an answer that cannot be shown.
func functionMisfit(reads bool) *toolError {
	if reads {
		return &toolError{kind: kindOutOfDate, detail: "The call was made, but it answered something else than it declares. The app's owner must correct the function or publish its surface again; trying again does not help."}
	}
	return &toolError{kind: kindOutOfDate, detail: callMade + "it answered something else than it declares. Do not repeat it just to see the answer. The app's owner must correct the function or publish its surface again."}
}

// explainFunction maps the answers of functions and of the platform in front of
// them (sb-error-code). The body of a failure is never passed on, but what the
// author of an own 4xx wrote.
func (t *asker) explainFunction(e *supabase.FunctionError, reads bool) *toolError {
	switch {
	case e.TokenRefused():
		return t.runner.explainToken(t.call)
	case e.Own && e.Status < http.StatusInternalServerError:
		return ownRefusal(e)
	case e.Own && reads:
		return &toolError{kind: kindUpstream, detail: "The app's function failed. Try again; if it stays, the app's owner must look into it."}
	case e.Own:
		return functionUnknown("the app's function failed after it began")
	}
	switch code := e.Code; {
	case code == "UNAUTHORIZED_NO_AUTH_HEADER":
		return &toolError{kind: kindUpstream, detail: "Nothing was called: the app's function is deployed to need a user's token, and this call has none. The app's owner must deploy it with verify_jwt = false, or offer it to signed-in users only."}
	case strings.HasPrefix(code, "NOT_FOUND"):
		return &toolError{kind: kindOutOfDate, detail: "Nothing was called: the app has no such function now. The app's owner must deploy it, or publish its surface again; trying again does not help."}
	case code == "BOOT_ERROR", strings.HasPrefix(code, "LOAD_FUNCTION_"):
		return &toolError{kind: fault.Unavailable.String(), detail: "Nothing was done: the app's function could not be started. Try again" + in(e.RetryAfter) + "; if it stays, the app's owner must look into it."}
	case code == "WORKER_ERROR" && !reads:
		return &toolError{kind: fault.Unavailable.String(), detail: "The app's function broke off with an error. What it did before may stand; check before trying again."}
	case code == "WORKER_ERROR":
		return &toolError{kind: fault.Unavailable.String(), detail: "The app's function broke off with an error. Try again; if it stays, the app's owner must look into it."}
	case code == "RATE_LIMIT_EXCEEDED", e.Status == http.StatusTooManyRequests:
		return &toolError{kind: fault.RateLimited.String(), detail: "Nothing was done: the app is being asked too often. Try again" + in(e.RetryAfter) + "."}
	case e.Status == http.StatusRequestEntityTooLarge:
		return &toolError{kind: fault.TooLarge.String(), detail: "Nothing was done: the arguments are larger than the app takes. Give less and call again."}
	case e.Status == http.StatusUnauthorized, e.Status == http.StatusForbidden:
		return &toolError{kind: kindUpstream, detail: "The app's project refused the connection. The app's owner must check its publishable key; trying again does not help."}
	case e.Status >= 400 && e.Status < 500 && e.Status != http.StatusRequestTimeout:
		return &toolError{kind: kindUpstream, detail: "The app's project refused this call. The app's owner must look into it."}
	case !reads:
		return functionUnknown(brokeOff(code))
	case code == "IDLE_TIMEOUT", e.Status == http.StatusGatewayTimeout, e.Status == http.StatusRequestTimeout:
		return &toolError{kind: fault.Timeout.String(), detail: "The app's function did not answer in time. Try again, or ask for less."}
	}
	return &toolError{kind: fault.Unavailable.String(), detail: "The app's function could not answer: " + brokeOff(e.Code) + ". Try again" + in(e.RetryAfter) + ", or ask for less."}
}

// brokeOff says why the platform ended a function.
func brokeOff(code string) string {
	switch code {
	case "WORKER_RESOURCE_LIMIT", "WORKER_LIMIT":
		return "the app's function was stopped because it used more than the platform allows"
	case "IDLE_TIMEOUT":
		return "the app's function did not answer in time"
	}
	return "the app's platform answered with an error of its own"
}

// ownRefusal is what a function refused itself, in its author's words.
func ownRefusal(e *supabase.FunctionError) *toolError {
	kind, detail := kindRefused, "The app refused this call."
	switch e.Status {
	case http.StatusBadRequest, http.StatusUnprocessableEntity:
		kind, detail = fault.Invalid.String(), "The app does not accept these arguments. Change them and call again."
	case http.StatusUnauthorized, http.StatusForbidden:
		kind, detail = fault.Forbidden.String(), "You are not allowed to do this in the app. Trying again does not help."
	case http.StatusNotFound:
		kind, detail = fault.NotFound.String(), "The app did not find what was asked for."
	case http.StatusConflict:
		kind, detail = fault.Conflict.String(), "Something in the app stands in the way. Look at what is there, then try again."
	case http.StatusRequestEntityTooLarge:
		kind, detail = fault.TooLarge.String(), "The arguments are larger than the app takes. Give less and call again."
	case http.StatusTooManyRequests:
		kind, detail = fault.RateLimited.String(), "The app is being asked too often. Try again"+in(e.RetryAfter)+"."
	}
	if said := cutText(oneLine(strings.TrimSpace(e.Message)), maxAuthorText); said != "" {
		detail = said
	}
	return &toolError{kind: kind, detail: detail}
}
