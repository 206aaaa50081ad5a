package api

import (
	"net/http"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// Schemas serves the published JSON Schemas: /schema/surface-v1.json of the
// surface file and /schema/schema-snapshot-v1.json of the schema snapshot.
// Mount it at /schema/. It needs no token, and editors of any origin may read
// it.
func Schemas() http.Handler {
	documents := map[string][]byte{
		"/schema/surface-v1.json":         surfaces.FileSchema(),
		"/schema/schema-snapshot-v1.json": surfaces.SnapshotSchema(),
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		document, found := documents[r.URL.Path]
		if !found {
			fault.WriteProblem(w, fault.New(fault.NotFound, "no_route", "There is no schema of that name. There are surface-v1.json and schema-snapshot-v1.json."), newRequestID())
			return
		}
		if r.Method != http.MethodGet && r.Method != http.MethodHead {
			w.Header().Set("Allow", "GET, HEAD")
			writeMethodNotAllowed(w, newRequestID())
			return
		}
		w.Header().Set("Content-Type", "application/schema+json")
		w.Header().Set("Access-Control-Allow-Origin", "*")
		w.Header().Set("Cache-Control", "public, max-age=3600")
		w.Header().Set("X-Content-Type-Options", "nosniff")
		_, _ = w.Write(document)
	})
}
