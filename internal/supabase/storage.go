package supabase

import (
	"fmt"
	"io"
	"net/http"
	"time"
)

// ListFiles lists one folder of a bucket.
type ListFiles struct {
	Bucket string
	Folder string // without slashes around it; empty for the bucket itself
	Search string // what names begin with, in any case; empty for all
	Limit  int
	Offset int
}

// File is an entry of a folder.
type File struct {
	Name     string // within the folder
	Folder   bool
	Size     int64 // -1 where not said
	MIMEType string
	Updated  time.Time
}

// OpenFile is a file's content, not yet read. Whoever gets it closes it.
type OpenFile struct {
	ContentType string // media type, lower case, without parameters
	Size        int64  // -1 where not said
	ETag        string
	Body        io.ReadCloser // ends with an error past the size asked for; errors are *fault.Error
	Trip
}

// UploadFile writes one file.
type UploadFile struct {
	Bucket, Path string
	ContentType  string
	Body         []byte
	Overwrite    bool // x-upsert
}

// Trip is what is known of the way to the project and back.
type Trip struct {
	Upstream string // sb-request-id
	Took     time.Duration
}

// StorageError is an answer of Storage that is no success. Storage answers 400
// for nearly everything; Status is the one that its body says.
type StorageError struct {
	HTTP       int    // of the answer
	Status     int    // 404, 403, 409, 413 …; HTTP where the body does not say
	Code       string // such as NoSuchKey, AccessDenied, Duplicate (of every kind), InvalidKey; shown form (see Error.Code)
	Gateway    bool   // not Storage's own answer
	Upstream   string
	RetryAfter time.Duration
}

// Error is for logs: status and code only.
func (e *StorageError) Error() string {
	return fmt.Sprintf("storage answered %d (%d) %s", e.Status, e.HTTP, e.Code)
}

// MaybeTokenRefused reports whether the token itself may have been refused: an
// expired one gets the same answer as a policy's refusal (403 AccessDenied
// inside of a 400), so the token's time decides.
func (e *StorageError) MaybeTokenRefused() bool {
	return !e.Gateway && (e.Status == http.StatusForbidden || e.Status == http.StatusUnauthorized || e.Code == "InvalidJWT")
}
