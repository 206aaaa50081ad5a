package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	maxBody   = 1 << 20                   // of every request
	maxSchema = surfaces.MaxSnapshotBytes // of a schema snapshot: a large database has thousands of columns

	maxSecretBody = 16 << 10 // of one key
)

// readBody reads the whole body up to limit bytes and refuses one with a
// secret key in it, wherever that stands.
func readBody(c echo.Context, limit int64) ([]byte, error) {
	b, err := readWhole(c, limit)
	if err != nil {
		return nil, err
	}
	if err := tenants.RefuseSecret("body", string(b)); err != nil {
		return nil, err
	}
	return b, nil
}

func readWhole(c echo.Context, limit int64) ([]byte, error) {
	b, err := io.ReadAll(http.MaxBytesReader(c.Response(), c.Request().Body, limit))
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		return nil, fault.New(fault.TooLarge, "body_too_large", "The body is over %d KiB. Send less.", limit>>10)
	}
	if err != nil {
		return nil, fault.Wrap(err, fault.Invalid, "body_unreadable", "The body could not be read. Send it again.")
	}
	return b, nil
}

// readJSON reads a JSON body into into. Unknown members, a second value and
// another media type are refused.
func readJSON(c echo.Context, limit int64, into any) error {
	if kind := mediaType(c); kind != "application/json" {
		return wrongMedia()
	}
	b, err := readBody(c, limit)
	if err != nil {
		return err
	}
	if err := refuseEscapedSecret(b); err != nil {
		return err
	}
	return decodeJSON(b, into)
}

// refuseEscapedSecret finds a secret key that JSON's escapes hide. What is no
// JSON the decoder refuses.
func refuseEscapedSecret(b []byte) error {
	if !bytes.ContainsRune(b, '\\') || !json.Valid(b) {
		return nil
	}
	var value any
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // one that fits nowhere is for the route to refuse
	if err := d.Decode(&value); err != nil {
		return fmt.Errorf("decode body: %w", err)
	}
	var plain bytes.Buffer
	if err := writeBody(&plain, value); err != nil {
		return fmt.Errorf("encode body: %w", err)
	}
	return tenants.RefuseSecret("body", plain.String())
}

// readOptional is readJSON where the body may be empty.
func readOptional(c echo.Context, into any) error {
	if c.Request().ContentLength == 0 {
		return nil
	}
	return readJSON(c, maxBody, into)
}

// readNothing is for routes that take no input: an empty body, or {}.
func readNothing(c echo.Context) error { return readOptional(c, &struct{}{}) }

// readSecret reads the one member of a body that may hold a key: the body is
// never looked at otherwise, and nothing of it is repeated.
func readSecret(c echo.Context, member string) (seal.Secret, error) {
	if mediaType(c) != "application/json" {
		return seal.Secret{}, wrongMedia()
	}
	b, err := readWhole(c, maxSecretBody)
	if err != nil {
		return seal.Secret{}, err
	}
	var in map[string]string
	if err := json.Unmarshal(b, &in); err != nil || len(in) != 1 || in[member] == "" {
		// The decoder's error may quote what was sent.
		return seal.Secret{}, fault.New(fault.Invalid, "json", "Send one JSON object with the member %s, a text, and nothing else.", member)
	}
	return seal.NewSecret(in[member]), nil
}

func wrongMedia() error {
	return fault.New(fault.Invalid, "content_type", "Send JSON with Content-Type: application/json.")
}

// decodeJSON reads exactly one JSON value with no unknown members.
func decodeJSON(b []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(b))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return badJSON(err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return fault.New(fault.Invalid, "json", "The body holds more than one JSON value. Send exactly one.")
	}
	return nil
}

// badJSON names what is wrong without repeating values: a decoder's text may
// quote input.
func badJSON(err error) error {
	var wrongType *json.UnmarshalTypeError
	if errors.As(err, &wrongType) {
		got, _, _ := strings.Cut(wrongType.Value, " ") // the decoder adds the number it read
		return fault.New(fault.Invalid, "json", "A member of the body has the wrong type.").
			WithIssues(fault.Issue{Path: wrongType.Field, Message: "want " + jsonKind(wrongType) + ", got " + got})
	}
	if name, found := strings.CutPrefix(err.Error(), "json: unknown field "); found {
		if err := tenants.RefuseSecret("body", name); err != nil {
			return err
		}
		return fault.New(fault.Invalid, "unknown_field", "The body has a member that is not known: %s. Remove it, or check its spelling.", name)
	}
	return fault.New(fault.Invalid, "json", "The body is not valid JSON. Check brackets, commas and quotes.")
}

func jsonKind(e *json.UnmarshalTypeError) string {
	switch k := e.Type.Kind().String(); k {
	case "string":
		return "a string"
	case "bool":
		return "true or false"
	case "slice", "array":
		return "an array"
	case "struct", "map":
		return "an object"
	case "int", "int64", "float64":
		return "a number"
	}
	return "another type"
}

func mediaType(c echo.Context) string {
	kind, _, err := mime.ParseMediaType(c.Request().Header.Get(echo.HeaderContentType))
	if err != nil {
		return ""
	}
	return kind
}

// refuseSecretAddress refuses a secret key in the path or the query.
func refuseSecretAddress(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		address := c.Request().URL.Path + "?" + c.Request().URL.RawQuery
		if plain, err := url.QueryUnescape(address); err == nil {
			address = plain
		}
		if err := tenants.RefuseSecret("address", address); err != nil {
			return err
		}
		return next(c)
	}
}

// writeJSON answers with JSON.
func writeJSON(c echo.Context, status int, body any) error {
	c.Response().Header().Set(echo.HeaderContentType, echo.MIMEApplicationJSON)
	c.Response().Header().Set(echo.HeaderXContentTypeOptions, "nosniff")
	c.Response().WriteHeader(status)
	return writeBody(c.Response(), body)
}

func writeBody(w io.Writer, body any) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	return enc.Encode(body)
}
