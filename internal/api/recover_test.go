package api

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/labstack/echo/v4"
)

func TestField48_PanicAnswersJSON(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	a := &api{Config{Logger: slog.New(slog.NewJSONHandler(&log, nil))}}
	e := echo.New()
	e.HTTPErrorHandler = a.writeError
	e.Use(a.observe, a.recover)
	e.GET("/", func(echo.Context) error { panic("the text of a panic") })

	rec := httptest.NewRecorder()
	e.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, "/", nil))
	id := rec.Header().Get("Chumbo-Request-Id")
	if rec.Code != 500 || rec.Header().Get("Content-Type") != "application/problem+json" || strings.Contains(rec.Body.String(), "the text of a panic") {
		t.Errorf("%d %v %s", rec.Code, rec.Header(), rec.Body)
	}
	if id == "" || !strings.Contains(rec.Body.String(), id) || !strings.Contains(log.String(), id) || !strings.Contains(log.String(), "recover_test.go") || strings.Contains(log.String(), "the text of a panic") {
		t.Errorf("id %q, answer %s, log %s", id, rec.Body, log.String())
	}
}
