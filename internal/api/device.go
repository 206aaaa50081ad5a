package api

import (
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// authorizeDevice is POST /device/authorize: a command line begins to sign in
// (RFC 8628 section 3.1). It needs no token.
func (a *api) authorizeDevice(c echo.Context) error {
	var in struct {
		ClientName string        `json:"client_name"`
		Scope      tenants.Scope `json:"scope"`
	}
	if err := readJSON(c, maxBody, &in); err != nil {
		return err
	}
	grant, err := a.Tenants.BeginDevice(c.Request().Context(), tenants.DeviceRequest{
		ClientName: in.ClientName, Scope: in.Scope, Address: a.Hosts.ClientAddress(c.Request()),
	})
	if err != nil {
		return err
	}
	page := strings.TrimSuffix(a.Hosts.PublicURL, "/") + "/app/device"
	return writeJSON(c, http.StatusOK, deviceAnswer{
		DeviceCode: grant.DeviceCode.Reveal(), UserCode: grant.UserCode,
		VerificationURI: page, VerificationURIComplete: page + "?user_code=" + url.QueryEscape(grant.UserCode),
		ExpiresIn: int(grant.ExpiresIn.Seconds()), Interval: int(grant.Interval.Seconds()),
	})
}

// deviceToken is POST /device/token: the command line asks whether somebody
// approved (RFC 8628 section 3.4). It needs no token.
func (a *api) deviceToken(c echo.Context) error {
	var in struct {
		DeviceCode string `json:"device_code"`
	}
	if err := readJSON(c, maxBody, &in); err != nil {
		return err
	}
	made, err := a.Tenants.PollDevice(c.Request().Context(), seal.NewSecret(in.DeviceCode))
	if err != nil {
		return err
	}
	return writeJSON(c, http.StatusOK, deviceTokenAnswer{
		Token: made.Token.Reveal(), Organization: organizationOf(made.Organization), Builder: builderOf(made.Builder), Scope: made.Scope,
	})
}
