package mcp

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

func filesTool() *surfaces.Tool {
	return &surfaces.Tool{Name: "documents_list", Result: surfaces.ResultHybrid, Budget: 16 << 10, Annotations: surfaces.Annotations{ReadOnly: true},
		Files: &surfaces.FilesPlan{Place: surfaces.FilePlace{Bucket: "documents", Prefix: "reports"}, DefaultLimit: 20, MaxLimit: 100, ReadTool: "documents_read"}}
}

func readFileTool() *surfaces.Tool {
	return &surfaces.Tool{Name: "documents_read", Budget: 16 << 10, Annotations: surfaces.Annotations{ReadOnly: true},
		ReadFile: &surfaces.ReadFilePlan{Place: surfaces.FilePlace{Bucket: "documents", Prefix: "reports"}, Inline: 64 << 10}}
}

func uploadTool() *surfaces.Tool {
	return &surfaces.Tool{Name: "documents_upload", Result: surfaces.ResultHybrid, Budget: 16 << 10,
		Upload: &surfaces.UploadFilePlan{Place: surfaces.FilePlace{Bucket: "documents", Prefix: "reports"}, Types: []string{"text/plain", "image/*"}, MaxBytes: 20}}
}

// folderOf is a project whose folder has n files.
func folderOf(n int) *scriptedServices {
	return &scriptedServices{onList: func(q supabase.ListFiles) ([]supabase.File, error) {
		var files []supabase.File
		for i := q.Offset; i < min(n, q.Offset+q.Limit); i++ {
			files = append(files, supabase.File{Name: fmt.Sprintf("file-%03d.txt", i), Size: int64(i), MIMEType: "text/plain", Updated: runNow})
		}
		return files, nil
	}}
}

// holding is a project with one file.
func holding(media, body string) *scriptedServices {
	return &scriptedServices{onOpen: func(_ supabase.Session, _ string, most int64) (supabase.OpenFile, error) {
		f := supabase.OpenFile{ContentType: media, Size: int64(len(body)), Body: io.NopCloser(strings.NewReader(body))}
		if f.Size > most {
			f.Body = io.NopCloser(strings.NewReader("")) // nothing can be read of it
		}
		return f, nil
	}}
}

func TestFilesAreListedPageByPage(t *testing.T) {
	t.Parallel()
	p := folderOf(45)
	r, c := newServicesRunner(t, p), runCall()
	var names []string
	arguments := `{"limit":20,"folder":"2026/","search":"file"}`
	for range 5 {
		got := runTool(t, r, c, filesTool(), arguments)
		l := got.list(t)
		for _, item := range l.Items {
			names = append(names, item["name"].(string))
		}
		if !*l.HasMore {
			break
		}
		if !strings.Contains(got.text, *l.NextCursor) || !strings.Contains(got.text, "documents_read") {
			t.Errorf("%s", got.text)
		}
		arguments = argumentsText(t, l)
	}
	if len(names) != 45 || len(unique(names)) != 45 || !slices.IsSorted(names) {
		t.Errorf("%d names", len(names))
	}
	if q := p.listed[1]; q.Bucket != "documents" || q.Folder != "reports/2026" || q.Search != "file" || q.Limit != 21 || q.Offset != 20 {
		t.Errorf("%+v", q)
	}
}

func TestFilesListSaysWhatIsKnownOfEach(t *testing.T) {
	t.Parallel()
	p := &scriptedServices{onList: func(supabase.ListFiles) ([]supabase.File, error) {
		return []supabase.File{{Name: "2026", Folder: true, Size: -1}, {Name: "a\tb.txt", Size: 0, MIMEType: "text/plain", Updated: runNow}, {Name: "c", Size: -1}}, nil
	}}
	got := runTool(t, newServicesRunner(t, p), runCall(), filesTool(), `{}`)
	if string(got.structured) != `{"items":[{"name":"2026","folder":true},{"name":"a\tb.txt","folder":false,"size":0,"type":"text/plain","updated_at":"2026-03-04T05:06:07Z"},{"name":"c","folder":false}],"has_more":false,"next_cursor":null,"next_call":null}` {
		t.Errorf("%s", got.structured)
	}
	if got.text != "name\tfolder\tsize\ttype\tupdated_at\n2026\ttrue\t\t\t\na\\tb.txt\tfalse\t0\ttext/plain\t2026-03-04T05:06:07Z\nc\tfalse\t\t\t\n3 entries, no more.\nRead a file with documents_read; its path is the folder, / and the name." {
		t.Errorf("%q", got.text)
	}
	empty := runTool(t, newServicesRunner(t, folderOf(0)), runCall(), filesTool(), `{}`)
	if string(empty.structured) != `{"items":[],"has_more":false,"next_cursor":null,"next_call":null}` || empty.text != "0 entries, no more." {
		t.Errorf("%s %q", empty.structured, empty.text)
	}
}

