package supabase

import (
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

const oddName = "a b/c&d?e;f+g,h!/(i)'*$@=:.txt"

// oddEscaped is oddName in a URL's path.
const oddEscaped = "a%20b/c&d%3Fe%3Bf+g%2Ch%21/%28i%29%27%2A$@=:.txt"

func TestStorageRequestsAreExactlyThese(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Sb-Request-Id", "up")
		switch {
		case strings.Contains(r.URL.Path, "/list/"):
			_, _ = io.WriteString(w, `[{"name":"f","id":null,"metadata":null},{"name":"x.txt","id":"1","updated_at":"2026-01-02T03:04:05.678Z","metadata":{"size":12,"mimetype":"text/plain"}},{"name":"y","id":"2","metadata":{}}]`)
		case strings.Contains(r.URL.Path, "/sign/"):
			_, _ = io.WriteString(w, `{"signedURL":"/object/sign/my docs/`+oddName+`?token=a.b-c_d"}`)
		case r.Method == http.MethodGet:
			w.Header().Set("Content-Type", "Text/Plain; charset=utf-8")
			w.Header().Set("Etag", `"e"`)
			_, _ = io.WriteString(w, "content")
		default:
			_, _ = io.WriteString(w, `{"Id":"1","Key":"k"}`)
		}
	})
	c, alice, anon := newTestClient(), AsUser(p.project(), seal.NewSecret("alice-token")), AsAnon(p.project())
	ctx := t.Context()

	files, trip, err := c.ListFiles(ctx, alice, ListFiles{Bucket: "my docs", Folder: "a/b", Search: "x", Limit: 3, Offset: 6})
	want := []File{
		{Name: "f", Folder: true, Size: -1},
		{Name: "x.txt", Size: 12, MIMEType: "text/plain", Updated: time.Date(2026, 1, 2, 3, 4, 5, 678e6, time.UTC)},
		{Name: "y", Size: -1},
	}
	if err != nil || len(files) != 3 || files[0] != want[0] || files[1] != want[1] || files[2] != want[2] || trip.Upstream != "up" || trip.Took <= 0 {
		t.Errorf("list: %+v %+v %v", files, trip, err)
	}
	if _, _, err := c.ListFiles(ctx, anon, ListFiles{Bucket: "b", Limit: 1}); err != nil {
		t.Error(err)
	}
	f, err := c.OpenFile(ctx, alice, "my docs", oddName, 100)
	if err != nil {
		t.Fatal(err)
	}
	content, err := io.ReadAll(f.Body)
	_ = f.Body.Close()
	if err != nil || string(content) != "content" || f.ContentType != "text/plain" || f.Size != 7 || f.ETag != `"e"` || f.Upstream != "up" {
		t.Errorf("open: %+v %q %v", f, content, err)
	}
	if f, err = c.OpenFile(ctx, anon, "b", "x", 100); err != nil {
		t.Fatal(err)
	}
	_ = f.Body.Close()
	link, _, err := c.SignFile(ctx, alice, "my docs", oddName, 60*time.Second)
	if err != nil || link != p.URL+"/storage/v1/object/sign/my%20docs/"+oddEscaped+"?token=a.b-c_d" {
		t.Errorf("sign: %q %v", link, err)
	}
	if _, err := c.UploadFile(ctx, alice, UploadFile{Bucket: "b", Path: "n/x.png", ContentType: "image/png", Body: []byte("png"), Overwrite: true}); err != nil {
		t.Error(err)
	}
	if _, err := c.UploadFile(ctx, anon, UploadFile{Bucket: "b", Path: "empty", ContentType: "text/plain; charset=utf-8"}); err != nil {
		t.Error(err)
	}

	key, bearer, json, all := [2]string{"Apikey", "sb_publishable_test"}, [2]string{"Authorization", "Bearer alice-token"}, [2]string{"Content-Type", "application/json"}, [2]string{"Accept", "*/*"}
	accept := [2]string{"Accept", "application/json"}
	requests, bodies := p.seen()
	for i, want := range []struct {
		line, body string
		headers    [][2]string
	}{
		{"POST /storage/v1/object/list/my%20docs", `{"limit":3,"offset":6,"prefix":"a/b","search":"x","sortBy":{"column":"name","order":"asc"}}`, [][2]string{key, bearer, json, accept}},
		{"POST /storage/v1/object/list/b", `{"limit":1,"offset":0,"prefix":"","sortBy":{"column":"name","order":"asc"}}`, [][2]string{key, json, accept}},
		{"GET /storage/v1/object/authenticated/my%20docs/" + oddEscaped, "", [][2]string{key, bearer, all}},
		{"GET /storage/v1/object/b/x", "", [][2]string{key, all}},
		{"POST /storage/v1/object/sign/my%20docs/" + oddEscaped, `{"expiresIn":60}`, [][2]string{key, bearer, json, accept}},
		{"POST /storage/v1/object/b/n/x.png", "png", [][2]string{key, bearer, accept, {"Content-Type", "image/png"}, {"X-Upsert", "true"}}},
		{"POST /storage/v1/object/b/empty", "", [][2]string{key, accept, {"Content-Type", "text/plain; charset=utf-8"}}},
	} {
		headers := map[string]string{}
		for _, h := range want.headers {
			headers[h[0]] = h[1]
		}
		if line := requests[i].Method + " " + requests[i].RequestURI; line != want.line || bodies[i] != want.body {
			t.Errorf("%s %q, want %s %q", line, bodies[i], want.line, want.body)
		}
		wantHeaders(t, requests[i], headers)
	}
}

