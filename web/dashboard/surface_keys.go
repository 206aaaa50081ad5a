package dashboard

import (
	"errors"
	"net/http"
	"strconv"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth/apikeys"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/web"
)

// keys lists all keys of a surface; ?after= goes on below one.
func (d *dashboard) keys(c echo.Context) error {
	return d.keysPage(c, http.StatusOK, web.KeysPart{})
}

func (d *dashboard) keysPage(c echo.Context, status int, part web.KeysPart) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	var after id.Key
	if text := c.QueryParam("after"); text != "" {
		if after, err = id.Parse[id.KeyKind](text); err != nil {
			return fault.New(fault.NotFound, "unknown_key", "There is no such place in the list. Open it from its beginning.")
		}
	}
	access, err := d.liveAccess(c, head)
	if err != nil {
		return err
	}
	page := web.SurfaceKeysPage{SurfaceHead: head, KeysPart: part, Later: !after.IsZero()}
	if page.KeysPart, err = d.keysPart(c, head, access, part, after); err != nil {
		return err
	}
	return d.page(c, status, surfaceTitle(head, web.TabGrants), web.SurfaceKeys(page))
}

// keysPart fills in the keys after one, and what is said of them.
func (d *dashboard) keysPart(c echo.Context, head web.SurfaceHead, access surfaces.Access, part web.KeysPart, after id.Key) (web.KeysPart, error) {
	var err error
	if part.Keys, err = d.Keys.List(c.Request().Context(), principal(c), head.Surface.ID, after); err != nil {
		return part, err
	}
	if n := len(part.Keys); n >= apikeys.PageSize {
		part.More = part.Keys[n-1].ID.String()
	}
	part.Listed, part.AppKeys, part.Scopes = access.Has(surfaces.ModeAPIKey), access.Keys != nil, access.Scopes
	return part, nil
}

// makeKey answers with the page itself: the key is on it once, and in no
// address.
func (d *dashboard) makeKey(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	n := apikeys.NewKey{Name: posted(c, "name"), Scopes: strings.Fields(posted(c, "scopes"))}
	days, err := strconv.Atoi(posted(c, "days"))
	if err != nil || days < 0 || days > 3650 {
		return fault.New(fault.Invalid, "days", "No key was made. Choose when it ends.")
	}
	if days > 0 {
		n.Expires = d.Now().AddDate(0, 0, days)
	}
	_, key, err := d.Keys.Create(c.Request().Context(), principal(c), head.Surface.ID, n)
	if err != nil {
		form, status, ok := refusedForm(c, err, "name", "scopes", "days")
		if !ok {
			return err
		}
		return d.keysPage(c, status, web.KeysPart{Form: ofField(form, err)})
	}
	return d.keysPage(c, http.StatusOK, web.KeysPart{Made: key.Reveal()})
}

// ofField puts what is wrong with one field beside that field.
func ofField(form web.Form, err error) web.Form {
	var refused *fault.Error
	if errors.As(err, &refused) && len(refused.Issues) > 0 {
		form.Field, _, _ = strings.Cut(refused.Issues[0].Path, "[")
		form.Refusal = "No key was made: " + refused.Issues[0].Message + "."
	}
	return form
}

// revokeKey ends a key.
func (d *dashboard) revokeKey(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	key, err := id.Parse[id.KeyKind](c.Param("key"))
	if err != nil {
		return fault.New(fault.NotFound, "unknown_key", "Nothing was revoked: this surface has no such key.")
	}
	if err := d.Keys.Revoke(c.Request().Context(), principal(c), head.Surface.ID, key); err != nil {
		return err
	}
	return done(c, head.Path("grants"), "key-revoked")
}
