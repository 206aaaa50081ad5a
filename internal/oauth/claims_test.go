package oauth

import (
	"encoding/json"
	"errors"
	"reflect"
	"strings"
	"testing"
)

func TestReadActor(t *testing.T) {
	t.Parallel()
	nested := func(depth int) string {
		return strings.Repeat(`{"sub":"a","act":`, depth-1) + `{"sub":"a"}` + strings.Repeat("}", depth-1)
	}
	for _, c := range []struct {
		act  string
		want string
		ok   bool
	}{
		{`{"sub":"agent"}`, "agent", true},
		{`{"sub":"agent","iss":"https://login.example.test","act":{"sub":"first"}}`, "agent", true},
		{nested(8), "a", true},
		{nested(9), "", false},
		{`null`, "", false},
		{`"agent"`, "", false},
		{`["agent"]`, "", false},
		{`[{"sub":"agent"}]`, "", false},
		{`{}`, "", false},
		{`{"sub":""}`, "", false},
		{`{"sub":7}`, "", false},
		{`{"sub":null}`, "", false},
		{`{"Sub":"agent"}`, "", false},
		{`{"sub":"agent","sub":"other"}`, "", false},
		{`{"sub":"agent","act":null}`, "", false},
		{`{"sub":"agent","act":{}}`, "", false},
		{`{"sub":"agent","act":"x"}`, "", false},
		{`{"sub":"` + strings.Repeat("a", maxSubject+1) + `"}`, "", false},
	} {
		got, err := ReadActor(json.RawMessage(`{"iss":"i","act":` + c.act + `}`))
		if got != c.want || (err == nil) != c.ok || err != nil && !errors.Is(err, ErrActor) {
			t.Errorf("%s: %q, %v", c.act, got, err)
		}
	}
	if got, err := ReadActor(json.RawMessage(`{"Act":{"sub":"x"}}`)); got != "" || err != nil {
		t.Errorf("no act: %q, %v", got, err)
	}
	for _, text := range []string{``, `null`, `[]`, `{"act":{"sub":"a"}} {}`, `{"act":{"sub":"a"},"act":{"sub":"b"}}`} {
		if got, err := ReadActor(json.RawMessage(text)); got != "" || !errors.Is(err, ErrActor) {
			t.Errorf("%s: %q, %v", text, got, err)
		}
	}
}

func TestClaimWords(t *testing.T) {
	t.Parallel()
	const claims = `{"scopes":"crm.read  crm.write crm.read","app_metadata":{"roles":["admin","clerk","admin"],"role":"admin","none":null,"n":7,
		"mixed":["a",7],"nulls":[null],"empty":[],"blank":"","deep":{"a.b":["x"]},"user_metadata":{"role":"admin"}},"user_metadata":{"role":"admin"}}`
	for _, c := range []struct {
		path string
		want []string
		ok   bool
	}{
		{"scopes", []string{"crm.read", "crm.write"}, true},
		{"app_metadata/roles", []string{"admin", "clerk"}, true},
		{"app_metadata/role", []string{"admin"}, true},
		{"app_metadata/deep/a.b", []string{"x"}, true},
		{"app_metadata/empty", []string{}, true},
		{"app_metadata/blank", []string{}, true},
		{"app_metadata/none", nil, false},
		{"app_metadata/none/more", nil, false},
		{"app_metadata/n", nil, false},
		{"app_metadata/mixed", nil, false},
		{"app_metadata/nulls", nil, false},
		{"app_metadata/missing", nil, false},
		{"app_metadata/roles/0", nil, false},
		{"app_metadata", nil, false},
		{"App_metadata/role", nil, false},
		{"scopes/x", nil, false},
		{"user_metadata/role", nil, false},
		{"app_metadata/user_metadata/role", nil, false},
	} {
		got, ok := ClaimWords(json.RawMessage(claims), strings.Split(c.path, "/"))
		if ok != c.ok || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, %t", c.path, got, ok)
		}
	}
	for _, claims := range []string{``, `null`, `[]`, `"x"`, `{`} {
		if got, ok := ClaimWords(json.RawMessage(claims), []string{"scopes"}); ok {
			t.Errorf("%s: %q", claims, got)
		}
	}
	if _, ok := ClaimWords(json.RawMessage(claims), nil); ok {
		t.Error("no path is a claim")
	}
}

func TestStripClaimsKeepsEverythingButWhatUsersWrite(t *testing.T) {
	t.Parallel()
	got, err := StripClaims([]byte(`{"sub":"alice","user_metadata":{"role":"admin"},"n":12345678901234567890}`))
	if err != nil || string(got) != `{"n":12345678901234567890,"sub":"alice"}` {
		t.Errorf("got %s, %v", got, err)
	}
	for _, text := range []string{``, `null`, `[]`, `{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `{} {}`} {
		if got, err := StripClaims([]byte(text)); err == nil {
			t.Errorf("%s: %s", text, got)
		}
	}
}

func TestTokenClaimsReadsTheMiddlePart(t *testing.T) {
	t.Parallel()
	got, err := TokenClaims(forged(`{"alg":"HS256"}`, `{"sub":"alice","user_metadata":{}}`, "s"))
	if err != nil || string(got) != `{"sub":"alice"}` {
		t.Errorf("got %s, %v", got, err)
	}
	for _, text := range []string{"", "a.b", "a.!.c", forged(`{}`, `{"a":1,"a":1}`, ""), "a..c"} {
		if got, err := TokenClaims(text); err == nil {
			t.Errorf("%q: %s", text, got)
		}
	}
}

// FuzzActor: whatever act holds, nothing panics, and what is read is the sub of
// the outermost level.
func FuzzActor(f *testing.F) {
	for _, seed := range []string{`{"sub":"a"}`, `{"sub":"a","act":{"sub":"b"}}`, `null`, `{"sub":"a","act":null}`, `[]`, `{"sub":"a","sub":"b"}`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, act string) {
		got, err := ReadActor(json.RawMessage(`{"act":` + act + `}`))
		if err != nil {
			if got != "" {
				t.Fatalf("%s: %q beside %v", act, got, err)
			}
			return
		}
		var read struct {
			Act map[string]any `json:"act"`
		}
		if json.Unmarshal([]byte(`{"act":`+act+`}`), &read) != nil || read.Act["sub"] != got || got == "" {
			t.Fatalf("%s: %q, of %v", act, got, read.Act)
		}
	})
}
