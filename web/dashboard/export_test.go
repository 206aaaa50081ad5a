package dashboard

import "github.com/labstack/echo/v4"

// Routes lists every route, for tests that walk them all.
func Routes() []*echo.Route { return (&dashboard{}).router().Routes() }

// LocalPath is localPath.
func LocalPath(next string) string { return localPath(next) }

// Secrets are the routes with a field that may hold a key.
func Secrets() map[string]string { return secretRoutes }
