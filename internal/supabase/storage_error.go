package supabase

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
)

// storageErrorOf reads an error answer of Storage: the status is in the body, as
// text. Anything without it is a gateway's or a proxy's.
func storageErrorOf(status int, h http.Header, content []byte) *StorageError {
	e := &StorageError{HTTP: status, Status: status, Upstream: requestID(h), RetryAfter: retryAfter(h)}
	var said struct {
		StatusCode json.RawMessage `json:"statusCode"`
		Error      string          `json:"error"`
		Message    string          `json:"message"`
		Code       string          `json:"code"`
	}
	if !isJSON(h) || json.Unmarshal(content, &said) != nil || said.StatusCode == nil || said.Message == "" {
		e.Gateway = true
		if code := h.Get("Sb-Error-Code"); code != "" {
			e.Code = shownCode(code)
		}
		return e
	}
	if n, err := strconv.Atoi(strings.Trim(string(said.StatusCode), `"`)); err == nil && n >= 400 && n < 600 {
		e.Status = n
	}
	if e.Code = shownCode(said.Code); said.Code == "" || said.Error == "Duplicate" {
		e.Code = codeOf(e.Status, said.Error)
	}
	return e
}

// codeOf is the code of versions of Storage that name none.
func codeOf(status int, name string) string {
	switch {
	case status == http.StatusNotFound && name == "Bucket not found":
		return "NoSuchBucket"
	case status == http.StatusNotFound:
		return "NoSuchKey"
	case status == http.StatusForbidden:
		return "AccessDenied"
	case name == "Duplicate":
		return "Duplicate"
	case status == http.StatusRequestEntityTooLarge:
		return "EntityTooLarge"
	}
	return shownCode(name)
}
