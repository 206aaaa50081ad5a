package mcp

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// check is one question to the app's authorizer.
type check struct {
	Capability string          `json:"capability"`
	Permission string          `json:"permission"`
	Arguments  json.RawMessage `json:"arguments"` // null for a list
}

// grantAnswer is what the authorizer said to one check.
type grantAnswer struct {
	allowed bool
	reason  string
	code    string
}

const (
	codePermission = "PERMISSION_DENIED"
	codeNotAllowed = "NOT_ALLOWED"
	maxCode        = 64
)

// authorize asks the app's authorizer, all checks in one call. An error fails
// the request; no answers, whatever the reason, deny everything.
func (r *revision) authorize(ctx context.Context, c *call, checks []check) ([]grantAnswer, error) {
	if r.rules.authorizer == nil {
		return nil, nil
	}
	argument, err := json.Marshal(checks)
	if err != nil {
		return nil, err
	}
	body, err := r.askApp(ctx, c, r.rules.authorizer, argument)
	var answers []grantAnswer
	if err == nil {
		answers, err = readAuthorizer(body, len(checks))
	}
	if err == nil {
		return answers, nil
	}
	if err = c.sorted(r.log, "authorizer", err); errors.Is(err, errUndecided) {
		return nil, nil
	}
	return nil, err
}

// readAuthorizer reads an array of n objects {allowed, reason, code}, names
// taken exactly. Anything else is an error.
func readAuthorizer(body []byte, n int) ([]grantAnswer, error) {
	if len(body) == 0 || checkJSON(body) != nil || body[0] != '[' {
		return nil, errNoAnswer
	}
	parts := elements(body)
	if len(parts) != n {
		return nil, errNoAnswer
	}
	answers := make([]grantAnswer, n)
	for i, part := range parts {
		var err error
		if answers[i], err = readGrantAnswer(part); err != nil {
			return nil, err
		}
	}
	return answers, nil
}

func readGrantAnswer(part []byte) (grantAnswer, error) {
	var a grantAnswer
	if part[0] != '{' {
		return a, errNoAnswer
	}
	said := false
	for _, field := range members(part, 0) {
		value := part[field.start:field.end]
		ok := true
		switch field.key {
		case "allowed":
			a.allowed = string(value) == "true"
			said = a.allowed || string(value) == "false"
			ok = said
		case "reason":
			a.reason, ok = textOrNull(value)
		case "code":
			a.code, ok = textOrNull(value)
		}
		if !ok {
			return grantAnswer{}, errNoAnswer
		}
	}
	if !said {
		return grantAnswer{}, errNoAnswer
	}
	return a, nil
}

func textOrNull(value []byte) (string, bool) {
	if string(value) == "null" {
		return "", true
	}
	return text(value)
}

// denial is what the model is told of a permission that was not given.
func denial(k *capability, a grantAnswer) *toolError {
	told := &toolError{kind: fault.Forbidden.String(), code: codePermission, detail: cutText(oneLine(a.reason), maxAuthorText)}
	if isCode(a.code) {
		told.code = a.code
	}
	if told.detail == "" {
		told.detail = "You do not have the permission " + k.gate.Permission + " in the app. Trying again does not help; ask whoever gives permissions there."
	}
	return told
}

// isCode reports whether the app's code is one word that can be shown.
func isCode(code string) bool {
	for _, c := range []byte(code) {
		switch {
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == '-', c == '.':
		default:
			return false
		}
	}
	return code != "" && len(code) <= maxCode
}