func TestStorageNamesThatAreRefused(t *testing.T) {
	t.Parallel()
	p := newFakeProject(t, answer(200, nil, `{}`))
	c, s := newTestClient(), AsAnon(p.project())
	refused := func(what string, err error) {
		t.Helper()
		if !fault.Is(err, fault.Invalid) || !egress.Unsent(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
	for _, name := range []string{
		"", "/", "a/", "/a", "a//b", ".", "..", "a/..", "../a", "a/./b", "a\\b", "a%2fb", "a%", "a#b", "ä", "a\x00", "a\nb", "a\rb", "a\tb",
		"\xff", "a~b", "a[b]", "a{b}", "a\"b", "a<b", "a|b", "a^b", "a`b", strings.Repeat("a", maxPath+1), "a\u2028b", "ａ",
	} {
		_, err := c.OpenFile(t.Context(), s, "b", name, 1)
		refused("open "+name, err)
		_, _, err = c.SignFile(t.Context(), s, "b", name, time.Minute)
		refused("sign "+name, err)
		_, err = c.UploadFile(t.Context(), s, UploadFile{Bucket: "b", Path: name, ContentType: "a/b"})
		refused("upload "+name, err)
		if name != "" {
			_, _, err = c.ListFiles(t.Context(), s, ListFiles{Bucket: "b", Folder: name})
			refused("list "+name, err)
		}
	}
	for _, bucket := range []string{"", ".", "..", "a/b", "a%2fb", "ä", strings.Repeat("a", maxBucket+1), "a?\n"} {
		_, err := c.OpenFile(t.Context(), s, bucket, "x", 1)
		refused("open in "+bucket, err)
		_, _, err = c.ListFiles(t.Context(), s, ListFiles{Bucket: bucket})
		refused("list in "+bucket, err)
	}
	// Without a route's name before it, such a bucket would be one.
	for _, bucket := range []string{"public", "authenticated", "sign", "list", "list-v2", "info", "move", "copy", "upload", "SIGN"} {
		_, err := c.OpenFile(t.Context(), s, bucket, "b/x", 1)
		refused("open in "+bucket, err)
		_, err = c.UploadFile(t.Context(), AsUser(p.project(), seal.NewSecret("t")), UploadFile{Bucket: bucket, Path: "b/x", ContentType: "a/b"})
		refused("upload to "+bucket, err)
	}
	for _, search := range []string{"%", "a\\b", "ä", "*\n"} {
		_, _, err := c.ListFiles(t.Context(), s, ListFiles{Bucket: "b", Search: search})
		refused("search "+search, err)
	}
	for _, kind := range []string{"", "png", "a/b\r\nX: y", "/", "a/b; c", "ä/b", "a/b;" + strings.Repeat("a", 300) + "=b"} {
		_, err := c.UploadFile(t.Context(), s, UploadFile{Bucket: "b", Path: "x", ContentType: kind})
		refused("type "+kind, err)
	}
	if requests, _ := p.seen(); len(requests) > 0 {
		t.Errorf("%s %s was sent", requests[0].Method, requests[0].RequestURI)
	}
}

// TestSignedLinksAreToTheFileBelowTheProject: what Storage answers is not to be
// trusted with where people's clients go.
func TestSignedLinksAreToTheFileBelowTheProject(t *testing.T) {
	t.Parallel()
	for link, want := range map[string]string{
		"/object/sign/b/n/x y.txt?token=a.b.c":                       "a.b.c",
		"/object/sign/b/n/x%20y.txt?token=a.b.c":                     "a.b.c",
		"/object/sign/b/n/x y.txt?token=":                            "",
		"/object/sign/b/n/x y.txt":                                   "",
		"/object/sign/b/n/other.txt?token=a":                         "",
		"/object/sign/b/n/x y.txt/../../../c?token=a":                "",
		"/object/sign/c/n/x y.txt?token=a":                           "",
		"https://evil.example/object/sign/b/n/x y.txt?token=a":       "",
		"//evil.example/object/sign/b/n/x y.txt?token=a":             "",
		"@evil.example/object/sign/b/n/x y.txt?token=a":              "",
		".evil.example/object/sign/b/n/x y.txt?token=a":              "",
		"\\\\evil.example/object/sign/b/n/x y.txt?token=a":           "",
		"/object/sign/b/n/x y.txt?token=a&x=y":                       "",
		"/object/sign/b/n/x y.txt?token=a#f":                         "",
		"/object/sign/b/n/x y.txt?token=a b":                         "",
		"/object/sign/b/n/x y.txt?token=a\r\nb":                      "",
		"/object/sign/b/n/x y.txt?token=a%0d":                        "",
		"/object/sign/b/n/x y.txt?x=y?token=a":                       "",
		"/render/image/sign/b/n/x y.txt?token=a":                     "",
		"/object/sign/b/n/x y.txt?token=" + strings.Repeat("a", 9e3): "",
	} {
		p := newFakeProject(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, `{"signedURL":`+jsonText(link)+`}`)
		})
		got, _, err := newTestClient().SignFile(t.Context(), AsAnon(p.project()), "b", "n/x y.txt", time.Minute)
		if want != "" && got != p.URL+"/storage/v1/object/sign/b/n/x%20y.txt?token="+want {
			t.Errorf("%.60q: %q %v", link, got, err)
		}
		if want == "" && (got != "" || !fault.Is(err, fault.Unavailable) || egress.Unsent(err) || strings.Contains(err.Error(), "evil")) {
			t.Errorf("%.60q: %q %v", link, got, err)
		}
	}
}