func TestAPageOfFilesEndsWhereTheBudgetDoes(t *testing.T) {
	t.Parallel()
	for _, form := range []surfaces.ResultForm{surfaces.ResultHybrid, surfaces.ResultStructured} {
		r, c, tool := newServicesRunner(t, folderOf(95)), runCall(), filesTool()
		tool.Budget, tool.Result = 2048, form
		names, arguments := []string{}, `{"limit":100}`
		for range 95 {
			got := runTool(t, r, c, tool, arguments)
			if n := len(got.text) + len(got.structured); n > 2048 {
				t.Fatalf("%d bytes", n)
			}
			l := got.list(t)
			for _, item := range l.Items {
				names = append(names, item["name"].(string))
			}
			if !*l.HasMore {
				break
			}
			arguments = `{"limit":100,"cursor":"` + *l.NextCursor + `"}`
		}
		if len(names) != 95 || !slices.IsSorted(names) {
			t.Errorf("%s: %d names", form, len(names))
		}
	}
	tool := filesTool()
	tool.Budget = 100
	if got := runTool(t, newServicesRunner(t, folderOf(3)), runCall(), tool, `{}`); got.kind() != kindRowTooLarge {
		t.Errorf("%s", got.text)
	}
}

func TestCursorsOfFilesAreBound(t *testing.T) {
	t.Parallel()
	r, c := newServicesRunner(t, folderOf(45)), runCall()
	cursor := *runTool(t, r, c, filesTool(), `{"folder":"a"}`).list(t).NextCursor
	other := filesTool()
	other.Name = "other_list"
	elsewhere := filesTool()
	elsewhere.Files.Place.Prefix = "private"
	surface := runCall()
	rows := *runTool(t, newTestRunner(t, answering(`[{"id":"1","name":"a","status":null},{"id":"2","name":"b","status":null}]`)), c, listTool(), `{"limit":1}`).list(t).NextCursor
	for name, got := range map[string]ran{
		"another folder": runTool(t, r, c, filesTool(), `{"folder":"b","cursor":"`+cursor+`"}`), "another search": runTool(t, r, c, filesTool(), `{"folder":"a","search":"x","cursor":"`+cursor+`"}`),
		"another tool": runTool(t, r, c, other, `{"folder":"a","cursor":"`+cursor+`"}`), "another place": runTool(t, r, c, elsewhere, `{"folder":"a","cursor":"`+cursor+`"}`),
		"another surface": runTool(t, r, surface, filesTool(), `{"folder":"a","cursor":"`+cursor+`"}`), "rows": runTool(t, r, c, filesTool(), `{"cursor":"`+rows+`"}`),
		"none": runTool(t, r, c, filesTool(), `{"cursor":"20"}`), "cut": runTool(t, r, c, filesTool(), `{"folder":"a","cursor":"`+cursor[1:]+`"}`),
		"long": runTool(t, r, c, filesTool(), `{"folder":"a","cursor":"`+strings.Repeat("A", 600)+`"}`),
	} {
		if got.kind() != kindInvalidCursor {
			t.Errorf("%s: %s", name, got.text)
		}
	}
	if got := runTool(t, r, c, filesTool(), `{"limit":5,"folder":"a","cursor":"`+cursor+`"}`); got.isError {
		t.Errorf("another limit: %s", got.text)
	}
}

