package mcp

import (
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// Codes of the Data API's own: a request for exactly one row found another
// number of them; a change matched more rows than it may touch.
const (
	codeNotSingular = "PGRST116"
	codeTooMany     = "PGRST124"
)

// maxAuthorText bounds what an app's author can say in an error, in bytes.
const maxAuthorText = 1000

// explain turns what went wrong into what the model is told, or returns nil
// for what is our own fault. What the app's author raised passes; SQL text,
// details, hints, hosts and tokens never do. It marks the call unauthorized
// when the project refused the token because its time is over.
func (r *toolRunner) explain(c *call, t *toolCall, err error) *toolError {
	var told *toolError
	var answer *supabase.Error
	var f *fault.Error
	switch {
	case errors.As(err, &told):
		return told
	case errors.As(err, &answer):
		if answer.Upstream != "" {
			c.upstream = answer.Upstream
		}
		return r.explainAnswer(c, t, answer)
	case errors.Is(err, errShape), errors.Is(err, errColumns):
		return outOfDate()
	case errors.As(err, &f):
		return explainFault(f)
	}
	return nil
}

func outOfDate() *toolError {
	return &toolError{kind: kindOutOfDate, detail: "This tool no longer matches the app's database, so it cannot be used now. The app's owner must publish its surface again; trying again does not help."}
}

// notInCache is for what the Data API's schema cache does not know: it is gone,
// or so new that the cache has not been read again.
func notInCache() *toolError {
	return &toolError{kind: kindOutOfDate, detail: "This tool does not match what the app's project knows of its database. Where the database was changed just now, that passes within a minute: try again then. If it stays, the app's owner must publish its surface again."}
}

// explainFault is for what ended before the project answered.
func explainFault(f *fault.Error) *toolError {
	switch f.Kind {
	case fault.TooLarge:
		return &toolError{kind: f.Kind.String(), detail: "The app's answer is larger than can be read. Ask for fewer rows, or narrow it with filters."}
	case fault.Timeout:
		return &toolError{kind: f.Kind.String(), detail: "The app did not answer in time. Try again, or narrow the request."}
	case fault.Unavailable, fault.RateLimited:
		return &toolError{kind: f.Kind.String(), detail: "The app cannot be reached right now. Try again" + in(f.RetryAfter) + "."}
	case fault.Invalid:
		return &toolError{kind: kindUpstream, detail: "The app's project cannot be reached from here. The app's owner must check its address; trying again does not help."}
	}
	return nil
}

// in is " in N seconds" for a known wait, else " in a moment".
func in(d time.Duration) string {
	if d < time.Second {
		return " in a moment"
	}
	return " in " + strconv.Itoa(int(d/time.Second)) + " seconds"
}

// mayBeDone reports whether what was asked for may have been done although the
// answer is an error: one of something in between, after the request was passed
// on, or the Data API's that its database went away under it (one that is shut
// down while it waits for its standby has committed). Every other error of the
// Data API undoes all that came before it.
func mayBeDone(e *supabase.Error) bool {
	if e.Gateway {
		return e.Status < 400 || e.Status == http.StatusRequestTimeout || e.Status >= 500
	}
	switch {
	case e.Code == "PGRST001", e.Code == "40003", e.Code == "57P01", e.Code == "57P02", strings.HasPrefix(e.Code, "08"):
		return true
	}
	return false
}

func (r *toolRunner) explainAnswer(c *call, t *toolCall, e *supabase.Error) *toolError {
	switch {
	case e.Gateway:
		return explainGateway(e)
	case e.AuthorMessage():
		return &toolError{kind: authorKind(e.Status), detail: cutText(oneLine(e.Message), maxAuthorText)}
	case e.TokenRefused():
		return r.explainToken(c)
	}
	if t.writes() {
		if told := explainWrite(t, e); told != nil {
			return told
		}
	}
	if told := explainCode(t, e); told != nil {
		return told
	}
	switch {
	case e.Status == http.StatusTooManyRequests:
		return rateLimited(e)
	case e.Status >= 500:
		return unavailable(e)
	case e.Status == http.StatusNotFound:
		return outOfDate()
	}
	return &toolError{kind: kindUpstream, detail: "The app's database refused this call. Check the arguments; if they are right, the app's owner must look into it."}
}

// explainToken tells a token whose time is over, which a new sign-in mends and
// the edge answers with a challenge, from one refused for another reason. Only
// our own clock decides: a project whose clock is wrong would refuse the next
// token, too, and send people to sign in again and again.
func (r *toolRunner) explainToken(c *call) *toolError {
	// Where we keep the session, Expires is of another token, and a new one of
	// the project's was refused as well.
	over := c.caller.Session == nil && !c.caller.Expires.IsZero() && !r.now().Before(c.caller.Expires)
	if c.caller.Key.Mode.User() && over {
		c.unauthorized = true
		return &toolError{kind: kindUnauthenticated, detail: "The sign-in has expired. Sign in again."}
	}
	return &toolError{kind: kindUpstream, detail: "The app's project did not accept this sign-in. Try again; if it stays, disconnect and sign in again."}
}

// explainGateway is for answers that are not the Data API's own.
func explainGateway(e *supabase.Error) *toolError {
	switch e.Status {
	case http.StatusTooManyRequests:
		return rateLimited(e)
	case http.StatusRequestURITooLong, http.StatusRequestHeaderFieldsTooLarge:
		// Reads and filters travel in the address.
		return &toolError{kind: fault.Invalid.String(), detail: "The arguments are too long to be sent to the app, and nothing was done. Give fewer or shorter values, a few calls with some each, and call again."}
	case http.StatusUnauthorized, http.StatusForbidden:
		return &toolError{kind: kindUpstream, detail: "The app's project refused the connection. The app's owner must check its publishable key; trying again does not help."}
	}
	return unavailable(e)
}

func rateLimited(e *supabase.Error) *toolError {
	return &toolError{kind: fault.RateLimited.String(), detail: "The app is being asked too often. Try again" + in(e.RetryAfter) + "."}
}

func unavailable(e *supabase.Error) *toolError {
	return &toolError{kind: fault.Unavailable.String(), detail: "The app's project answered with an error of its own. Try again" + in(e.RetryAfter) + "."}
}

func authorKind(status int) string {
	switch status {
	case http.StatusForbidden, http.StatusUnauthorized:
		return fault.Forbidden.String()
	case http.StatusNotFound:
		return fault.NotFound.String()
	case http.StatusConflict:
		return fault.Conflict.String()
	case http.StatusTooManyRequests:
		return fault.RateLimited.String()
	}
	return kindRefused
}

// explainCode maps the codes that mean one thing, or returns nil.
func explainCode(t *toolCall, e *supabase.Error) *toolError {
	switch e.Code {
	case "PGRST200", "PGRST202", "PGRST204", "PGRST205":
		return notInCache()
	case "PGRST203", "PGRST106", "PGRST108", "PGRST125", "PGRST201", codeNotSingular, "42P01", "42703", "42883", "42P10", "42846":
		return outOfDate()
	case "25006":
		if t.tool.RPC == nil || !t.tool.RPC.ReadOnly {
			return outOfDate()
		}
		return &toolError{kind: kindUpstream, detail: nothingWritten + "The app's function says that it only reads, and tried to write. The app's owner must correct it; trying again does not help."}
	case "42501", "PGRST302":
		return &toolError{kind: fault.Forbidden.String(), detail: "You are not allowed to do this in the app. Trying again does not help."}
	case "23505", "23P01":
		return &toolError{kind: fault.Conflict.String(), detail: "Something with the same unique value is already there. Change it, or read the one that exists."}
	case "23503":
		return &toolError{kind: fault.Conflict.String(), detail: "Something this refers to does not exist, or something else still refers to it. Check the ids."}
	case "23502":
		return &toolError{kind: fault.Invalid.String(), detail: "A value that the app requires is missing. Give it and call again."}
	case "23514":
		return &toolError{kind: fault.Invalid.String(), detail: "A value breaks a rule of the app's data. Change it and call again."}
	case "22P02", "22003", "22007", "22008", "22021", "22P05", "22001", "22023":
		return badValue(t, e.Message)
	case "57014":
		return &toolError{kind: fault.Timeout.String(), detail: "The app's database took too long. Narrow the request, or try again later."}
	case "40001", "40P01", "55P03":
		return &toolError{kind: fault.Conflict.String(), detail: "Another change got in the way. Nothing was changed; try again."}
	}
	return nil
}

// nothingWritten begins what is told of a write that was undone.
const nothingWritten = "Nothing was changed. "

// explainWrite maps the codes that say more of a write than of a call, or
// returns nil.
func explainWrite(t *toolCall, e *supabase.Error) *toolError {
	switch e.Code {
	case "42501":
		return &toolError{kind: fault.Forbidden.String(), detail: nothingWritten + "You are not allowed to do this in the app. Trying again does not help."}
	case "23505", "23P01":
		return &toolError{kind: fault.Conflict.String(), detail: nothingWritten + "Something with the same unique value is already there. Change it, or read the one that exists."}
	case "23503", "23001":
		return &toolError{kind: fault.Conflict.String(), detail: nothingWritten + "Something this refers to does not exist, or something else still refers to it. Check the ids."}
	case "23502":
		told := &toolError{kind: fault.Invalid.String(), detail: nothingWritten + "A value that the app requires is missing. Give it and call again."}
		for _, w := range t.written() {
			if strings.Contains(e.Message, `"`+w.column+`"`) {
				told.issues = append(told.issues, fault.Issue{Path: pointer(w.path), Message: "must have a value"})
			}
		}
		return told
	case "23514", "44000":
		return &toolError{kind: fault.Invalid.String(), detail: nothingWritten + "A value breaks a rule of the app's data. Change it and call again."}
	case "57014":
		return &toolError{kind: fault.Timeout.String(), detail: nothingWritten + "The app's database took too long. Try again later; if it stays, the app's owner must look into it."}
	case "428C9":
		return outOfDate() // the column was made one that only the database writes
	case "55000", "42809", "0A000":
		return &toolError{kind: kindUpstream, detail: nothingWritten + "The app's database does not let this be written, such as a view without rules for it. The app's owner must look into it; trying again does not help."}
	case "21000":
		return &toolError{kind: kindUpstream, detail: nothingWritten + "The app's database refuses to touch more than one row here. The app's owner must look into it; trying again does not help."}
	case "25006":
		return &toolError{kind: fault.Unavailable.String(), detail: nothingWritten + "The app's database takes no changes right now. Try again later; if it stays, the app's owner must look into it."}
	case "PGRST122":
		return &toolError{kind: kindUpstream, detail: nothingWritten + "The app's Data API is too old to keep a change to the rows it is meant for. The app's owner must bring it up to date."}
	}
	if strings.HasPrefix(e.Code, "22") {
		return badValue(t, e.Message)
	}
	return nil
}

// Bounds of what is compared to name an argument: a caller can make both the
// database's message and a list as long as a body.
const (
	maxCompared       = 8 << 10 // bytes of the message
	maxComparedValues = 1000    // of one list
)

// badValue names the argument that the database could not read. Its message is
// only compared with what the caller gave, never passed on.
func badValue(t *toolCall, message string) *toolError {
	message = message[:min(len(message), maxCompared)]
	told := &toolError{kind: fault.Invalid.String(), detail: "A value is not of the kind the app's data has. Change it and call again."}
	typed := t.typedArguments()
	for _, a := range typed {
		if a.quotedIn(message) {
			told.issues = append(told.issues, a.issue())
		}
	}
	if len(told.issues) > 0 {
		return told
	}
	for _, a := range typed {
		if a.holdsNUL() {
			told.issues = append(told.issues, fault.Issue{Path: pointer(a.path), Message: "must not hold the character U+0000"})
		}
	}
	if len(told.issues) > 0 {
		return told
	}
	for _, value := range t.filled {
		if value != "" && strings.Contains(message, `"`+value+`"`) {
			return errSetUnavailable()
		}
	}
	if len(typed) == 0 && t.tool.List != nil && t.arguments.get("cursor") != nil {
		return errCursor // the column's type has changed since
	}
	for _, a := range typed {
		if !isTextType(a.sqlType) {
			told.issues = append(told.issues, a.issue())
		}
	}
	return told
}

// typedArgument is an argument that was given, with its type in the database.
type typedArgument struct {
	path    []string
	sqlType string
	values  []string
}

// writtenColumn is a column that the caller could give, and where.
type writtenColumn struct {
	column string
	path   []string
}

func (t *toolCall) written() []writtenColumn {
	var list []writtenColumn
	var below []string
	values := []surfaces.WriteColumn(nil)
	switch {
	case t.tool.Create != nil:
		values = t.tool.Create.Values
	case t.tool.Update != nil:
		values, below = t.tool.Update.Values, []string{t.tool.Update.Patch}
	}
	for _, w := range values {
		list = append(list, writtenColumn{column: w.Column.Name, path: append(slices.Clip(below), w.Argument)})
	}
	return list
}

func (t *toolCall) typedArguments() []typedArgument {
	var list []typedArgument
	for _, p := range parametersOf(t.tool) {
		given, path := t.arguments, []string{p.name}
		if p.inPatch {
			given, path = t.patched, []string{t.tool.Update.Patch, p.name}
		}
		value := given.get(p.name)
		if value == nil {
			continue
		}
		a := typedArgument{path: path, sqlType: p.sqlType, values: []string{stringOf(value)}}
		if value[0] == '[' {
			list := elements(value)
			for _, v := range list[:min(len(list), maxComparedValues)] {
				a.values = append(a.values, stringOf(v))
			}
		}
		list = append(list, a)
	}
	return list
}

// holdsNUL reports whether a value holds the one character that Postgres keeps
// nowhere; inside of JSON it is written as an escape.
func (a typedArgument) holdsNUL() bool {
	return slices.ContainsFunc(a.values, func(v string) bool {
		return strings.ContainsRune(v, 0) || isContainer(token(v)) && strings.Contains(v, `\u0000`)
	})
}

func (a typedArgument) quotedIn(message string) bool {
	for _, v := range a.values {
		if v != "" && strings.Contains(message, `"`+v+`"`) {
			return true
		}
	}
	return false
}

func (a typedArgument) issue() fault.Issue {
	message := "is not a value of type " + a.sqlType
	switch a.sqlType {
	case "uuid":
		message = "must be a UUID"
	case "date":
		message = "must be a date such as 2026-01-31"
	case "timestamptz", "timestamp":
		message = "must be a time such as 2026-01-31T12:00:00Z"
	case "int2", "int4", "int8":
		message = "must be a whole number within the range of " + a.sqlType
	case "numeric", "float4", "float8":
		message = "must be a number within the range of " + a.sqlType
	case "bool":
		message = "must be true or false"
	}
	return fault.Issue{Path: pointer(a.path), Message: message}
}

func isTextType(sqlType string) bool {
	switch sqlType {
	case "text", "varchar", "bpchar", "citext", "name":
		return true
	}
	return false
}
