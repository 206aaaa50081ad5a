package supabase

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
)

// ListFiles lists a folder of a bucket as the session, by name, folders among
// the files. What the caller may not see is not in it; a folder that is not
// there is empty.
//
// Search is what a name begins with, in any case (a _ in it, or in the folder,
// stands for any character on some versions of Storage).
//
// Errors: *StorageError for an answer that is no success; else *fault.Error or
// the context's error. Trip is what is known of it.
func (c *Client) ListFiles(ctx context.Context, s Session, q ListFiles) ([]File, Trip, error) {
	bucket, err := bucketSegment(q.Bucket, false)
	if err != nil {
		return nil, Trip{}, err
	}
	if q.Folder != "" {
		if _, err := objectPath(q.Bucket, q.Folder, false); err != nil {
			return nil, Trip{}, err
		}
	}
	if !isKey(q.Search) || len(q.Search) > maxPath {
		return nil, Trip{}, unsent(fault.Invalid, "file_search", "No file's name has what is searched for. Names can have A-Z a-z 0-9, space and _ ! - . * ' ( ) & $ @ = ; : + , ? only.")
	}
	input := map[string]any{
		"prefix": q.Folder, "limit": q.Limit, "offset": q.Offset,
		"sortBy": map[string]string{"column": "name", "order": "asc"},
	}
	if q.Search != "" {
		input["search"] = q.Search
	}
	r, trip, err := c.askStorage(ctx, s, "list/"+bucket, input)
	if err != nil {
		return nil, trip, err
	}
	files, err := readFiles(r.body)
	if err != nil {
		return nil, trip, oddAnswer(err)
	}
	return files, trip, nil
}