// jsonText writes a JSON text of characters that need few escapes.
func jsonText(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, "\r", `\r`, "\n", `\n`).Replace(s) + `"`
}

func TestStorageErrors(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		header map[string]string
		body   string
		want   StorageError
		token  bool
	}{
		"missing":    {400, nil, `{"statusCode":"404","error":"not_found","message":"Object not found","code":"NoSuchKey"}`, StorageError{HTTP: 400, Status: 404, Code: "NoSuchKey"}, false},
		"no bucket":  {400, nil, `{"statusCode":"404","error":"Bucket not found","message":"Bucket not found"}`, StorageError{HTTP: 400, Status: 404, Code: "NoSuchBucket"}, false},
		"denied":     {400, nil, `{"statusCode":"403","error":"Unauthorized","message":"secret","code":"AccessDenied"}`, StorageError{HTTP: 400, Status: 403, Code: "AccessDenied"}, true},
		"older":      {400, nil, `{"statusCode":"403","error":"Unauthorized","message":"jwt expired"}`, StorageError{HTTP: 400, Status: 403, Code: "AccessDenied"}, true},
		"token":      {400, nil, `{"statusCode":"400","error":"InvalidJWT","message":"x","code":"InvalidJWT"}`, StorageError{HTTP: 400, Status: 400, Code: "InvalidJWT"}, true},
		"duplicate":  {400, nil, `{"statusCode":"409","error":"Duplicate","message":"m","code":"KeyAlreadyExists"}`, StorageError{HTTP: 400, Status: 409, Code: "Duplicate"}, false},
		"large":      {400, nil, `{"statusCode":"413","error":"Payload too large","message":"m"}`, StorageError{HTTP: 400, Status: 413, Code: "EntityTooLarge"}, false},
		"form":       {400, nil, `{"statusCode":400,"code":"FST_ERR_VALIDATION","error":"Bad Request","message":"m"}`, StorageError{HTTP: 400, Status: 400, Code: "FST_ERR_VALIDATION"}, false},
		"timeout":    {544, map[string]string{"Sb-Request-Id": "u"}, `{"statusCode":"544","error":"DatabaseTimeout","message":"m","code":"DatabaseTimeout"}`, StorageError{HTTP: 544, Status: 544, Code: "DatabaseTimeout", Upstream: "u"}, false},
		"odd status": {400, nil, `{"statusCode":"200","error":"x y","message":"m"}`, StorageError{HTTP: 400, Status: 400, Code: "unnamed"}, false},
		"odd code":   {400, nil, `{"statusCode":"404","error":"x","message":"m","code":"a\nb"}`, StorageError{HTTP: 400, Status: 404, Code: "unnamed"}, false},
		"gateway":    {401, map[string]string{"Sb-Error-Code": "UNAUTHORIZED_INVALID_API_KEY"}, `{"message":"Invalid API key","hint":"h"}`, StorageError{HTTP: 401, Status: 401, Code: "UNAUTHORIZED_INVALID_API_KEY", Gateway: true}, false},
		"rate":       {429, map[string]string{"Retry-After": "3"}, `{}`, StorageError{HTTP: 429, Status: 429, Gateway: true, RetryAfter: 3 * time.Second}, false},
		"proxy":      {502, map[string]string{"Content-Type": "text/html"}, "<html>", StorageError{HTTP: 502, Status: 502, Gateway: true}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newFakeProject(t, answer(test.status, test.header, test.body))
			c, s := newTestClient(), AsAnon(p.project())
			check := func(what string, trip Trip, err error) {
				t.Helper()
				var e *StorageError
				if !errors.As(err, &e) {
					t.Fatalf("%s: %v", what, err)
				}
				if *e != test.want || e.MaybeTokenRefused() != test.token || trip.Upstream != test.want.Upstream || trip.Took <= 0 || strings.Contains(err.Error(), "secret") {
					t.Errorf("%s: %+v %+v, want %+v", what, *e, trip, test.want)
				}
			}
			_, trip, err := c.ListFiles(t.Context(), s, ListFiles{Bucket: "b"})
			check("list", trip, err)
			f, err := c.OpenFile(t.Context(), s, "b", "x", 10)
			check("open", f.Trip, err)
			_, trip, err = c.SignFile(t.Context(), s, "b", "x", time.Minute)
			check("sign", trip, err)
			trip, err = c.UploadFile(t.Context(), s, UploadFile{Bucket: "b", Path: "x", ContentType: "a/b"})
			check("upload", trip, err)
		})
	}
}

