package bridge

import "net/http"

// Serves reports whether a path belongs to the authorization server: one of
// its metadata documents or endpoints, or a guessed path at a host's root. It
// says nothing about whether a surface is there.
func Serves(path string) bool { panic("not built") }

// ServeHTTP answers the paths of Serves: JSON on every way out, with CORS for
// any origin. A surface that is not a bridge surface is 404.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) { panic("not built") }