// readFiles reads the answer to a list. Folders have the id null.
func readFiles(content []byte) ([]File, error) {
	var entries []struct {
		Name     string    `json:"name"`
		ID       *string   `json:"id"`
		Updated  time.Time `json:"updated_at"`
		Metadata *struct {
			Size     *float64 `json:"size"`
			MIMEType string   `json:"mimetype"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(content, &entries); err != nil {
		return nil, errors.New("not a list of files") // the parser's text can quote it
	}
	files := make([]File, len(entries))
	for i, e := range entries {
		f := File{Name: e.Name, Folder: e.ID == nil, Size: -1, Updated: e.Updated}
		if e.Metadata != nil && !f.Folder {
			f.MIMEType = e.Metadata.MIMEType
			if n := e.Metadata.Size; n != nil && *n >= 0 && *n < 1<<53 {
				f.Size = int64(*n)
			}
		}
		files[i] = f
	}
	return files, nil
}

// OpenFile opens a file as the session. Its body can be read up to maxBytes
// and ends with an error past them; of a file known to be larger
// nothing can be read: close it. Closing cancels what has not come yet. Errors
// as ListFiles; what Row Level Security hides is a 404 NoSuchKey.
func (c *Client) OpenFile(ctx context.Context, s Session, bucket, path string, maxBytes int64) (OpenFile, error) {
	name, err := objectPath(bucket, path, s.anon)
	if err != nil {
		return OpenFile{}, err
	}
	route := "/storage/v1/object/authenticated/"
	if s.anon {
		route = "/storage/v1/object/"
	}
	req, err := c.serviceRequest(ctx, s, http.MethodGet, route+name, nil)
	if err != nil {
		return OpenFile{}, err
	}
	req.Header["Accept"] = []string{"*/*"}
	req.Header["Accept-Encoding"] = []string{"identity"}                        // Content-Length is the file's size then
	res, trip, err := c.open(req, storageOptions(s, max(maxBytes, maxRefusal))) //nolint:bodyclose // closed by readRefusal, or by whoever gets the file
	f := OpenFile{Trip: trip}
	if err != nil {
		return f, err
	}
	if res.StatusCode != http.StatusOK {
		return f, storageErrorOf(res.StatusCode, res.Header, readRefusal(res))
	}
	f.ContentType, f.ETag, f.Size = mediaType(res.Header), res.Header.Get("Etag"), res.ContentLength
	f.Body = bounded(res, maxBytes)
	return f, nil
}

// SignFile makes an absolute URL by which whoever has it reads the file until
// life is over (whole seconds, at least one), past Row Level Security. The
// caller must be able to read the file. Errors as ListFiles.
func (c *Client) SignFile(ctx context.Context, s Session, bucket, path string, life time.Duration) (string, Trip, error) {
	name, err := objectPath(bucket, path, false)
	if err != nil {
		return "", Trip{}, err
	}
	r, trip, err := c.askStorage(ctx, s, "sign/"+name, map[string]any{"expiresIn": max(1, int(life/time.Second))})
	if err != nil {
		return "", trip, err
	}
	var answer struct {
		SignedURL string `json:"signedURL"`
	}
	_ = json.Unmarshal(r.body, &answer) // an empty link is refused below
	token, err := linkToken(answer.SignedURL, bucket+"/"+path)
	if err != nil {
		return "", trip, oddAnswer(err)
	}
	return s.project.APIOrigin + "/storage/v1/object/sign/" + name + "?token=" + token, trip, nil
}

// linkToken takes the token out of the link that Storage answered, which must
// be to the file that was asked for. Storage writes the file's name into it as
// it is, so nothing but the token is used: the link that people get is built
// from what was asked.
func linkToken(link, file string) (string, error) {
	path, token, found := cutLast(link, "?token=")
	rest, below := strings.CutPrefix(path, "/object/sign/")
	if !found || !below {
		return "", errors.New("not a signed link")
	}
	if unescaped, err := url.PathUnescape(rest); rest != file && (err != nil || unescaped != file) {
		return "", errors.New("a link to another file")
	}
	for i := range len(token) {
		c := token[i]
		word := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
		if !word && c != '-' && c != '_' && c != '.' && c != '=' {
			return "", errors.New("a token that is none")
		}
	}
	if token == "" || len(token) > 8<<10 {
		return "", errors.New("a token that is none")
	}
	return token, nil
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// UploadFile writes a file as the session, whole or not at all. Without
// Overwrite a file that is there is a 409 Duplicate. Errors as ListFiles; with
// neither *StorageError nor egress.Unsent nobody knows whether it was written.
func (c *Client) UploadFile(ctx context.Context, s Session, q UploadFile) (Trip, error) {
	name, err := objectPath(q.Bucket, q.Path, true)
	if err != nil {
		return Trip{}, err
	}
	if _, _, err := mime.ParseMediaType(q.ContentType); err != nil || len(q.ContentType) > 255 || !isPrintable(q.ContentType) || !strings.Contains(q.ContentType, "/") {
		return Trip{}, unsent(fault.Invalid, "content_type", "This is no media type. Give one such as text/plain or image/png.")
	}
	req, err := c.serviceRequest(ctx, s, http.MethodPost, "/storage/v1/object/"+name, q.Body)
	if err != nil {
		return Trip{}, err
	}
	req.Header["Accept"] = []string{"application/json"}
	req.Header["Content-Type"] = []string{q.ContentType}
	if q.Overwrite {
		req.Header["X-Upsert"] = []string{"true"}
	}
	_, trip, err := c.storage(req, s)
	return trip, err
}

// askStorage posts JSON to a route below /object/.
func (c *Client) askStorage(ctx context.Context, s Session, route string, input any) (reply, Trip, error) {
	content, err := json.Marshal(input)
	if err != nil {
		return reply{}, Trip{}, fmt.Errorf("encode request to storage: %w", err)
	}
	req, err := c.serviceRequest(ctx, s, http.MethodPost, "/storage/v1/object/"+route, content)
	if err != nil {
		return reply{}, Trip{}, err
	}
	req.Header["Accept"] = []string{"application/json"}
	req.Header["Content-Type"] = []string{"application/json"}
	return c.storage(req, s)
}

// storage sends a request whose answer is JSON and reads it whole.
func (c *Client) storage(req *http.Request, s Session) (reply, Trip, error) {
	r, err := c.send(req, storageOptions(s, maxData))
	trip := Trip{Upstream: r.upstream, Took: r.took}
	if err != nil {
		return r, trip, err
	}
	if r.status < 200 || r.status >= 300 || !isJSON(r.header) {
		return r, trip, storageErrorOf(r.status, r.header, r.body)
	}
	return r, trip, nil
}

func storageOptions(s Session, limit int64) egress.Options {
	return egress.Options{Lane: lane(s.project) + "/storage", MaxBytes: limit, Timeout: dataTimeout}
}

// oddAnswer is the error of a success that is not what Storage answers.
func oddAnswer(cause error) error {
	return fault.Wrap(cause, fault.Unavailable, "storage_answer", "The project's Storage answered something that cannot be read. Try again later.")
}