func TestStorageAnswersThatAreNone(t *testing.T) {
	t.Parallel()
	for _, body := range []string{`{"a":1}`, `[1]`, `"x"`, `[{"name":1}]`, `[{"name":"x","metadata":3}]`} {
		p := newFakeProject(t, answer(200, nil, body))
		if _, _, err := newTestClient().ListFiles(t.Context(), AsAnon(p.project()), ListFiles{Bucket: "b"}); !fault.Is(err, fault.Unavailable) {
			t.Errorf("%s: %v", body, err)
		}
	}
}

// FuzzObjectPath: whatever a name is, the address is one of exactly this bucket
// and this name, or there is none.
func FuzzObjectPath(f *testing.F) {
	for _, seed := range []string{oddName, "a/../b", "a%2f..%2fb", "a//b", "?token=x", "a#b", "\x00", "a\r\nHost: x", ";v=1/../x", "@host/x", ":80/x"} {
		f.Add("b", seed)
		f.Add(seed, "x")
	}
	f.Fuzz(func(t *testing.T, bucket, name string) {
		path, err := objectPath(bucket, name, true)
		if err != nil {
			return
		}
		u, err := url.Parse("https://project.example/storage/v1/object/" + path)
		if err != nil {
			t.Fatalf("%q %q: %v", bucket, name, err)
		}
		if u.Host != "project.example" || u.RawQuery != "" || u.Fragment != "" || u.User != nil || u.Path != "/storage/v1/object/"+bucket+"/"+name {
			t.Fatalf("%q %q: %s", bucket, name, u)
		}
		if joined := u.JoinPath(); joined.EscapedPath() != u.EscapedPath() {
			t.Fatalf("%q %q: cleaned to %s", bucket, name, joined)
		}
		first, rest, _ := strings.Cut(path, "/")
		if b, err := url.PathUnescape(first); err != nil || b != bucket || routes[b] {
			t.Fatalf("%q is bucket %q", first, bucket)
		}
		for segment := range strings.SplitSeq(rest, "/") {
			if s, err := url.PathUnescape(segment); err != nil || s == "" || s == "." || s == ".." || strings.ContainsAny(segment, "?#\\ \r\n\x00") {
				t.Fatalf("%q %q: segment %q", bucket, name, segment)
			}
		}
	})
}
