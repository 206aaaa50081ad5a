package standin

import (
	"encoding/json"
	"testing"
)

// TestAdminReadsAPersonWithASecretKeyOnly pins the one admin call that Chumbo
// makes to find out whether a key is a secret one.
func TestAdminReadsAPersonWithASecretKeyOnly(t *testing.T) {
	t.Parallel()
	p := startCRM(t, nil)
	alice, err := p.AccessToken(AliceEmail, TokenOptions{})
	if err != nil {
		t.Fatal(err)
	}
	const nobody = "/auth/v1/admin/users/00000000-0000-0000-0000-000000000000"
	for _, c := range []struct {
		name, path, key, bearer string
		status                  int
		code                    string
	}{
		{"no key", nobody, "", "", 401, ""},
		{"wrong key", nobody, "sb_secret_wrong", "", 401, ""},
		{"publishable key", nobody, p.PublishableKey(), "", 403, "not_admin"},
		{"anon key", nobody, p.AnonKey(), "Bearer " + p.AnonKey(), 403, "not_admin"},
		{"a user", nobody, p.PublishableKey(), "Bearer " + alice, 403, "not_admin"},
		{"secret key", nobody, p.SecretKey(), "", 404, "user_not_found"},
		{"service_role key", nobody, p.ServiceRoleKey(), "Bearer " + p.ServiceRoleKey(), 404, "user_not_found"},
		{"no id", "/auth/v1/admin/users/me", p.SecretKey(), "", 404, "validation_failed"},
		{"somebody", "/auth/v1/admin/users/" + AliceID, p.SecretKey(), "", 200, ""},
	} {
		var headers []string
		if c.key != "" {
			headers = append(headers, "apikey", c.key)
		}
		if c.bearer != "" {
			headers = append(headers, "Authorization", c.bearer)
		}
		got := raw(t, p, "GET", c.path, headers...)
		var body struct {
			ErrorCode string `json:"error_code"`
			ID        string `json:"id"`
		}
		if err := json.Unmarshal([]byte(got.body), &body); err != nil || got.status != c.status || body.ErrorCode != c.code {
			t.Errorf("%s: %d %s, want %d %s", c.name, got.status, got.body, c.status, c.code)
		}
		if (body.ID == AliceID) != (c.status == 200) {
			t.Errorf("%s: shows %q", c.name, body.ID)
		}
	}
}
