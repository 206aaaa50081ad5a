package standin

import (
	"io"
	"mime/multipart"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"
)

// storage sends method and path below /storage/v1/ with exactly these headers.
func (c client) storage(method, path, body string, headers ...string) reply {
	c.t.Helper()
	req, err := http.NewRequestWithContext(c.t.Context(), method, c.p.URL()+"/storage/v1/"+path, strings.NewReader(body))
	if err != nil {
		c.t.Fatal(err)
	}
	if c.bearer != "" {
		req.Header.Set("Authorization", "Bearer "+c.bearer)
		req.Header.Set("Apikey", c.p.PublishableKey())
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return send(c.t, req)
}

func wantBody(t *testing.T, what string, r reply, status int, body string) {
	t.Helper()
	if r.status != status || strings.TrimSpace(r.body) != body {
		t.Errorf("%s: %d %s\nwant %d %s", what, r.status, r.body, status, body)
	}
}

const (
	missingFile   = `{"statusCode":"404","code":"NoSuchKey","error":"not_found","message":"Object not found"}`
	missingBucket = `{"statusCode":"404","code":"NoSuchBucket","error":"Bucket not found","message":"Bucket not found"}`
	deniedWrite   = `{"statusCode":"403","code":"AccessDenied","error":"Unauthorized","message":"new row violates row-level security policy"}`
	nobody        = `{"statusCode":400,"code":"FST_ERR_VALIDATION","error":"Bad Request","message":"headers must have required property 'authorization'"}`
)

const openBucket = `
insert into storage.buckets (id, name, public) values ('open', 'open', true);
select standin.put_file('open', 'a/b.txt', null, 'text/plain', 'for all');
`

func startFiles(t *testing.T) (p *Project, alice, bob, nobody client) {
	t.Helper()
	p = startCRM(t, func(o *Options) { o.Schema += openBucket })
	return p, as(t, p, AliceEmail), as(t, p, BobEmail), client{t: t, p: p}
}

func TestStorageErrorsAreAsSupabaseGivesThem(t *testing.T) {
	t.Parallel()
	p, alice, _, noOne := startFiles(t)
	own := "documents/" + AliceID + "/"
	wantBody(t, "missing", alice.storage("GET", "object/authenticated/"+own+"x", ""), 400, missingFile)
	wantBody(t, "no bucket", alice.storage("GET", "object/authenticated/nowhere/x", ""), 400, missingBucket)
	wantBody(t, "nobody", noOne.storage("GET", "object/authenticated/"+own+"welcome.txt", ""), 400, nobody)
	wantBody(t, "no token, but the key", noOne.storage("GET", "object/authenticated/"+own+"welcome.txt", "", "Apikey", p.PublishableKey()), 400, missingFile)
	wantBody(t, "private as public", noOne.storage("GET", "object/public/"+own+"welcome.txt", ""), 400, missingBucket)
	wantBody(t, "private as plain", noOne.storage("GET", "object/"+own+"welcome.txt", ""), 400, missingBucket)
	wantBody(t, "bad token", noOne.storage("GET", "object/authenticated/"+own+"welcome.txt", "", "Authorization", "Bearer x"), 400,
		`{"statusCode":"403","code":"AccessDenied","error":"Unauthorized","message":"invalid signature"}`)
	expired, err := p.AccessToken(AliceEmail, TokenOptions{Lifetime: -time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	wantBody(t, "expired", noOne.storage("GET", "object/authenticated/"+own+"welcome.txt", "", "Authorization", "Bearer "+expired), 400,
		`{"statusCode":"403","code":"AccessDenied","error":"Unauthorized","message":"jwt expired"}`)
	wantBody(t, "denied", alice.storage("POST", "object/documents/"+BobID+"/x", "x"), 400, deniedWrite)
	wantBody(t, "duplicate", alice.storage("POST", "object/"+own+"welcome.txt", "x"), 400,
		`{"statusCode":"409","code":"KeyAlreadyExists","error":"Duplicate","message":"The resource already exists"}`)
	wantBody(t, "key", alice.storage("POST", "object/"+own+"%C3%A4", "x"), 400,
		`{"statusCode":"400","code":"InvalidKey","error":"InvalidKey","message":"Invalid key: `+AliceID+`/ä"}`)
	wantBody(t, "no expiry", alice.storage("POST", "object/sign/"+own+"welcome.txt", `{"expiresIn":0}`), 400,
		`{"statusCode":400,"code":"FST_ERR_VALIDATION","error":"Bad Request","message":"body/expiresIn must be \u003e= 1"}`)
	wantBody(t, "no prefix", alice.storage("POST", "object/list/documents", `{}`), 400,
		`{"statusCode":400,"code":"FST_ERR_VALIDATION","error":"Bad Request","message":"body must have required property 'prefix'"}`)
	for _, path := range []string{"object/move", "object/copy", "object/upload/sign/documents/x", "bucket", "render/image/public/open/x"} {
		if r := alice.storage("POST", path, `{}`); r.status != 501 || r.code() != "NotImplemented" {
			t.Errorf("%s: %d %s", path, r.status, r.body)
		}
	}
	if r := alice.storage("PATCH", "object/"+own+"x", ""); r.status != 404 {
		t.Errorf("no route: %d %s", r.status, r.body)
	}
	if r := noOne.storage("GET", "object/public/open/a/b.txt", "", "Apikey", "sb_publishable_wrong"); r.status != 401 || r.header.Get("Sb-Error-Code") == "" {
		t.Errorf("wrong key: %d %s", r.status, r.body)
	}
}

func TestReadingFilesInEveryWay(t *testing.T) {
	t.Parallel()
	p, alice, bob, noOne := startFiles(t)
	own := "documents/" + AliceID + "/welcome.txt"
	for what, r := range map[string]reply{
		"authenticated": alice.storage("GET", "object/authenticated/"+own, ""),
		"plain":         alice.storage("GET", "object/"+own, ""),
		"secret key":    noOne.storage("GET", "object/"+own, "", "Apikey", p.SecretKey()),
	} {
		wantBody(t, what, r, 200, strings.TrimSpace(AliceWelcome))
		if h := r.header; h.Get("Content-Type") != "text/plain" || h.Get("Etag") == "" || h.Get("X-Robots-Tag") != "none" || h.Get("Last-Modified") != "Thu, 01 Jan 2026 08:00:00 GMT" {
			t.Errorf("%s: %v", what, h)
		}
	}
	wantBody(t, "another's", bob.storage("GET", "object/"+own, ""), 400, missingFile)
	for what, r := range map[string]reply{
		"public": noOne.storage("GET", "object/public/open/a/b.txt", ""), "plain": noOne.storage("GET", "object/open/a/b.txt", "", "Authorization", "Bearer x"),
		"past policies": bob.storage("GET", "object/authenticated/open/a/b.txt", ""),
	} {
		wantBody(t, what, r, 200, "for all")
	}
	head := alice.storage("HEAD", "object/authenticated/"+own, "")
	if head.status != 200 || head.body != "" || head.header.Get("Content-Length") != "24" {
		t.Errorf("head: %d %q %v", head.status, head.body, head.header)
	}
	if r := alice.storage("GET", "object/authenticated/"+own, "", "If-None-Match", head.header.Get("Etag")); r.status != 304 {
		t.Errorf("unchanged: %d", r.status)
	}
	if r := alice.storage("GET", "object/authenticated/"+own+"?download=", ""); r.header.Get("Content-Disposition") != "attachment; filename*=UTF-8''welcome.txt" {
		t.Errorf("download: %v", r.header)
	}
	if r := alice.storage("GET", "object/info/"+own, ""); r.status != 200 || !strings.Contains(r.body, `"content_type":"text/plain"`) || !strings.Contains(r.body, `"size":24`) {
		t.Errorf("info: %d %s", r.status, r.body)
	}
}

func TestSignedLinksOpenOneFileUntilTheyEnd(t *testing.T) {
	t.Parallel()
	now := time.Now()
	p := startCRM(t, func(o *Options) {
		o.Schema += openBucket
		o.Now = func() time.Time { return now }
	})
	alice, noOne := as(t, p, AliceEmail), client{t: t, p: p}
	own := "documents/" + AliceID + "/welcome.txt"
	r := alice.storage("POST", "object/sign/"+own, `{"expiresIn":60}`)
	link, ok := strings.CutPrefix(r.body, `{"signedURL":"/`)
	link = strings.TrimSuffix(link, `"}`)
	if r.status != 200 || !ok || !strings.HasPrefix(link, "object/sign/"+own+"?token=") {
		t.Fatalf("%d %s", r.status, r.body)
	}
	wantBody(t, "signed", noOne.storage("GET", link, ""), 200, strings.TrimSpace(AliceWelcome))
	_, token, _ := strings.Cut(link, "?token=")
	if r := noOne.storage("GET", "object/sign/documents/"+BobID+"/welcome.txt?token="+token, ""); r.status != 400 || r.code() != "InvalidSignature" {
		t.Errorf("another file: %d %s", r.status, r.body)
	}
	if r := noOne.storage("GET", "object/sign/"+own+"?token="+alice.bearer, ""); r.status != 400 || r.code() != "InvalidJWT" {
		t.Errorf("an access token: %d %s", r.status, r.body)
	}
	if r := noOne.storage("GET", "object/authenticated/"+own, "", "Authorization", "Bearer "+token); r.status != 400 || r.code() != "AccessDenied" {
		t.Errorf("a link's token as an access token: %d %s", r.status, r.body)
	}
	many := alice.storage("POST", "object/sign/documents", `{"expiresIn":60,"paths":["`+AliceID+`/logo.png","`+BobID+`/logo.png"]}`)
	if many.status != 200 || strings.Count(many.body, "/object/sign/documents/"+AliceID+"/logo.png?token=") != 1 ||
		!strings.Contains(many.body, `{"error":"Either the object does not exist or you do not have access to it","path":"`+BobID+`/logo.png","signedURL":null}`) {
		t.Errorf("many: %d %s", many.status, many.body)
	}
	now = now.Add(61 * time.Second)
	if r := noOne.storage("GET", link, ""); r.status != 400 || r.code() != "InvalidJWT" {
		t.Errorf("expired: %d %s", r.status, r.body)
	}
}

func TestWritingFilesInEveryWay(t *testing.T) {
	t.Parallel()
	p, alice, bob, _ := startFiles(t)
	own := "documents/" + AliceID + "/"
	content := func(name string) string { t.Helper(); return alice.storage("GET", "object/"+own+name, "").body }
	if r := alice.storage("POST", "object/"+own+"a.txt", "one", "Content-Type", "text/plain", "Cache-Control", "max-age=60"); r.status != 200 || !strings.Contains(r.body, `"Key":"`+own+`a.txt"`) {
		t.Fatalf("%d %s", r.status, r.body)
	}
	if r := alice.storage("PUT", "object/"+own+"a.txt", "two", "Content-Type", "text/csv"); r.status != 200 || content("a.txt") != "two" {
		t.Errorf("put: %d %s", r.status, r.body)
	}
	if r := alice.storage("POST", "object/"+own+"a.txt", "three", "X-Upsert", "true"); r.status != 200 || content("a.txt") != "three" {
		t.Errorf("upsert: %d %s", r.status, r.body)
	}
	var form strings.Builder
	w := multipart.NewWriter(&form)
	_ = w.WriteField("cacheControl", "3600")
	_ = w.WriteField("metadata", `{"a":1}`)
	part, err := w.CreateFormFile("", "x.txt")
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.WriteString(part, "of a form")
	_ = w.Close()
	if r := alice.storage("POST", "object/"+own+"form.bin", form.String(), "Content-Type", w.FormDataContentType()); r.status != 200 || content("form.bin") != "of a form" {
		t.Errorf("form: %d %s", r.status, r.body)
	}
	if r := alice.storage("GET", "object/info/"+own+"form.bin", ""); !strings.Contains(r.body, `"metadata":{"a": 1}`) && !strings.Contains(r.body, `"metadata":{"a":1}`) || !strings.Contains(r.body, `"cache_control":"max-age=3600"`) {
		t.Errorf("info: %s", r.body)
	}
	if r := bob.storage("DELETE", "object/"+own+"a.txt", ""); r.status != 400 || r.code() != "NoSuchKey" {
		t.Errorf("bob deletes: %d %s", r.status, r.body)
	}
	if r := bob.storage("DELETE", "object/documents", `{"prefixes":["`+AliceID+`/a.txt"]}`); r.status != 200 || r.body != "[]" {
		t.Errorf("bob deletes: %d %s", r.status, r.body)
	}
	if r := alice.storage("DELETE", "object/"+own+"a.txt", ""); r.status != 200 {
		t.Errorf("delete: %d %s", r.status, r.body)
	}
	if r := alice.storage("DELETE", "object/documents", `{"prefixes":["`+AliceID+`/form.bin","`+BobID+`/welcome.txt"]}`); r.status != 200 || strings.Count(r.body, `"name"`) != 1 {
		t.Errorf("delete many: %d %s", r.status, r.body)
	}
	wantBody(t, "gone", alice.storage("GET", "object/"+own+"a.txt", ""), 400, missingFile)
	if n := len(p.storage.contents.open); n != 0 {
		t.Errorf("%d contents are still held", n)
	}
}

func TestListingFiles(t *testing.T) {
	t.Parallel()
	p, alice, bob, noOne := startFiles(t)
	for _, name := range []string{"a_b/1.txt", "axb/2.txt", "A_B/3.txt", "z.txt"} {
		if err := p.PutFile(t.Context(), "documents", AliceID+"/"+name, "text/plain", 1, func() io.Reader { return strings.NewReader("x") }); err != nil {
			t.Fatal(err)
		}
	}
	names := func(r reply) string {
		t.Helper()
		var b strings.Builder
		for _, part := range strings.Split(r.body, `"name":"`)[1:] {
			name, rest, _ := strings.Cut(part, `"`)
			if strings.HasPrefix(rest, `,"id":null`) {
				name += "/"
			}
			b.WriteString(name + " ")
		}
		return strings.TrimSpace(b.String())
	}
	for what, test := range map[string]struct {
		c          client
		body, want string
	}{
		"root":         {alice, `{"prefix":""}`, AliceID + "/"},
		"folder":       {alice, `{"prefix":"` + AliceID + `"}`, "A_B/ a_b/ axb/ logo.png welcome.txt z.txt"},
		"with a slash": {alice, `{"prefix":"` + AliceID + `/","sortBy":{"column":"name","order":"desc"}}`, "axb/ a_b/ A_B/ z.txt welcome.txt logo.png"},
		"page":         {alice, `{"prefix":"` + AliceID + `","limit":2,"offset":2}`, "axb/ logo.png"},
		"search":       {alice, `{"prefix":"` + AliceID + `","search":"W"}`, "welcome.txt"},
		"a pattern":    {alice, `{"prefix":"` + AliceID + `/a_b"}`, "1.txt 2.txt 3.txt"}, // as Storage has it
		"hidden":       {bob, `{"prefix":"` + AliceID + `"}`, ""},
	} {
		if r := test.c.storage("POST", "object/list/documents", test.body); r.status != 200 || !sameNames(names(r), test.want) {
			t.Errorf("%s: %d %s", what, r.status, names(r))
		}
	}
	wantBody(t, "no bucket", alice.storage("POST", "object/list/nowhere", `{"prefix":""}`), 200, "[]")
	wantBody(t, "nobody", noOne.storage("POST", "object/list/documents", `{"prefix":""}`), 400, nobody)
	first := alice.storage("POST", "object/list-v2/documents", `{"prefix":"`+AliceID+`/","limit":3,"with_delimiter":true}`)
	if !strings.Contains(first.body, `"hasNext":true`) || !strings.Contains(first.body, `"folders":[{"name":"`+AliceID+`/A_B/"},{"name":"`+AliceID+`/a_b/"},{"name":"`+AliceID+`/axb/"}]`) {
		t.Fatalf("v2: %s", first.body)
	}
	_, cursor, _ := strings.Cut(first.body, `"nextCursor":"`)
	cursor, _, _ = strings.Cut(cursor, `"`)
	next := alice.storage("POST", "object/list-v2/documents", `{"prefix":"`+AliceID+`/","limit":3,"with_delimiter":true,"cursor":"`+cursor+`"}`)
	if !strings.Contains(next.body, `"hasNext":false`) || names(next) != strings.Join([]string{AliceID + "/logo.png", AliceID + "/welcome.txt", AliceID + "/z.txt"}, " ") {
		t.Errorf("v2, next: %s", next.body)
	}
	if r := bob.storage("POST", "object/list-v2/documents", `{"prefix":"`+AliceID+`/"}`); r.status != 200 || names(r) != "" {
		t.Errorf("v2 of another: %s", r.body)
	}
}

// sameNames compares lists whose order is the database's collation's, but for
// folders that differ in case or punctuation.
func sameNames(got, want string) bool {
	count := func(s string) map[string]int {
		all := map[string]int{}
		for _, name := range strings.Fields(s) {
			all[name]++
		}
		return all
	}
	g, w := count(got), count(want)
	for name := range w {
		if g[name] != w[name] {
			return false
		}
	}
	return len(g) == len(w)
}

// TestTheDataAPIHasNoFiles: neither rows nor contents.
func TestTheDataAPIHasNoFiles(t *testing.T) {
	t.Parallel()
	_, alice, _, _ := startFiles(t)
	for _, table := range []string{"objects", "buckets", "contents"} {
		if r := alice.get(url.PathEscape(table)); r.status != 404 {
			t.Errorf("%s: %d %s", table, r.status, r.body)
		}
		for _, schema := range []string{"storage", "standin"} {
			if r := alice.get(table, "Accept-Profile", schema); r.status != 406 {
				t.Errorf("%s of %s: %d %s", table, schema, r.status, r.body)
			}
		}
	}
}
