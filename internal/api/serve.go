package api

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/builders"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	requestIDHeader = "Chumbo-Request-Id"
	requestIDKey    = "request_id"
	principalKey    = "principal"
)

// observe gives the request its id and logs how it ended: method, route,
// status and duration, nothing that was typed.
func (a *api) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		begun := time.Now()
		id := newRequestID()
		c.Set(requestIDKey, id)
		c.Response().Header().Set(requestIDHeader, id)
		c.Response().Header().Set("Cache-Control", "no-store")
		if err := next(c); err != nil {
			c.Error(err)
		}
		a.Logger.LogAttrs(c.Request().Context(), slog.LevelInfo, "control api",
			slog.String("request", id), slog.String("method", c.Request().Method), slog.String("route", c.Path()),
			slog.Int("status", c.Response().Status), slog.Duration("took", time.Since(begun)))
		return nil
	}
}

func newRequestID() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails (crypto/rand)
	return hex.EncodeToString(b)
}

// recover turns a panic into a 500 problem.
func (a *api) recover(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
				panic(p)
			}
			// The value of a panic may hold what a builder sent.
			err = fmt.Errorf("panic: %T\n%s", p, debug.Stack())
		}()
		return next(c)
	}
}

// writeError renders every error as RFC 9457 JSON, echo's own 404 and 405
// included.
func (a *api) writeError(err error, c echo.Context) {
	if c.Response().Committed {
		return
	}
	id, _ := c.Get(requestIDKey).(string)
	var unrouted *echo.HTTPError
	if errors.As(err, &unrouted) {
		writeRouterError(c, unrouted.Code, id)
		return
	}
	var refused *builders.ProbeRefused
	if errors.As(err, &refused) {
		writeRefusedProbe(c, refused, id)
		return
	}
	if fault.Is(err, fault.Unauthenticated) {
		c.Response().Header().Set("WWW-Authenticate", `Bearer realm="chumbo"`)
	}
	if fault.From(err).Kind == fault.Internal {
		a.Logger.LogAttrs(c.Request().Context(), slog.LevelError, "control api failed",
			slog.String("request", id), slog.String("route", c.Path()), slog.String("cause", err.Error()))
	}
	fault.WriteProblem(c.Response(), err, id)
}

func writeRouterError(c echo.Context, status int, id string) {
	if status == http.StatusMethodNotAllowed {
		writeMethodNotAllowed(c.Response(), id)
		return
	}
	fault.WriteProblem(c.Response(), fault.New(fault.NotFound, "no_route", "There is nothing at this path. docs/api.md lists the paths of the control API."), id)
}

func writeMethodNotAllowed(w http.ResponseWriter, id string) {
	problemJSON(w, http.StatusMethodNotAllowed, fault.Problem{
		Type: "about:blank", Title: "Method not allowed", Status: http.StatusMethodNotAllowed, Code: "method_not_allowed",
		Detail: "This path does not take this method. The Allow header lists those it takes.", TraceID: id,
	})
}

// problemJSON answers with a document that may carry more members than
// fault.Problem.
func problemJSON(w http.ResponseWriter, status int, body any) {
	w.Header().Set(echo.HeaderContentType, "application/problem+json")
	w.Header().Set(echo.HeaderXContentTypeOptions, "nosniff")
	w.WriteHeader(status)
	_ = writeBody(w, body)
}

// authenticate admits a request with an API token (cht_…).
func (a *api) authenticate(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		scheme, token, _ := strings.Cut(c.Request().Header.Get("Authorization"), " ")
		token = strings.TrimSpace(token)
		if !strings.EqualFold(scheme, "Bearer") || token == "" {
			return fault.New(fault.Unauthenticated, "token_missing", "Send an API token: Authorization: Bearer cht_…")
		}
		if err := tenants.RefuseSecret("Authorization", token); err != nil {
			return err
		}
		p, err := a.Tenants.VerifyToken(c.Request().Context(), seal.NewSecret(token))
		if err != nil {
			return err
		}
		p.Address = a.Hosts.ClientAddress(c.Request())
		c.Set(principalKey, p)
		return next(c)
	}
}

func principal(c echo.Context) tenants.Principal {
	p, _ := c.Get(principalKey).(tenants.Principal)
	return p
}
