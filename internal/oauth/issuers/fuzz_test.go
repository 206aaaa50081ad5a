package issuers

import (
	"encoding/json"
	"errors"
	"testing"
	"time"
)

// FuzzIntrospectionAnswer looks for an answer that lets somebody in although a
// plain reading of it does not.
func FuzzIntrospectionAnswer(f *testing.F) {
	for _, seed := range []string{
		`{"active":true,"sub":"alice","exp":4102444800,"aud":"crm-api","client_id":"a","scope":"x y"}`,
		`{"active":false}`, `{"active":"true"}`, `{"active":true}`, `{"Active":true,"sub":"a","exp":4102444800}`, `{"active":true,"active":false}`,
		`{"active":true,"sub":"a","exp":4102444800,"act":{"sub":"b","act":{"sub":"c"}}}`, `{"active":true,"sub":"a","exp":1e99}`,
		`{"active":true,"sub":"a","exp":4102444800,"user_metadata":{"a":1},"iss":"https://login.example.test"}`, `null`, `[]`, ``,
	} {
		f.Add([]byte(seed))
	}
	const issuer = "https://login.example.test"
	now := time.Unix(1_800_000_000, 0)
	f.Fuzz(func(t *testing.T, body []byte) {
		c, err := readAnswer(body, issuer, now)
		if err != nil {
			var why denial
			if !errors.As(err, &why) && !errors.Is(err, errUnclear) {
				t.Fatalf("an error of another kind: %v", err)
			}
			return
		}
		var plain map[string]any
		if err := json.Unmarshal(body, &plain); err != nil {
			t.Fatalf("let in by no JSON: %v", err)
		}
		if plain["active"] != true || plain["sub"] != c.subject || c.subject == "" || !c.expires.After(now) || plain["iss"] != nil && plain["iss"] != issuer {
			t.Fatalf("let in by %s as %+v", body, c)
		}
		var rest map[string]any
		if err := json.Unmarshal(c.rest, &rest); err != nil || rest["user_metadata"] != nil {
			t.Fatalf("claims are %s", c.rest)
		}
	})
}

// FuzzToken looks for a text that is read as a token and cannot be one.
func FuzzToken(f *testing.F) {
	f.Add("eyJhbGciOiJFUzI1NiJ9.eyJzdWIiOiJhIiwiZXhwIjo0MTAyNDQ0ODAwfQ.x")
	f.Add("a.b.c")
	f.Add("..")
	f.Fuzz(func(t *testing.T, text string) {
		token, err := parseToken(text)
		var why denial
		switch {
		case err != nil && !errors.As(err, &why):
			t.Fatalf("an error of another kind: %v", err)
		case err == nil && (token.claims.subject == "" || token.claims.expires.IsZero()):
			t.Fatalf("read as %+v", token.claims)
		}
	})
}