func TestPathsStayInTheirPlace(t *testing.T) {
	t.Parallel()
	p := &scriptedServices{}
	r, c := newServicesRunner(t, p), runCall()
	for _, path := range []string{"", "/", "/a", "a/", "a//b", ".", "..", "../a", "a/../../b", "a/.", `a\b`, `..\a`, "a\x00b", "a\nb", strings.Repeat("a", maxFilePath+1)} {
		raw, err := json.Marshal(map[string]string{"path": path, "text": "x"})
		if err != nil {
			t.Fatal(err)
		}
		for _, tool := range []*surfaces.Tool{readFileTool(), uploadTool()} {
			if got := runTool(t, r, c, tool, string(raw)); got.kind() != "invalid" || !strings.Contains(got.text, "/path") {
				t.Errorf("%s of %q: %s", tool.Name, path, got.text)
			}
		}
	}
	for _, folder := range []string{"/", "/a", "a//b", "..", "a/..", `a\b`} {
		raw, _ := json.Marshal(map[string]string{"folder": folder})
		if folder == "/" {
			continue // the place itself
		}
		if got := runTool(t, r, c, filesTool(), string(raw)); got.kind() != "invalid" {
			t.Errorf("folder %q: %s", folder, got.text)
		}
	}
	for name, arguments := range map[string]string{"no path": `{}`, "a number": `{"path":7}`, "null": `{"path":null}`} {
		if got := runTool(t, r, c, readFileTool(), arguments); got.kind() != "invalid" {
			t.Errorf("%s: %s", name, got.text)
		}
	}
	if len(p.opened)+len(p.uploaded)+len(p.listed) != 0 {
		t.Errorf("asked for %q", p.opened)
	}
}

func TestOwnFoldersAreTheCallersOwn(t *testing.T) {
	t.Parallel()
	tool := readFileTool()
	tool.ReadFile.Place.Prefix = "people/{sub}/inbox"
	p := holding("text/plain", "x")
	r := newServicesRunner(t, p)
	for _, subject := range []string{"5a1f2b3c-0000-4000-8000-000000000001", "alice"} {
		c := runCall()
		c.caller.Key.Subject = subject
		runTool(t, r, c, tool, `{"path":"{sub}/a.txt"}`)
		if got := p.opened[len(p.opened)-1]; got != "documents/people/"+subject+"/inbox/{sub}/a.txt" {
			t.Errorf("%s opened %s", subject, got)
		}
	}
	asked := len(p.opened)
	for _, subject := range []string{"", ".", "..", "a/b", "../bob", "a b", "a_b", "A", "a%b", "bob\x00"} {
		c := runCall()
		c.caller.Key.Subject = subject
		if _, err := r.run(t.Context(), c, tool, []byte(`{"path":"a.txt"}`)); err == nil || len(p.opened) != asked {
			t.Errorf("subject %q: %v", subject, err)
		}
	}
	for _, mode := range []oauth.Mode{oauth.ModePublic, oauth.ModeAPIKey, oauth.ModeExternal} {
		c := runCall()
		c.caller = &oauth.Caller{Key: oauth.CallerKey{Mode: mode, Subject: "alice"}}
		if _, err := r.run(t.Context(), c, tool, []byte(`{"path":"a.txt"}`)); err == nil || len(p.opened) != asked {
			t.Errorf("%s: %v", mode, err)
		}
	}
}

