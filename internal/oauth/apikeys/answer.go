package apikeys

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"time"
)

// maxSubject bounds subjects and clients, in characters.
const maxSubject = 200

// checkedAnswer is what the app's function says of a key it knows.
type checkedAnswer struct {
	subject string
	client  string   // empty where it does not say
	scopes  []string // none where it does not say
	expires time.Time
}

var errAnswer = errors.New("the app's function answered something else than null or {subject, client_id, scopes, expires_at}")

// parseAnswer reads a function's answer about a key. null (known is false) says
// that there is no such key. Whoever is named must be named exactly: what is
// neither, has a member too many or the same one twice, is errAnswer.
//
// client_id, scopes and expires_at may be null as if they were not there:
// jsonb_build_object makes it so of a column that has no value.
func parseAnswer(body []byte) (a checkedAnswer, known bool, err error) {
	if bytes.Equal(bytes.TrimSpace(body), []byte("null")) {
		return checkedAnswer{}, false, nil
	}
	members, err := membersOf(body)
	if err != nil {
		return checkedAnswer{}, false, err
	}
	for name, value := range members {
		absent := string(value) == "null"
		switch {
		case name == "subject":
			a.subject, err = textOf(value)
		case absent && (name == "client_id" || name == "scopes" || name == "expires_at"):
		case name == "client_id":
			a.client, err = textOf(value)
		case name == "scopes":
			a.scopes, err = scopesOf(value)
		case name == "expires_at":
			a.expires, err = timeOf(value)
		default:
			err = fmt.Errorf("%w: it has a member too many", errAnswer)
		}
		if err != nil {
			return checkedAnswer{}, false, err
		}
	}
	if a.subject == "" {
		return checkedAnswer{}, false, fmt.Errorf("%w: subject is missing", errAnswer)
	}
	return a, true, nil
}

// membersOf reads one JSON object whose members have different names, spelled
// as they are.
func membersOf(body []byte) (map[string]json.RawMessage, error) {
	d := json.NewDecoder(bytes.NewReader(body))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, fmt.Errorf("%w: it is no object", errAnswer)
	}
	members := map[string]json.RawMessage{}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		if err != nil || !ok {
			return nil, fmt.Errorf("%w: it is no JSON", errAnswer)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, fmt.Errorf("%w: it is no JSON", errAnswer)
		}
		if _, twice := members[name]; twice {
			return nil, fmt.Errorf("%w: a member is there twice", errAnswer)
		}
		members[name] = value
	}
	if _, err := d.Token(); err != nil {
		return nil, fmt.Errorf("%w: it is no JSON", errAnswer)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("%w: it is more than one value", errAnswer)
	}
	return members, nil
}

func textOf(value json.RawMessage) (string, error) {
	var text *string
	if json.Unmarshal(value, &text) != nil || text == nil || !isText(*text, maxSubject) {
		return "", fmt.Errorf("%w: subject and client_id are texts of 1 to %d characters", errAnswer, maxSubject)
	}
	return *text, nil
}

func scopesOf(value json.RawMessage) ([]string, error) {
	var list []*string
	if json.Unmarshal(value, &list) != nil || len(list) > maxScopes {
		return nil, fmt.Errorf("%w: scopes is an array of at most %d texts", errAnswer, maxScopes)
	}
	var scopes []string
	for _, scope := range list {
		if scope == nil || !isScope(*scope) {
			return nil, fmt.Errorf("%w: scopes has what is no scope", errAnswer)
		}
		if !slices.Contains(scopes, *scope) {
			scopes = append(scopes, *scope)
		}
	}
	return slices.Clip(scopes), nil // shared: who appends gets a copy
}

// maxExpires is 9999-12-31T23:59:59Z, the last second that RFC 3339 can write.
const maxExpires = 253402300799

// timeOf reads RFC 3339 or seconds since 1970, of which a fraction is dropped.
func timeOf(value json.RawMessage) (time.Time, error) {
	var text string
	if json.Unmarshal(value, &text) == nil {
		at, err := time.Parse(time.RFC3339, text)
		if err != nil || at.Unix() <= 0 || at.Unix() > maxExpires {
			return time.Time{}, fmt.Errorf("%w: expires_at is no time with a zone", errAnswer)
		}
		return at, nil
	}
	seconds, err := strconv.ParseFloat(string(value), 64)
	if err != nil || !(seconds >= 1) || seconds > maxExpires {
		return time.Time{}, fmt.Errorf("%w: expires_at is neither a time nor seconds", errAnswer)
	}
	return time.Unix(int64(math.Floor(seconds)), 0), nil
}
