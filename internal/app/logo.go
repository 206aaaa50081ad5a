package app

import (
	"log/slog"
	"net/http"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// logos serves the pictures of connect pages. Their names are their digests,
// so a browser may keep them for good.
func logos(builders *tenants.Service, log *slog.Logger) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		digest, ok := strings.CutSuffix(strings.TrimPrefix(r.URL.Path, tenants.LogoPrefix), ".png")
		if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.NotFound(w, r)
			return
		}
		picture, err := builders.Logo(r.Context(), digest)
		if fault.Is(err, fault.NotFound) {
			http.NotFound(w, r)
			return
		}
		if err != nil {
			log.WarnContext(r.Context(), "serve logo", "error", err)
			writeText(w, http.StatusServiceUnavailable, "not available right now")
			return
		}
		h := w.Header()
		h.Set("Content-Type", "image/png")
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("Content-Security-Policy", "default-src 'none'")
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
		_, _ = w.Write(picture)
	})
}
