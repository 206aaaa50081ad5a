package dashboard

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
)

func TestPanicIsAPageWithATraceIDAndNothingElse(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	d := &dashboard{Config: Config{Logger: slog.New(slog.NewJSONHandler(&log, nil))}}
	e := echo.New()
	e.HTTPErrorHandler = d.writeError
	e.Use(d.observe, d.recover, d.readForm)
	e.GET("/app/x", func(echo.Context) error { panic("the text of a panic") })

	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/app/x", nil))
	id := rec.Header().Get(requestIDHeader)
	if rec.Code != http.StatusInternalServerError || !strings.HasPrefix(rec.Header().Get("Content-Type"), "text/html") || strings.Contains(rec.Body.String(), "the text of a panic") {
		t.Errorf("%d %v %s", rec.Code, rec.Header(), rec.Body)
	}
	if id == "" || !strings.Contains(rec.Body.String(), `data-copy="`+id+`"`) || !strings.Contains(log.String(), id) || strings.Contains(log.String(), "the text of a panic") {
		t.Errorf("id %q, page %s, log %s", id, rec.Body, log.String())
	}
}
