package standin

import (
	"encoding/json"
	"net/http"
	"strconv"
)

// apiAnswer is a success of the Data API.
type apiAnswer struct {
	status int
	header http.Header
	body   []byte // nil: none, and no Content-Type
}

func (a *apiAnswer) write(w http.ResponseWriter, method string) {
	for name, values := range a.header {
		w.Header()[name] = values
	}
	if method != http.MethodHead && a.body != nil {
		w.Header().Set("Content-Length", strconv.Itoa(len(a.body)))
	}
	w.WriteHeader(a.status)
	if method != http.MethodHead {
		_, _ = w.Write(a.body)
	}
}

// newAnswer starts an answer; applied is Preference-Applied, empty for none.
func newAnswer(status int, out *outcome, applied string) (*apiAnswer, error) {
	a := &apiAnswer{status: status, header: http.Header{}}
	if applied != "" {
		a.header.Set("Preference-Applied", applied)
	}
	if out.status != nil {
		n, err := strconv.Atoi(*out.status)
		if err != nil || n < 100 || n > 599 {
			return nil, &apiError{status: 500, Code: "PGRST112", Message: "response.status guc must be a valid status code"}
		}
		a.status = n
	}
	if out.headers != nil {
		var list []map[string]string
		if json.Unmarshal([]byte(*out.headers), &list) != nil {
			return nil, &apiError{status: 500, Code: "PGRST111", Message: "response.headers guc must be a JSON array composed of objects with a single key and a string value"}
		}
		for _, entry := range list {
			for name, value := range entry {
				a.header.Add(name, value)
			}
		}
	}
	return a, nil
}

func (a *apiAnswer) setBody(body *string, contentType string) {
	a.body = []byte("null")
	if body != nil {
		a.body = []byte(*body)
	}
	if a.header.Get("Content-Type") == "" {
		a.header.Set("Content-Type", contentType)
	}
}

// contentRange is "from-to/total": no rows are "*", no total is "*".
func contentRange(offset int, rows int64, total *int64) string {
	span, of := "*", "*"
	if rows > 0 {
		span = strconv.Itoa(offset) + "-" + strconv.FormatInt(int64(offset)+rows-1, 10)
	}
	if total != nil {
		of = strconv.FormatInt(*total, 10)
	}
	return span + "/" + of
}

// pageAnswer answers a read: 200, or 206 for a part of a known total, or 416
// for an offset past one.
func pageAnswer(q *apiRequest, out *outcome, applied string) (*apiAnswer, error) {
	offset := q.windowAt("").offset
	status := http.StatusOK
	if out.total != nil {
		if int64(offset) > *out.total {
			return nil, outOfRange("An offset of " + strconv.Itoa(offset) + " was requested, but there are only " + strconv.FormatInt(*out.total, 10) + " rows.")
		}
		if out.page < *out.total {
			status = http.StatusPartialContent
		}
	}
	a, err := newAnswer(status, out, applied)
	if err != nil {
		return nil, err
	}
	a.header.Set("Content-Range", contentRange(offset, out.page, out.total))
	a.setBody(out.body, q.accept.contentType())
	return a, nil
}
