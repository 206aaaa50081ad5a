package connect

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

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth/bridge"
)

const (
	requestIDHeader = "Chumbo-Request-Id"
	requestIDKey    = "request_id"

	maxForm = 64 << 10 // bytes
)

// observe gives the request its id, sets what every answer carries, and logs
// how it ended: method, route, status and duration, nothing that was typed and
// no address with a state or a code in it.
//
// There is no Cross-Origin-Opener-Policy: clients open these pages in a popup,
// and their callback page needs its opener.
func (s *site) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		begun := time.Now()
		b := make([]byte, 16)
		_, _ = rand.Read(b) // never fails (crypto/rand)
		id := hex.EncodeToString(b)
		c.Set(requestIDKey, id)
		h := c.Response().Header()
		h.Set(requestIDHeader, id)
		h.Set("Cache-Control", "no-store")
		h.Set("Referrer-Policy", "same-origin") // see web.WritePage; redirects carry it too
		h.Set("X-Frame-Options", "DENY")        // beside frame-ancestors, for old browsers
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if err := next(c); err != nil {
			c.Error(err)
		}
		s.Logger.LogAttrs(c.Request().Context(), slog.LevelInfo, "connect",
			slog.String("request", id), slog.String("method", c.Request().Method), slog.String("route", c.Path()),
			slog.Int("status", c.Response().Status), slog.Duration("took", time.Since(begun)))
		return nil
	}
}

func requestID(c echo.Context) string {
	id, _ := c.Get(requestIDKey).(string)
	return id
}

// visitor is what the request says of the browser.
func (s *site) visitor(c echo.Context) bridge.Visitor {
	return bridge.Visitor{Address: s.Hosts.ClientAddress(c.Request()), Agent: c.Request().UserAgent(), RequestID: requestID(c)}
}

// recover turns a panic into a page.
func (s *site) recover(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) (err error) {
		defer func() {
			p := recover()
			if p == nil {
				return
			}
			if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
				panic(p)
			}
			// The value of a panic may hold what a person sent.
			err = fmt.Errorf("panic: %T\n%s", p, debug.Stack())
		}()
		return next(c)
	}
}

// readForm reads a form, bounded.
func (s *site) readForm(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if r.Method != http.MethodPost {
			return next(c)
		}
		r.Body = http.MaxBytesReader(c.Response(), r.Body, maxForm)
		err := r.ParseForm()
		var tooLarge *http.MaxBytesError
		switch {
		case err == nil:
			return next(c)
		case errors.As(err, &tooLarge):
			return fault.New(fault.TooLarge, "form_too_large", "Nothing was done: the form is over %d KiB. Send less.", maxForm>>10)
		}
		return fault.New(fault.Invalid, "form_unreadable", "Nothing was done: the form could not be read. Open the page again and repeat what you did.")
	}
}

// crossOrigin refuses what a page of another site made the browser send. An
// authorization request is sent by other sites, and does nothing but begin one.
// host is the request's own, as a trusted proxy may name it.
func crossOrigin(guard *http.CrossOriginProtection, r *http.Request, host string) error {
	if strings.HasPrefix(r.URL.Path, authorizePath) {
		return nil
	}
	as := *r
	as.Host = host
	if guard.Check(&as) != nil {
		return fault.New(fault.Forbidden, "other_site", "Nothing was done: this was sent from another site. Open the page itself and repeat it there.")
	}
	return nil
}

// posted is a field of the form that was sent. What stands in the address does
// not count: it would be in histories and logs.
func posted(c echo.Context, field string) string { return c.Request().PostForm.Get(field) }
