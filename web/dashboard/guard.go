package dashboard

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"runtime/debug"
	"time"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	requestIDHeader = "Chumbo-Request-Id"
	requestIDKey    = "request_id"

	csrfField  = "csrf"
	csrfHeader = "Chumbo-Csrf" // what scripts send

	maxForm = 1 << 20 // bytes; a surface file of 256 KiB may be three times that when encoded
)

// observe gives the request its id, sets what every answer carries, and logs
// how it ended: method, route, status and duration, nothing that was typed.
func (d *dashboard) observe(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		begun := time.Now()
		b := make([]byte, 16)
		_, _ = rand.Read(b) // never fails (crypto/rand)
		id := hex.EncodeToString(b)
		c.Set(requestIDKey, id)
		h := c.Response().Header()
		h.Set(requestIDHeader, id)
		h.Set("Cache-Control", "no-store")
		h.Set("X-Frame-Options", "DENY") // beside frame-ancestors, for old browsers
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Cross-Origin-Resource-Policy", "same-origin")
		if err := next(c); err != nil {
			c.Error(err)
		}
		d.Logger.LogAttrs(c.Request().Context(), slog.LevelInfo, "dashboard",
			slog.String("request", id), slog.String("method", c.Request().Method), slog.String("route", c.Path()),
			slog.Int("status", c.Response().Status), slog.Duration("took", time.Since(begun)))
		return nil
	}
}

func requestID(c echo.Context) string {
	id, _ := c.Get(requestIDKey).(string)
	return id
}

// recover turns a panic into a page.
func (d *dashboard) recover(next echo.HandlerFunc) echo.HandlerFunc {
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

// readForm reads a form, bounded, and refuses one with a secret key in any
// field but the one that is made for it, before anything else sees it. The
// address is looked at too.
func (d *dashboard) readForm(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		r := c.Request()
		if err := refuseSecretAddress(r.URL); err != nil {
			return err
		}
		if r.Method != http.MethodPost {
			return next(c)
		}
		if err := parseForm(c); err != nil {
			return err
		}
		own := secretRoutes[c.Path()]
		for field, values := range r.PostForm {
			for _, value := range values {
				if field == own && field != "" {
					continue
				}
				if err := tenants.RefuseSecret(plainName(field), value); err != nil {
					c.Set(refusedSecretKey, err)
					return d.refuseSecret(next)(c)
				}
			}
		}
		return next(c)
	}
}

// uploadRoute is the only form with a file in it.
const uploadRoute = "/app/projects/:project/settings/logo"

func parseForm(c echo.Context) error {
	r, limit, parse := c.Request(), int64(maxForm), c.Request().ParseForm
	if c.Path() == uploadRoute {
		limit += tenants.MaxLogoBytes
		parse = func() error { return r.ParseMultipartForm(limit) } // whole in memory: no file is left behind
	}
	r.Body = http.MaxBytesReader(c.Response(), r.Body, limit)
	err := parse()
	var tooLarge *http.MaxBytesError
	switch {
	case err == nil, errors.Is(err, http.ErrNotMultipart): // a form without a file: its fields were read
		return nil
	case errors.As(err, &tooLarge):
		return fault.New(fault.TooLarge, "form_too_large", "The form is over %d KiB. Send less.", limit>>10)
	}
	return fault.New(fault.Invalid, "form_unreadable", "The form could not be read. Open the page again and repeat what you did.")
}

const refusedSecretKey = "refused_secret"

// refuseSecret ends a request that holds a secret key, and records it where
// somebody is signed in.
func (d *dashboard) refuseSecret(echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		refused, _ := c.Get(refusedSecretKey).(error)
		session, err := d.findSession(c)
		if err != nil || session.Current.Organization.ID.IsZero() {
			return refused
		}
		var target []string
		for _, name := range []string{"project", "surface"} {
			if value := c.Param(name); value != "" {
				target = append(target, value)
			}
		}
		return d.Tenants.Refused(c.Request().Context(), session.Current, "dashboard.form", refused, target...)
	}
}

// plainName is a field's name as an error may repeat it: ours are plain words,
// and anything may be sent in their place.
func plainName(field string) string {
	if len(field) > 40 {
		return "form"
	}
	for _, r := range field {
		if (r < 'a' || r > 'z') && r != '_' {
			return "form"
		}
	}
	return field
}

func refuseSecretAddress(u *url.URL) error {
	address := u.Path + "?" + u.RawQuery
	if plain, err := url.QueryUnescape(address); err == nil {
		address = plain
	}
	return tenants.RefuseSecret("address", address)
}

// ownForm refuses a form that was not made for the session.
func (d *dashboard) ownForm(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		given := c.Request().PostForm.Get(csrfField)
		if given == "" {
			given = c.Request().Header.Get(csrfHeader)
		}
		if err := d.Tenants.CheckCSRF(sessionOf(c), given); err != nil {
			return err
		}
		return next(c)
	}
}

func refusedOrigin() error {
	return fault.New(fault.Forbidden, "other_site", "This was sent from another site, so nothing was done. Open the dashboard itself and repeat it there.")
}

// posted is a field of the form that was sent. What stands in the address does
// not count: it would be in histories and logs.
func posted(c echo.Context, field string) string { return c.Request().PostForm.Get(field) }
