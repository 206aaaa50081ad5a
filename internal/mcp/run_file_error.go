package mcp

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// fileCall is what is done to files, for what is told when it fails.
type fileCall int

const (
	fileList fileCall = iota
	fileRead
	fileUpload
)

// tokenOver reports whether Storage refused the call because the time of its
// token was over. A policy's refusal looks the same, and an upload must not be
// made twice, so the token itself is asked.
func (t *asker) tokenOver(token seal.Secret, err error) bool {
	var e *supabase.StorageError
	if !errors.As(err, &e) || !e.MaybeTokenRefused() {
		return false
	}
	end := expiryOf(token)
	return !end.IsZero() && !t.runner.now().Before(end)
}

// expiryOf is the exp of a JWT that was verified, or made, elsewhere; zero where
// it has none.
func expiryOf(token seal.Secret) time.Time {
	_, rest, _ := strings.Cut(token.Reveal(), ".")
	payload, _, _ := strings.Cut(rest, ".")
	raw, err := base64.RawURLEncoding.DecodeString(payload)
	var claims struct {
		Expires float64 `json:"exp"`
	}
	if err != nil || json.Unmarshal(raw, &claims) != nil || claims.Expires <= 0 {
		return time.Time{}
	}
	return time.Unix(int64(claims.Expires), 0)
}

// storageFailed is what the caller is told of a call of Storage that failed. The
// call is marked unauthorized where the token's time is over.
func (t *asker) storageFailed(ctx context.Context, err error, what fileCall) error {
	var told *toolError
	var answer *supabase.StorageError
	var f *fault.Error
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()), errors.As(err, &told):
		return err
	case errors.As(err, &answer):
		t.noted(0, answer.Upstream)
		return t.explainStorage(answer, what)
	case errors.As(err, &f):
		switch {
		case f.Kind == fault.Invalid && f.Code == "file_path" && what == fileList:
			return invalid("folder", f.Message)
		case f.Kind == fault.Invalid && f.Code == "file_path":
			return invalid("path", f.Message)
		case f.Kind == fault.Invalid && f.Code == "file_search":
			return invalid("search", f.Message)
		case f.Kind == fault.Invalid && f.Code == "content_type":
			return invalid("content_type", f.Message)
		case f.Kind == fault.Invalid && f.Code == "bucket_name":
			return outOfDateFiles()
		case what == fileUpload && !egress.Unsent(err) && f.Kind != fault.Internal && f.Kind != fault.Invalid:
			return uploadUnknown()
		}
		if told := explainFault(f); told != nil {
			return told
		}
	}
	return err
}

func outOfDateFiles() *toolError {
	return &toolError{kind: kindOutOfDate, detail: "This tool no longer matches the app's file storage, so it cannot be used now. The app's owner must publish its surface again; trying again does not help."}
}

func uploadUnknown() *toolError {
	return &toolError{kind: kindOutcomeUnknown, detail: "It is not known whether the file was written: the app did not answer after it was sent. It may be there; look before trying again."}
}

func fileNotFound() *toolError {
	return &toolError{kind: fault.NotFound.String(), detail: "There is no such file, or it is not yours to see. Look at what the list shows."}
}

// explainStorage maps Storage's answers. What it says in words is never passed
// on.
func (t *asker) explainStorage(e *supabase.StorageError, what fileCall) *toolError {
	begins := ""
	if what == fileUpload {
		begins = "Nothing was written. "
	}
	switch {
	case e.Status == http.StatusTooManyRequests:
		return &toolError{kind: fault.RateLimited.String(), detail: begins + "The app is being asked too often. Try again" + in(e.RetryAfter) + "."}
	case e.Gateway && (e.Status == http.StatusUnauthorized || e.Status == http.StatusForbidden):
		return &toolError{kind: kindUpstream, detail: begins + "The app's project refused the connection. The app's owner must check its publishable key; trying again does not help."}
	case e.Status == http.StatusRequestEntityTooLarge:
		return &toolError{kind: fault.TooLarge.String(), detail: begins + "The file is larger than the app takes. Upload a smaller one."}
	case what == fileUpload && (e.Status >= 500 || e.Status < 400 || e.Gateway && e.Status == http.StatusRequestTimeout):
		return uploadUnknown()
	case e.Status >= 500, e.Gateway:
		return &toolError{kind: fault.Unavailable.String(), detail: "The app's file storage answered with an error of its own. Try again" + in(e.RetryAfter) + "."}
	case e.Code == "NoSuchBucket":
		return outOfDateFiles()
	case e.MaybeTokenRefused():
		return t.forbiddenFile(begins)
	}
	switch {
	case e.Status == http.StatusNotFound && what == fileRead:
		return fileNotFound()
	case e.Status == http.StatusNotFound:
		return outOfDateFiles()
	case e.Status == http.StatusConflict:
		return &toolError{kind: fault.Conflict.String(), detail: begins + "There is a file of this name already, or one that you cannot see. Choose another path."}
	case e.Status == http.StatusUnsupportedMediaType, e.Code == "InvalidMimeType":
		told := invalid("content_type", "is no kind of file that the app takes here")
		told.detail = begins + told.detail
		return told
	case e.Code == "InvalidKey":
		told := invalid("path", "has characters that the app's file storage does not take")
		told.detail = begins + told.detail
		return told
	}
	return &toolError{kind: kindUpstream, detail: begins + "The app's file storage refused this call. Check the arguments; if they are right, the app's owner must look into it."}
}

// forbiddenFile tells a policy's refusal from a token whose time is over:
// Storage answers both alike.
func (t *asker) forbiddenFile(begins string) *toolError {
	if told := t.runner.explainToken(t.call); t.call.unauthorized {
		return told
	}
	return &toolError{kind: fault.Forbidden.String(), detail: begins + "You are not allowed to do this with the app's files. Trying again does not help."}
}
