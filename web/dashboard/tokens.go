package dashboard

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/tenants"
	"github.com/chumbo-dev/chumbo/web"
)

// perPage is how many of a list stand on one page.
const perPage = 50

func (d *dashboard) tokens(c echo.Context) error {
	return d.tokensPage(c, http.StatusOK, web.TokensPage{})
}

func (d *dashboard) tokensPage(c echo.Context, status int, p web.TokensPage) error {
	list, err := d.Tenants.Tokens(c.Request().Context(), principal(c))
	if err != nil {
		return err
	}
	p.Common, p.Me = d.common(c), principal(c).Builder.ID
	p.Tokens, p.More = pageOf(list, c.QueryParam("after"), func(t tenants.APIToken) string { return t.ID.String() })
	return d.page(c, status, "API tokens", web.Tokens(p))
}

// pageOf is the page of a list that begins after the thing of that name, and
// where the next one begins; empty for nowhere.
func pageOf[T any](list []T, after string, name func(T) string) (page []T, more string) {
	start := 0
	for i, item := range list {
		if after != "" && name(item) == after {
			start = i + 1
		}
	}
	page = list[start:]
	if len(page) > perPage {
		page = page[:perPage]
		more = name(page[perPage-1])
	}
	return page, more
}

// makeToken answers with the page itself: the token is on it once, and in no
// address.
func (d *dashboard) makeToken(c echo.Context) error {
	n := tenants.NewAPIToken{Name: posted(c, "name"), Scope: tenants.Scope(posted(c, "scope"))}
	days, err := strconv.Atoi(posted(c, "days"))
	if err != nil || days < 0 || days > 3650 {
		return fault.New(fault.Invalid, "days", "Choose when the token ends.")
	}
	if days > 0 {
		n.Expires = d.Now().AddDate(0, 0, days)
	}
	_, token, err := d.Tenants.CreateToken(c.Request().Context(), principal(c), n)
	if err != nil {
		form, status, ok := refusedForm(c, err, "name", "scope", "days")
		if !ok {
			return err
		}
		return d.tokensPage(c, status, web.TokensPage{Form: form})
	}
	return d.tokensPage(c, http.StatusOK, web.TokensPage{Made: token.Reveal()})
}

func (d *dashboard) revokeToken(c echo.Context) error {
	token, err := id.Parse[id.TokenKind](c.Param("token"))
	if err != nil {
		return echo.ErrNotFound
	}
	if err := d.Tenants.RevokeToken(c.Request().Context(), principal(c), token); err != nil {
		return err
	}
	return done(c, "/app/tokens", "revoked")
}
