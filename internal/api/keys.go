package api

import (
	"net/http"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth/apikeys"
)

// listKeys is GET …/keys: the keys that applications call the surface with,
// newest first.
func (a *api) listKeys(c echo.Context) error {
	surface, err := a.surface(c)
	if err != nil {
		return err
	}
	var after id.Key
	if text := c.QueryParam("after"); text != "" {
		if after, err = id.Parse[id.KeyKind](text); err != nil {
			return fault.New(fault.Invalid, "after", "after is the id of a key (key_…), as the page before gave it. Start again without it.")
		}
	}
	keys, err := a.Keys.List(c.Request().Context(), principal(c), surface.ID, after)
	if err != nil {
		return err
	}
	answer := keysAnswer{Keys: []keyJSON{}}
	for _, key := range keys {
		answer.Keys = append(answer.Keys, keyOf(key, a.Now()))
	}
	if len(keys) >= apikeys.PageSize {
		answer.NextAfter = keys[len(keys)-1].ID.String()
	}
	return writeJSON(c, http.StatusOK, answer)
}

// createKey is POST …/keys. The key is in this answer and nowhere else.
func (a *api) createKey(c echo.Context) error {
	var in struct {
		Name      string   `json:"name"`
		Scopes    []string `json:"scopes"`
		ExpiresAt string   `json:"expires_at"`
	}
	if err := readJSON(c, maxBody, &in); err != nil {
		return err
	}
	until, err := readExpiry(in.ExpiresAt, "key")
	if err != nil {
		return err
	}
	surface, err := a.surface(c)
	if err != nil {
		return err
	}
	made, secret, err := a.Keys.Create(c.Request().Context(), principal(c), surface.ID, apikeys.NewKey{Name: in.Name, Scopes: in.Scopes, Expires: until})
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusCreated, createdKeyAnswer{Key: secret.Reveal(), keyJSON: keyOf(made, a.Now())})
}

// revokeKey is DELETE …/keys/:key, by its id: what it was given to is refused
// from now on.
func (a *api) revokeKey(c echo.Context) error {
	if err := readNothing(c); err != nil {
		return err
	}
	surface, err := a.surface(c)
	if err != nil {
		return err
	}
	key, err := id.Parse[id.KeyKind](c.Param("key"))
	if err != nil {
		return fault.New(fault.NotFound, "unknown_key", "Nothing was revoked: this surface has no such key, or it is revoked already.")
	}
	if err := a.Keys.Revoke(c.Request().Context(), principal(c), surface.ID, key); err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, revokedKeyAnswer{Revoked: key})
}

// readExpiry reads the expires_at of a body; empty is the zero time. What names
// the thing that is made.
func readExpiry(text, what string) (time.Time, error) {
	if text == "" {
		return time.Time{}, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.IsZero() {
		return time.Time{}, fault.New(fault.Invalid, "expires_at_invalid",
			"Write the expiry as a time with zone, such as 2027-01-31T12:00:00Z, or leave it out for a %s that does not expire.", what).
			WithIssues(fault.Issue{Path: "expires_at", Message: "want a time such as 2027-01-31T12:00:00Z"})
	}
	return at, nil
}

// What goes over the wire of keys.

type keysAnswer struct {
	Keys      []keyJSON `json:"keys"`
	NextAfter string    `json:"next_after,omitempty"`
}

type keyJSON struct {
	ID         id.Key     `json:"id"`
	Name       string     `json:"name"`
	State      string     `json:"state"` // live, expired or revoked
	Hint       string     `json:"hint"`  // its last four characters
	Scopes     []string   `json:"scopes"`
	CreatedBy  id.Builder `json:"created_by"`
	CreatedAt  time.Time  `json:"created_at"`
	ExpiresAt  *time.Time `json:"expires_at,omitempty"`
	LastUsedAt *time.Time `json:"last_used_at,omitempty"`
	RevokedAt  *time.Time `json:"revoked_at,omitempty"`
}

func keyOf(k apikeys.Key, now time.Time) keyJSON {
	out := keyJSON{
		ID: k.ID, Name: k.Name, State: "live", Hint: k.Hint, Scopes: list(k.Scopes), CreatedBy: k.CreatedBy, CreatedAt: k.CreatedAt,
		ExpiresAt: k.ExpiresAt, LastUsedAt: k.LastUsedAt, RevokedAt: k.RevokedAt,
	}
	switch {
	case k.RevokedAt != nil:
		out.State = "revoked"
	case k.ExpiresAt != nil && !now.Before(*k.ExpiresAt):
		out.State = "expired"
	}
	return out
}

type createdKeyAnswer struct {
	Key string `json:"key"` // shown only now
	keyJSON
}

type revokedKeyAnswer struct {
	Revoked id.Key `json:"revoked"`
}
