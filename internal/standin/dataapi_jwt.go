package standin

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// caller is as whom a Data API request runs.
type caller struct {
	role   string
	claims string // JSON for request.jwt.claims, role included
}

// clockSkew is what PostgREST forgives.
const clockSkew = 30 * time.Second

type tokenHeader struct {
	Alg string `json:"alg"`
	Kid string `json:"kid"`
}

// authenticate verifies the Authorization token of a request. Without one the
// request runs as the role that the gateway read from the apikey.
func (d *dataAPI) authenticate(r *http.Request) (caller, error) {
	token, ok := bearer(r.Header.Get("Authorization"))
	if !ok {
		role := r.Header.Get(roleHeader)
		if role == "" {
			role = "anon"
		}
		return caller{role: role, claims: `{"role":"` + role + `"}`}, nil
	}
	if n := strings.Count(token, ".") + 1; n != 3 {
		return caller{}, jwtError("PGRST301", fmt.Sprintf("Expected 3 parts in JWT; got %d", n))
	}
	header, claims, err := peekToken(token)
	if err != nil {
		return caller{}, jwtError("PGRST301", "JWT cryptographic operation failed")
	}
	end := strings.LastIndexByte(token, '.')
	sig, err := base64.RawURLEncoding.DecodeString(token[end+1:])
	if err != nil {
		return caller{}, jwtError("PGRST301", "JWT cryptographic operation failed")
	}
	if err := d.cfg.keys.checkSignature(header.Alg, header.Kid, token[:end], sig); err != nil {
		return caller{}, jwtError("PGRST301", "No suitable key or wrong key type")
	}
	if err := checkTimes(claims, d.cfg.now()); err != nil {
		return caller{}, err
	}
	role, ok := claims["role"].(string)
	if !ok || role == "" {
		role = "anon"
	}
	claims["role"] = role
	encoded, err := json.Marshal(claims)
	if err != nil {
		return caller{}, fmt.Errorf("encode claims: %w", err)
	}
	return caller{role: role, claims: string(encoded)}, nil
}

// peekToken decodes a token without checking its signature. Numbers keep
// their text.
func peekToken(token string) (header tokenHeader, claims map[string]any, err error) {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return header, nil, errors.New("token has not three parts")
	}
	if err := decodePart(parts[0], &header); err != nil {
		return header, nil, err
	}
	err = decodePart(parts[1], &claims)
	if err == nil && claims == nil {
		err = errors.New("token has no claims")
	}
	return header, claims, err
}

func decodePart(part string, into any) error {
	raw, err := base64.RawURLEncoding.DecodeString(part)
	if err != nil {
		return fmt.Errorf("decode token: %w", err)
	}
	decoder := json.NewDecoder(bytes.NewReader(raw))
	decoder.UseNumber()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("decode token: %w", err)
	}
	return nil
}

func checkTimes(claims map[string]any, now time.Time) error {
	rules := []struct {
		claim   string
		broken  func(t time.Time) bool
		message string
	}{
		{"exp", func(t time.Time) bool { return now.Add(-clockSkew).After(t) }, "JWT expired"},
		{"nbf", func(t time.Time) bool { return now.Add(clockSkew).Before(t) }, "JWT not yet valid"},
		{"iat", func(t time.Time) bool { return now.Add(clockSkew).Before(t) }, "JWT issued at future"},
	}
	for _, rule := range rules {
		value, present := claims[rule.claim]
		if !present || value == nil {
			continue
		}
		number, ok := value.(json.Number)
		if !ok {
			return jwtError("PGRST303", "The JWT '"+rule.claim+"' claim must be a number")
		}
		seconds, err := number.Float64()
		if err != nil || rule.broken(time.Unix(int64(seconds), 0)) {
			return jwtError("PGRST303", rule.message)
		}
	}
	return nil
}

func jwtError(code, message string) *apiError {
	return &apiError{
		status: http.StatusUnauthorized, Code: code, Message: message,
		challenge: `Bearer error="invalid_token", error_description="` + message + `"`,
	}
}
