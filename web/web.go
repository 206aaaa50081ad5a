// Package web owns what people see in a browser: templ components, one CSS
// file of tokens and one of components, embedded: the connect page at a
// surface's URL, and the pages of builders, which package dashboard serves.
//
// It never carries tenant HTML, scripts from elsewhere or inline styles, and
// never decides who may see a page.
package web

import (
	"bytes"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"

	"github.com/a-h/templ"
)

//go:embed static
var static embed.FS

// AssetsPath is where the static files are served.
const AssetsPath = "/static/"

// Assets serves the embedded files; their names carry a version, so browsers
// may keep them.
func Assets() http.Handler {
	files, err := fs.Sub(static, "static")
	if err != nil {
		panic("web: " + err.Error()) // the folder is embedded above
	}
	server := http.StripPrefix(AssetsPath, http.FileServerFS(files))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "public, max-age=86400")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		server.ServeHTTP(w, r)
	})
}

// asset is the URL of a static file, with its content's hash as version.
func asset(name string) string {
	b, err := static.ReadFile("static/" + name)
	if err != nil {
		panic("web: " + err.Error()) // a component names a file that is not embedded
	}
	sum := sha256.Sum256(b)
	return AssetsPath + name + "?v=" + hex.EncodeToString(sum[:6])
}

// WritePage renders a component as a whole page with the headers every page
// carries. Nothing is sent when rendering goes wrong.
func WritePage(ctx context.Context, w http.ResponseWriter, status int, page templ.Component) error {
	return WritePageUnder(ctx, w, status, page, Policy{})
}

// WritePageUnder is WritePage for a page that needs more than our own files.
func WritePageUnder(ctx context.Context, w http.ResponseWriter, status int, page templ.Component, policy Policy) error {
	var body bytes.Buffer
	if err := page.Render(ctx, &body); err != nil {
		return fmt.Errorf("render page: %w", err)
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", policy.String())
	// Not no-referrer: browsers then send forms with Origin: null, which tells
	// our own from another site's no more.
	h.Set("Referrer-Policy", "same-origin")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Set("Content-Length", strconv.Itoa(body.Len()))
	w.WriteHeader(status)
	_, err := w.Write(body.Bytes())
	return err
}
