package apikeys

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

func unix(at time.Time) string { return strconv.FormatInt(at.Unix(), 10) }

func TestAnswersThatAreRead(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]checkedAnswer{
		`{"subject":"a"}`: {subject: "a"},
		` {"subject" : "a", "client_id":"b", "scopes":["x","y","x"], "expires_at":"2027-01-31T12:00:00.5+02:00"}`: {
			subject: "a", client: "b", scopes: []string{"x", "y"}, expires: time.Date(2027, 1, 31, 10, 0, 0, 500_000_000, time.UTC)},
		`{"subject":"a","client_id":null,"scopes":null,"expires_at":null}`: {subject: "a"},
		`{"subject":"a","scopes":[],"expires_at":1800000000}`:              {subject: "a", expires: time.Unix(1800000000, 0)},
		`{"subject":"a","expires_at":1800000000.75}`:                       {subject: "a", expires: time.Unix(1800000000, 0)},
		`{"subject":"` + strings.Repeat("ä", 200) + `"}`:                   {subject: strings.Repeat("ä", 200)},
	} {
		got, known, err := parseAnswer([]byte(body))
		if err != nil || !known || got.subject != want.subject || got.client != want.client || !slices.Equal(got.scopes, want.scopes) || !got.expires.Equal(want.expires) {
			t.Errorf("%s: %+v %v %v", body, got, known, err)
		}
	}
	if _, known, err := parseAnswer([]byte(" null\n")); known || err != nil {
		t.Errorf("null: %v %v", known, err)
	}
}

var strange = []string{
	``, ` `, `true`, `false`, `1`, `"a"`, `[]`, `[{"subject":"a"}]`, `{}`, `nul`, `NULL`, `null null`, `{"subject":"a"} {"subject":"b"}`, `{"subject":"a"}x`, `{"subject":"a"`, `{"subject"}`,
	`{"subject":null}`, `{"subject":""}`, `{"subject":1}`, `{"subject":["a"]}`, `{"subject":"` + strings.Repeat("a", 201) + `"}`, `{"subject":"a\nb"}`, `{"subject":"a\u0000"}`, `{"subject":"a\u202e"}`,
	`{"Subject":"a"}`, `{"subject":"a","subject":"b"}`, `{"subject":"a","Subject":"b"}`, `{"subject":"a","role":"service_role"}`, `{"subject":"a","scope":"x"}`, `{"sub":"a"}`,
	`{"subject":"a","client_id":""}`, `{"subject":"a","client_id":1}`, `{"subject":"a","client_id":{}}`,
	`{"subject":"a","scopes":"x y"}`, `{"subject":"a","scopes":[null]}`, `{"subject":"a","scopes":["x y"]}`, `{"subject":"a","scopes":[""]}`, `{"subject":"a","scopes":[1]}`, `{"subject":"a","scopes":{}}`,
	`{"subject":"a","scopes":[` + strings.TrimSuffix(strings.Repeat(`"x",`, 51), ",") + `]}`,
	`{"subject":"a","expires_at":""}`, `{"subject":"a","expires_at":"tomorrow"}`, `{"subject":"a","expires_at":"2027-01-31 12:00:00"}`, `{"subject":"a","expires_at":"2027-01-31T12:00:00"}`,
	`{"subject":"a","expires_at":0}`, `{"subject":"a","expires_at":-1}`, `{"subject":"a","expires_at":1e300}`, `{"subject":"a","expires_at":true}`, `{"subject":"a","expires_at":"0001-01-01T00:00:00Z"}`,
	`{"subject":"a","expires_at":1800000000000}`,
}

func TestAnythingElseRefuses(t *testing.T) {
	t.Parallel()
	for _, body := range strange {
		if a, known, err := parseAnswer([]byte(body)); known || !errors.Is(err, errAnswer) || a.subject != "" {
			t.Errorf("%s: %+v %v %v", body, a, known, err)
		}
	}
}

// FuzzKeyAnswer: whatever a function says, either nobody is named, or somebody
// is, exactly.
func FuzzKeyAnswer(f *testing.F) {
	for _, body := range strange {
		f.Add([]byte(body))
	}
	f.Add([]byte(`null`))
	f.Add([]byte(`{"subject":"a","client_id":"b","scopes":["x"],"expires_at":"2027-01-31T12:00:00Z"}`))
	f.Fuzz(func(t *testing.T, body []byte) {
		a, known, err := parseAnswer(body)
		if known == (a.subject == "") || known && err != nil || !known && (a.client != "" || len(a.scopes) > 0 || !a.expires.IsZero()) {
			t.Fatalf("%q: %+v %v %v", body, a, known, err)
		}
		if !known {
			if err == nil && strings.TrimSpace(string(body)) != "null" {
				t.Fatalf("%q says nothing, and is no null", body)
			}
			return
		}
		if !isText(a.subject, maxSubject) || a.client != "" && !isText(a.client, maxSubject) || len(a.scopes) > maxScopes {
			t.Fatalf("%q: %+v", body, a)
		}
		for _, scope := range a.scopes {
			if !isScope(scope) {
				t.Fatalf("%q: scope %q", body, scope)
			}
		}
		if !a.expires.IsZero() && (a.expires.Unix() <= 0 || a.expires.Unix() > maxExpires) {
			t.Fatalf("%q: %s", body, a.expires)
		}
	})
}
