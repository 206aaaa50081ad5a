package standin

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
)

type consentKey struct{ userID, clientID string }

// consent is what a person allowed a client, once and for all later requests
// that ask for no more.
type consent struct {
	scopes    []string
	grantedAt time.Time
}

func (c *consent) covers(scope string) bool {
	if c == nil {
		return false
	}
	for s := range strings.FieldsSeq(scope) {
		if !slices.Contains(c.scopes, s) {
			return false
		}
	}
	return true
}

func authorizationNotFound() error {
	return newAuthError(http.StatusNotFound, "oauth_authorization_not_found", "authorization not found")
}

// openedAuthorization is what a consent page gets: the details to ask about,
// or the URL to go to because everything was allowed before.
type openedAuthorization struct {
	redirectURL string
	client      *oauthClient
	redirectURI string
	scope       string
}

// getAuthorization binds the person to the authorization, and finishes it when
// they consented before: a GET that is not safe, as at Auth.
func (a *authServer) getAuthorization(w http.ResponseWriter, r *http.Request) error {
	who, err := a.requireUser(r)
	if err != nil {
		return err
	}
	if err := a.checkOrigin(r); err != nil {
		return err
	}
	id := r.PathValue("id")
	opened, err := a.openAuthorization(r.Context(), id, who.user.ID)
	if err != nil {
		return err
	}
	if opened.redirectURL != "" {
		writeAuthJSON(w, http.StatusOK, map[string]any{"redirect_url": opened.redirectURL})
		return nil
	}
	user := map[string]any{"id": who.user.ID}
	putIfSet(user, "email", who.user.Email)
	writeAuthJSON(w, http.StatusOK, map[string]any{
		"authorization_id": id,
		"redirect_uri":     opened.redirectURI,
		"client":           opened.client.brief(),
		"user":             user,
		"scope":            opened.scope,
	})
	return nil
}

// openAuthorization takes the row, as a transaction would, and gives it back.
// A second caller meanwhile is told that there is none.
func (a *authServer) openAuthorization(ctx context.Context, id, userID string) (openedAuthorization, error) {
	z, err := a.takeAuthorization(id)
	if err != nil {
		return openedAuthorization{}, err
	}
	pingErr := a.people.pool.Ping(ctx) // the row is held for a round trip
	a.mu.Lock()
	defer a.mu.Unlock()
	z.busy = false
	if pingErr != nil {
		return openedAuthorization{}, fmt.Errorf("hold authorization: %w", pingErr)
	}
	c := a.state.clients[z.clientID]
	switch {
	case z.expired(a.cfg.now()) || (z.userID != "" && z.userID != userID) || c.deleted:
		return openedAuthorization{}, authorizationNotFound()
	case z.status != statusPending:
		return openedAuthorization{}, invalidInput("authorization request cannot be processed")
	}
	z.userID = userID
	if a.state.consents[consentKey{userID, z.clientID}].covers(z.scope) {
		z.approve()
		return openedAuthorization{redirectURL: z.codeRedirect()}, nil
	}
	return openedAuthorization{client: c, redirectURI: z.redirectURI, scope: z.scope}, nil
}

func (a *authServer) takeAuthorization(id string) (*authorization, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	z := a.state.authorizations[id]
	if z == nil || z.busy {
		return nil, authorizationNotFound()
	}
	z.busy = true
	return z, nil
}

func (z *authorization) approve() {
	z.status = statusApproved
	z.code = uuid.NewString()
}

// postConsent records the person's answer and tells the page where to go.
func (a *authServer) postConsent(w http.ResponseWriter, r *http.Request) error {
	who, err := a.requireUser(r)
	if err != nil {
		return err
	}
	if err := a.checkOrigin(r); err != nil {
		return err
	}
	var in struct {
		Action string `json:"action"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return newAuthError(http.StatusBadRequest, "bad_json", "invalid JSON body")
	}
	to, err := a.decide(r.PathValue("id"), who.user.ID, in.Action)
	if err != nil {
		return err
	}
	writeAuthJSON(w, http.StatusOK, map[string]any{"redirect_url": to})
	return nil
}

// decide approves or denies. An approval replaces the scopes consented to
// before, it does not add to them.
func (a *authServer) decide(id, userID, action string) (string, error) {
	if action != "approve" && action != "deny" {
		return "", invalidInput("action must be 'approve' or 'deny'")
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	z := a.state.authorizations[id]
	switch {
	case z == nil || z.userID != userID || z.expired(a.cfg.now()):
		return "", authorizationNotFound()
	case z.status != statusPending:
		return "", invalidInput("authorization request is no longer pending")
	case action == "deny":
		z.status = statusDenied
		return z.errorRedirect("access_denied", "User denied the request"), nil
	}
	z.approve()
	a.state.consents[consentKey{userID, z.clientID}] = &consent{strings.Fields(z.scope), a.cfg.now()}
	return z.codeRedirect(), nil
}

// listGrants is what the person has allowed, newest first. Clients that were
// deleted are left out.
func (a *authServer) listGrants(w http.ResponseWriter, r *http.Request) error {
	who, err := a.requireUser(r)
	if err != nil {
		return err
	}
	type grant struct {
		Client    map[string]any `json:"client"`
		Scopes    []string       `json:"scopes"`
		GrantedAt time.Time      `json:"granted_at"`
	}
	grants := []grant{}
	a.mu.Lock()
	for key, c := range a.state.consents {
		client := a.state.clients[key.clientID]
		if key.userID == who.user.ID && !client.deleted {
			grants = append(grants, grant{client.brief(), c.scopes, c.grantedAt})
		}
	}
	a.mu.Unlock()
	slices.SortFunc(grants, func(x, y grant) int { return y.GrantedAt.Compare(x.GrantedAt) })
	writeAuthJSON(w, http.StatusOK, grants)
	return nil
}

// revokeGrant forgets the consent and ends the client's sessions. A code that
// was given out before can still be exchanged.
func (a *authServer) revokeGrant(w http.ResponseWriter, r *http.Request) error {
	who, err := a.requireUser(r)
	if err != nil {
		return err
	}
	clientID := r.URL.Query().Get("client_id")
	if clientID == "" {
		return invalidInput("client_id query parameter is required")
	}
	if _, err := uuid.Parse(clientID); err != nil {
		return invalidInput("invalid client_id format")
	}
	key := consentKey{who.user.ID, clientID}
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state.consents[key] == nil {
		return newAuthError(http.StatusNotFound, "oauth_consent_not_found", "No active grant found for this client")
	}
	delete(a.state.consents, key)
	a.state.dropSessions(who.user.ID, func(s *session) bool { return s.clientID == clientID })
	w.WriteHeader(http.StatusNoContent)
	return nil
}
