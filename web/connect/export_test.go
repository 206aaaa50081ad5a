package connect

import (
	"testing"

	"github.com/labstack/echo/v4"
)

// Routes lists every route by the host it is on, for tests that walk them all.
func Routes(t *testing.T, pagesURL string) map[string][]*echo.Route {
	t.Helper()
	s := &site{}
	return map[string][]*echo.Route{pagesURL: s.pages().Routes(), "https://acme.apps.example.test": s.ownHost().Routes()}
}