func TestFilesAreReadByWhatTheyAre(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct{ media, body, want string }{
		"text":              {"text/markdown", "# a\r\nb", `[{"type":"text","text":"# a\r\nb"}]`},
		"empty text":        {"text/plain", "", `[{"type":"text","text":""}]`},
		"JSON":              {"application/json", `{"a":1.10}`, `[{"type":"text","text":"{\"a\":1.10}"}]`},
		"svg":               {"image/svg+xml", `<svg/>`, `[{"type":"text","text":"\u003csvg/\u003e"}]`},
		"unknown text":      {"application/octet-stream", "abc", `[{"type":"text","text":"abc"}]`},
		"no type":           {"", "abc", `[{"type":"text","text":"abc"}]`},
		"unknown bytes":     {"application/octet-stream", "a\x00b", `[{"type":"resource","resource":{"uri":"storage://documents/reports/a%20b.bin","mimeType":"application/octet-stream","blob":"YQBi"}}]`},
		"text that is none": {"text/plain", "\xff", `[{"type":"resource","resource":{"uri":"storage://documents/reports/a%20b.bin","mimeType":"text/plain","blob":"/w=="}}]`},
		"an image":          {"image/png", "png", `[{"type":"image","mimeType":"image/png","data":"cG5n"}]`},
		"audio":             {"audio/wav", "wav", `[{"type":"audio","mimeType":"audio/wav","data":"d2F2"}]`},
		"a document":        {"application/pdf", "pdf", `[{"type":"resource","resource":{"uri":"storage://documents/reports/a%20b.bin","mimeType":"application/pdf","blob":"cGRm"}}]`},
	} {
		res := runResult(t, newServicesRunner(t, holding(k.media, k.body)), runCall(), readFileTool(), `{"path":"a b.bin"}`)
		if got, _ := json.Marshal(res.Content); string(got) != k.want || res.IsError {
			t.Errorf("%s:\n got %s\nwant %s", name, got, k.want)
		}
	}
}

func TestLargeFilesAreLinks(t *testing.T) {
	t.Parallel()
	for name, k := range map[string]struct {
		media, body string
		size        int64
	}{
		"bytes": {"image/png", strings.Repeat("x", 64<<10+1), 64<<10 + 1}, "text": {"text/plain", strings.Repeat("x", 16<<10+1), 16<<10 + 1},
		"text of many escapes": {"text/plain", strings.Repeat("\n", 10<<10), 10 << 10}, "unknown text": {"", strings.Repeat("x", 70<<10), 70 << 10},
	} {
		p := holding(k.media, k.body)
		res := runResult(t, newServicesRunner(t, p), runCall(), readFileTool(), `{"path":"big"}`)
		link, ok := res.Content[len(res.Content)-1].(*mcp.ResourceLink)
		if !ok || len(res.Content) != 2 || *link.Size != k.size || link.Name != "big" || !strings.HasSuffix(link.URI, "/documents/reports/big?token=t") || len(p.signed) != 1 || p.lives[0] != time.Minute {
			t.Errorf("%s: %+v", name, res.Content)
			continue
		}
		if said := res.Content[0].(*mcp.TextContent).Text; !strings.Contains(said, "60 seconds") || !strings.Contains(said, "anyone who has it") {
			t.Errorf("%s: %s", name, said)
		}
	}
	unsized := &scriptedServices{onOpen: func(_ supabase.Session, _ string, most int64) (supabase.OpenFile, error) {
		return supabase.OpenFile{ContentType: "application/pdf", Size: -1, Body: io.NopCloser(io.LimitReader(zeros{}, 1<<40))}, nil
	}}
	res := runResult(t, newServicesRunner(t, unsized), runCall(), readFileTool(), `{"path":"big"}`)
	if link, ok := res.Content[1].(*mcp.ResourceLink); !ok || link.Size != nil {
		t.Errorf("%+v", res.Content)
	}
	never := readFileTool()
	never.ReadFile.Inline = 0
	if res := runResult(t, newServicesRunner(t, holding("image/png", "x")), runCall(), never, `{"path":"a"}`); len(res.Content) != 2 {
		t.Errorf("inline: 0: %+v", res.Content)
	}
}

