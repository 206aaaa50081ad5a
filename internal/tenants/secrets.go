package tenants

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

var (
	secretKey   = regexp.MustCompile(`(?i)sb_secret_`)
	accessToken = regexp.MustCompile(`\bsbp_[A-Za-z0-9_]{20,}`)
	jwtShape    = regexp.MustCompile(`eyJ[A-Za-z0-9_-]*\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*`)
)

// RefuseSecret refuses a value that holds a key that opens a project past Row
// Level Security, anywhere in it: a secret key (sb_secret_…), a Management API
// token (sbp_…), or a JWT whose role is not anon, which is a service_role key
// or a person's session. The error, fault.Invalid with code secret_key, names
// the field and what to do, and never quotes the value. API and CLI ask this
// for every field before anything is sent, stored or logged.
func RefuseSecret(field, value string) error {
	switch {
	case secretKey.MatchString(value):
		return refusal(field, "a Supabase secret key (sb_secret_…)", "Revoke it now under Project Settings, API Keys: it has been typed where it should never be.")
	case accessToken.MatchString(value):
		return refusal(field, "a Supabase access token (sbp_…)", "Revoke it now under Account, Access Tokens.")
	}
	for _, token := range jwtsIn(value) {
		if role, ok := jwtRole(token); !ok || role != "anon" {
			return refusal(field, "a JWT that is not an anon key", "If it is the service_role key, revoke it now under Project Settings, API Keys (disable legacy keys or rotate the JWT secret); if it is a session, sign it out.")
		}
	}
	return nil
}

// jwtsIn lists what has the form of a JWT. The third part of one may be the
// first of the next, where two keys were pasted with a dot between.
func jwtsIn(text string) []string {
	var tokens []string
	for {
		at := jwtShape.FindStringIndex(text)
		if at == nil {
			return tokens
		}
		token := text[at[0]:at[1]]
		tokens = append(tokens, token)
		text = text[at[0]+strings.LastIndexByte(token, '.'):]
	}
}

func refusal(field, what, todo string) error {
	message := "The field " + field + " holds " + what + ". It was not stored. " + todo + " Chumbo needs only the publishable key (sb_publishable_…) or the legacy anon key."
	return fault.New(fault.Invalid, "secret_key", "%s", message).WithIssues(fault.Issue{Path: field, Message: "holds " + what})
}

// jwtRole reads the role claim without checking the signature: what matters is
// what the token claims to be.
func jwtRole(token string) (string, bool) {
	parts := strings.Split(token, ".")
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return "", false
	}
	claims := map[string]json.RawMessage{} // keys compared exactly
	if json.Unmarshal(payload, &claims) != nil {
		return "", false
	}
	var role string
	if json.Unmarshal(claims["role"], &role) != nil {
		return "", false
	}
	return role, true
}

// checkPublishable refuses what is no publishable key.
func checkPublishable(key string) error {
	if err := RefuseSecret("publishable_key", key); err != nil {
		return err
	}
	rest, isNew := strings.CutPrefix(key, "sb_publishable_")
	if isNew && len(rest) >= 8 && len(key) <= 200 && !strings.ContainsFunc(key, notKeyRune) {
		return nil
	}
	if match := jwtShape.FindString(key); match != "" && match == key && len(key) <= 2048 {
		return nil
	}
	return fault.New(fault.Invalid, "publishable_key_invalid",
		"This is no publishable key. Copy the one that starts with sb_publishable_ (or the legacy anon key) from Project Settings, API Keys.").
		WithIssues(fault.Issue{Path: "publishable_key", Message: "want sb_publishable_… or the legacy anon key"})
}

func notKeyRune(r rune) bool {
	return (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') && (r < '0' || r > '9') && r != '_' && r != '-'
}