// zeros never ends.
type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestUploadsAreWhatTheToolTakes(t *testing.T) {
	t.Parallel()
	p := &scriptedServices{onUpload: func(supabase.Session, supabase.UploadFile) error { return nil }}
	r, c := newServicesRunner(t, p), runCall()
	got := runTool(t, r, c, uploadTool(), `{"path":"a/b.txt","text":"h\u00e9"}`)
	if string(got.structured) != `{"path":"a/b.txt","size":3,"content_type":"text/plain"}` || got.text != "Uploaded a/b.txt, 3 bytes." {
		t.Errorf("%s %s", got.text, got.structured)
	}
	if q := p.uploaded[0]; q.Path != "reports/a/b.txt" || string(q.Body) != "hé" || q.Overwrite {
		t.Errorf("%+v", q)
	}
	over := uploadTool()
	over.Upload.Overwrite = true
	if runTool(t, r, c, over, `{"path":"a.png","content_type":"IMAGE/PNG","base64":"`+base64.StdEncoding.EncodeToString([]byte{0, 1})+`"}`); len(p.uploaded) != 2 || !p.uploaded[1].Overwrite || p.uploaded[1].ContentType != "image/png" {
		t.Errorf("%+v", p.uploaded)
	}
	for arguments, kind := range map[string]string{
		`{"path":"a"}`: "invalid", `{"path":"a","text":"x","base64":"eA=="}`: "invalid", `{"path":"a","text":1}`: "invalid", `{"path":"a","base64":"e A="}`: "invalid", `{"path":"a","base64":"eA"}`: "invalid", `{"path":"a","base64":"eA\n=="}`: "invalid",
		`{"path":"a","text":"x","content_type":"application/pdf"}`: "invalid", `{"path":"a","text":"x","content_type":"x"}`: "invalid", `{"path":"a","text":"x","content_type":"image/*"}`: "invalid", `{"path":"a","text":"x","content_type":"text/plain; charset=utf-16"}`: "invalid",
		`{"path":"a","base64":"eA=="}`: "invalid", `{"path":"a","text":"` + strings.Repeat("x", 21) + `"}`: "too_large", `{"path":"a","text":"x","content_type":"text/plain\r\nX: y"}`: "invalid",
	} {
		if got := runTool(t, r, c, uploadTool(), arguments); got.kind() != kind || len(p.uploaded) != 2 {
			t.Errorf("%s: %s", arguments, got.text)
		}
	}
}

func TestFailuresOfStorageAreToldApart(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		err                error
		list, read, upload string
	}{
		{&supabase.StorageError{HTTP: 400, Status: 404, Code: "NoSuchKey"}, kindOutOfDate, "not_found", kindOutOfDate},
		{&supabase.StorageError{HTTP: 400, Status: 404, Code: "NoSuchBucket"}, kindOutOfDate, kindOutOfDate, kindOutOfDate},
		{&supabase.StorageError{HTTP: 400, Status: 403, Code: "AccessDenied"}, "forbidden", "forbidden", "forbidden"},
		{&supabase.StorageError{HTTP: 400, Status: 409, Code: "Duplicate"}, "conflict", "conflict", "conflict"},
		{&supabase.StorageError{HTTP: 400, Status: 413, Code: "EntityTooLarge"}, "too_large", "too_large", "too_large"},
		{&supabase.StorageError{HTTP: 400, Status: 415, Code: "InvalidMimeType"}, "invalid", "invalid", "invalid"},
		{&supabase.StorageError{HTTP: 400, Status: 400, Code: "InvalidKey"}, "invalid", "invalid", "invalid"},
		{&supabase.StorageError{HTTP: 400, Status: 400, Code: "Other"}, kindUpstream, kindUpstream, kindUpstream},
		{&supabase.StorageError{HTTP: 429, Status: 429}, "rate_limited", "rate_limited", "rate_limited"},
		{&supabase.StorageError{HTTP: 500, Status: 500, Code: "InternalError"}, "unavailable", "unavailable", kindOutcomeUnknown},
		{&supabase.StorageError{HTTP: 544, Status: 544}, "unavailable", "unavailable", kindOutcomeUnknown},
		{&supabase.StorageError{HTTP: 502, Status: 502, Gateway: true}, "unavailable", "unavailable", kindOutcomeUnknown},
		{&supabase.StorageError{HTTP: 401, Status: 401, Gateway: true}, kindUpstream, kindUpstream, kindUpstream},
		{&supabase.StorageError{HTTP: 200, Status: 200, Gateway: true}, "unavailable", "unavailable", kindOutcomeUnknown},
		{fault.New(fault.Timeout, "", "late"), "timeout", "timeout", kindOutcomeUnknown},
		{fault.New(fault.Unavailable, "", "away"), "unavailable", "unavailable", kindOutcomeUnknown},
		{fault.Wrap(egress.ErrUnsent, fault.Unavailable, "", "full"), "unavailable", "unavailable", "unavailable"},
		{fault.Wrap(egress.ErrUnsent, fault.Invalid, "file_path", "No such characters."), "invalid", "invalid", "invalid"},
	} {
		p := &scriptedServices{
			onList:   func(supabase.ListFiles) ([]supabase.File, error) { return nil, k.err },
			onOpen:   func(supabase.Session, string, int64) (supabase.OpenFile, error) { return supabase.OpenFile{}, k.err },
			onUpload: func(supabase.Session, supabase.UploadFile) error { return k.err },
		}
		r, c := newServicesRunner(t, p), runCall()
		for tool, want := range map[*surfaces.Tool]string{filesTool(): k.list, readFileTool(): k.read, uploadTool(): k.upload} {
			if got := runTool(t, r, c, tool, `{"path":"a","text":"x"}`); got.kind() != want || c.unauthorized {
				t.Errorf("%s, %v: %s, want %s", tool.Name, k.err, got.text, want)
			}
		}
	}
}

// tokenUntil is a token that says when it ends.
func tokenUntil(name string, end time.Time) string {
	claims := base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, `{"exp":%d}`, end.Unix()))
	return name + "." + claims + ".signature"
}

func TestStorageRefusesATokenLikeAPolicy(t *testing.T) {
	t.Parallel()
	denied := &supabase.StorageError{HTTP: 400, Status: 403, Code: "AccessDenied"}
	over, good := tokenUntil("old", runNow), tokenUntil("good", runNow.Add(time.Minute))
	for _, tool := range []*surfaces.Tool{filesTool(), readFileTool(), uploadTool()} {
		for _, k := range []struct {
			first string
			calls int
		}{{over, 2}, {good, 1}, {"no token of ours", 1}} {
			c, _ := bridgeCall(k.first, "new")
			refuse := func(s supabase.Session) error {
				if s == c.sessionOf(k.first) {
					return denied
				}
				return nil
			}
			last := supabase.Session{}
			p := &scriptedServices{
				onOpen: func(s supabase.Session, _ string, _ int64) (supabase.OpenFile, error) {
					last = s
					return supabase.OpenFile{ContentType: "text/plain", Body: io.NopCloser(strings.NewReader("x"))}, refuse(s)
				},
				onUpload: func(s supabase.Session, _ supabase.UploadFile) error { return refuse(s) },
			}
			p.onList = func(supabase.ListFiles) ([]supabase.File, error) { return nil, refuse(p.sessions[len(p.sessions)-1]) }
			got := runTool(t, newServicesRunner(t, p), c, tool, `{"path":"a","text":"x"}`)
			if len(p.sessions) != k.calls || got.isError != (k.calls == 1) || c.unauthorized {
				t.Errorf("%s with %.8s: %d calls, %s %v", tool.Name, k.first, len(p.sessions), got.text, last)
			}
		}
		c := runCall()
		c.caller.Expires = runNow
		p := &scriptedServices{
			onList:   func(supabase.ListFiles) ([]supabase.File, error) { return nil, denied },
			onOpen:   func(supabase.Session, string, int64) (supabase.OpenFile, error) { return supabase.OpenFile{}, denied },
			onUpload: func(supabase.Session, supabase.UploadFile) error { return denied },
		}
		if runTool(t, newServicesRunner(t, p), c, tool, `{"path":"a","text":"x"}`); !c.unauthorized || len(p.sessions) != 1 {
			t.Errorf("%s: a direct token whose time is over is no challenge", tool.Name)
		}
	}
	if !expiryOf(seal.NewSecret("a.b.c")).IsZero() || !expiryOf(seal.Secret{}).IsZero() {
		t.Error("an end read from no token")
	}
	if _, err := newServicesRunner(t, &scriptedServices{}).run(t.Context(), runCall(), filesTool(), []byte(`{}`)); !errors.Is(err, errUnexpected) {
		t.Errorf("our own failure: %v", err)
	}
}
