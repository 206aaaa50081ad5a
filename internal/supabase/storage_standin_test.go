package supabase_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// buckets are two more than the CRM's: one that everybody may read, and a small
// one that only signed-in people may add to, and not read.
const buckets = `
insert into storage.buckets (id, name, public, file_size_limit, allowed_mime_types) values
  ('open', 'open', true, null, null), ('box', 'box', false, 10, '{text/plain,image/*}');
create policy "box: add" on storage.objects for insert to authenticated with check (bucket_id = 'box');
select standin.put_file('open', 'a/b.txt', null, 'text/plain', 'for all');
`

func startFiles(t *testing.T) (p *standin.Project, c *supabase.Client, alice, bob supabase.Session) {
	t.Helper()
	p, c = start(t, standin.Options{Schema: standin.CRM + buckets, Users: standin.CRMUsers()})
	return p, c, sessionOf(t, p, standin.AliceEmail), sessionOf(t, p, standin.BobEmail)
}

func read(t *testing.T, c *supabase.Client, s supabase.Session, bucket, path string) ([]byte, error) {
	t.Helper()
	f, err := c.OpenFile(t.Context(), s, bucket, path, 1<<20)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Body.Close() }()
	return io.ReadAll(f.Body)
}

func upload(t *testing.T, c *supabase.Client, s supabase.Session, bucket, path, content string, overwrite bool) error {
	t.Helper()
	_, err := c.UploadFile(t.Context(), s, supabase.UploadFile{Bucket: bucket, Path: path, ContentType: "text/plain", Body: []byte(content), Overwrite: overwrite})
	return err
}

func list(t *testing.T, c *supabase.Client, s supabase.Session, q supabase.ListFiles) string {
	t.Helper()
	if q.Limit == 0 {
		q.Limit = 100
	}
	files, _, err := c.ListFiles(t.Context(), s, q)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, f := range files {
		name := f.Name
		if f.Folder {
			name += "/"
		}
		names = append(names, name)
	}
	return strings.Join(names, " ")
}

func wantStorage(t *testing.T, what string, err error, status int, code string) {
	t.Helper()
	var e *supabase.StorageError
	if !errors.As(err, &e) || e.HTTP != 400 || e.Status != status || e.Code != code || e.Gateway || e.Upstream == "" {
		t.Errorf("%s: %+v %v, want %d %s", what, e, err, status, code)
	}
}

func follow(t *testing.T, link string) (int, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, link, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := new(http.Client).Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	content, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(content)
}

func TestAliceAndBobInStorage(t *testing.T) {
	t.Parallel()
	p, c, alice, bob := startFiles(t)
	anon := supabase.AsAnon(supabase.Project{APIOrigin: p.URL(), PublishableKey: p.PublishableKey()})
	people := []struct {
		name, own, other string
		session          supabase.Session
		welcome          string
		logo             []byte
	}{
		{"Alice", standin.AliceID, standin.BobID, alice, standin.AliceWelcome, standin.AliceLogo},
		{"Bob", standin.BobID, standin.AliceID, bob, standin.BobWelcome, standin.BobLogo},
	}
	var all sync.WaitGroup
	for _, who := range people {
		all.Go(func() {
			if got := list(t, c, who.session, supabase.ListFiles{Bucket: "documents"}); got != who.own+"/" {
				t.Errorf("%s sees %s", who.name, got)
			}
			if got := list(t, c, who.session, supabase.ListFiles{Bucket: "documents", Folder: who.own}); got != "logo.png welcome.txt" {
				t.Errorf("%s sees %s", who.name, got)
			}
			if got := list(t, c, who.session, supabase.ListFiles{Bucket: "documents", Folder: who.other}); got != "" {
				t.Errorf("%s sees of the other: %s", who.name, got)
			}
			for name, want := range map[string][]byte{"welcome.txt": []byte(who.welcome), "logo.png": who.logo} {
				if got, err := read(t, c, who.session, "documents", who.own+"/"+name); err != nil || !bytes.Equal(got, want) {
					t.Errorf("%s reads %q %v", who.name, got, err)
				}
				_, err := read(t, c, who.session, "documents", who.other+"/"+name)
				wantStorage(t, who.name+" reads the other's", err, 404, "NoSuchKey")
				_, err = read(t, c, anon, "documents", who.own+"/"+name)
				wantStorage(t, "nobody reads", err, 404, "NoSuchKey")
			}
			link, _, err := c.SignFile(t.Context(), who.session, "documents", who.own+"/welcome.txt", time.Minute)
			if status, content := follow(t, link); err != nil || status != 200 || content != who.welcome {
				t.Errorf("%s's link: %d %q %v", who.name, status, content, err)
			}
			_, _, err = c.SignFile(t.Context(), who.session, "documents", who.other+"/welcome.txt", time.Minute)
			wantStorage(t, who.name+" signs the other's", err, 404, "NoSuchKey")

			err = upload(t, c, who.session, "documents", who.other+"/planted.txt", "x", false)
			wantStorage(t, who.name+" writes to the other", err, 403, "AccessDenied")
			err = upload(t, c, who.session, "documents", who.other+"/welcome.txt", "x", true)
			wantStorage(t, who.name+" replaces the other's", err, 403, "AccessDenied")
			err = upload(t, c, anon, "documents", who.own+"/planted.txt", "x", false)
			wantStorage(t, "nobody writes", err, 403, "AccessDenied")
			if err := upload(t, c, who.session, "documents", who.own+"/notes/new.txt", "of "+who.name, false); err != nil {
				t.Errorf("%s writes: %v", who.name, err)
			}
			if got, err := read(t, c, who.session, "documents", who.own+"/notes/new.txt"); err != nil || string(got) != "of "+who.name {
				t.Errorf("%s reads back %q %v", who.name, got, err)
			}
		})
	}
	all.Wait()
	for _, who := range people {
		if got, err := read(t, c, who.session, "documents", who.own+"/welcome.txt"); err != nil || string(got) != who.welcome {
			t.Errorf("%s's file afterwards: %q %v", who.name, got, err)
		}
		if got := list(t, c, who.session, supabase.ListFiles{Bucket: "documents", Folder: who.own}); got != "notes/ logo.png welcome.txt" {
			t.Errorf("%s sees %s", who.name, got)
		}
	}
}

func TestStorageOfAStandInProject(t *testing.T) {
	t.Parallel()
	p, c, alice, _ := startFiles(t)
	own := standin.AliceID + "/"
	for name, err := range map[string]error{
		"missing": second(read(t, c, alice, "documents", own+"nothing.txt")),
		"folder":  second(read(t, c, alice, "documents", standin.AliceID)),
	} {
		wantStorage(t, name, err, 404, "NoSuchKey")
	}
	_, err := read(t, c, alice, "nowhere", "x")
	wantStorage(t, "no bucket", err, 404, "NoSuchBucket")
	wantStorage(t, "no bucket to write", upload(t, c, alice, "nowhere", "x", "x", false), 404, "NoSuchBucket")
	if got := list(t, c, alice, supabase.ListFiles{Bucket: "nowhere"}); got != "" {
		t.Errorf("a bucket that is not there lists %s", got)
	}

	wantStorage(t, "again", upload(t, c, alice, "documents", own+"welcome.txt", "x", false), 409, "Duplicate")
	if err := upload(t, c, alice, "documents", own+"welcome.txt", "replaced", true); err != nil {
		t.Error(err)
	}
	if got, err := read(t, c, alice, "documents", own+"welcome.txt"); err != nil || string(got) != "replaced" {
		t.Errorf("%q %v", got, err)
	}
	if err := upload(t, c, alice, "box", "note", "ten bytes!", false); err != nil {
		t.Error(err)
	}
	_, err = read(t, c, alice, "box", "note")
	wantStorage(t, "may add and not read", err, 404, "NoSuchKey")
	wantStorage(t, "too large", upload(t, c, alice, "box", "large", "eleven byte", false), 413, "EntityTooLarge")
	_, err = c.UploadFile(t.Context(), alice, supabase.UploadFile{Bucket: "box", Path: "x", ContentType: "application/pdf"})
	wantStorage(t, "type", err, 415, "InvalidMimeType")

	expired, err := p.AccessToken(standin.AliceEmail, standin.TokenOptions{Lifetime: -time.Minute})
	if err != nil {
		t.Fatal(err)
	}
	for name, token := range map[string]string{"expired": expired, "forged": expired[:len(expired)-4] + "AAAA", "no token": "x"} {
		late := supabase.AsUser(supabase.Project{APIOrigin: p.URL(), PublishableKey: p.PublishableKey()}, seal.NewSecret(token))
		_, err := read(t, c, late, "documents", own+"welcome.txt")
		wantStorage(t, name, err, 403, "AccessDenied")
		var e *supabase.StorageError
		if !errors.As(err, &e) || !e.MaybeTokenRefused() {
			t.Errorf("%s: %v", name, err)
		}
	}
	wrong := supabase.AsAnon(supabase.Project{APIOrigin: p.URL(), PublishableKey: "sb_publishable_wrong"})
	_, err = read(t, c, wrong, "open", "a/b.txt")
	var e *supabase.StorageError
	if !errors.As(err, &e) || !e.Gateway || e.HTTP != 401 || e.Code != "UNAUTHORIZED_INVALID_API_KEY" || e.MaybeTokenRefused() {
		t.Errorf("wrong key: %+v", e)
	}
	// Names of every character that Storage takes arrive as they are.
	const odd = "a b/c&d?e;f+g,h!/(i)'*$@=:_-.txt"
	if err := upload(t, c, alice, "documents", own+odd, "odd", false); err != nil {
		t.Fatal(err)
	}
	if got, err := read(t, c, alice, "documents", own+odd); err != nil || string(got) != "odd" {
		t.Errorf("%q %v", got, err)
	}
	link, _, err := c.SignFile(t.Context(), alice, "documents", own+odd, time.Minute)
	if status, content := follow(t, link); err != nil || status != 200 || content != "odd" {
		t.Errorf("link %s: %d %q %v", link, status, content, err)
	}
	if status, content := follow(t, strings.Replace(link, "/a%20b/", "/other/", 1)); status != 400 || !strings.Contains(content, "InvalidSignature") {
		t.Errorf("a link to another file: %d %s", status, content)
	}
}

func second[T any](_ T, err error) error { return err }

func TestFoldersArePaged(t *testing.T) {
	t.Parallel()
	p, c, alice, _ := startFiles(t)
	own := standin.AliceID
	for i := range 5 {
		if err := p.PutFile(t.Context(), "documents", fmt.Sprintf("%s/n%d/x.txt", own, i), "text/plain", 1, func() io.Reader { return strings.NewReader("x") }); err != nil {
			t.Fatal(err)
		}
	}
	var pages []string
	for offset := 0; offset < 8; offset += 3 {
		pages = append(pages, list(t, c, alice, supabase.ListFiles{Bucket: "documents", Folder: own, Limit: 3, Offset: offset}))
	}
	if !slices.Equal(pages, []string{"n0/ n1/ n2/", "n3/ n4/ logo.png", "welcome.txt"}) {
		t.Errorf("%q", pages)
	}
	if got := list(t, c, alice, supabase.ListFiles{Bucket: "documents", Folder: own, Search: "WEL"}); got != "welcome.txt" {
		t.Errorf("search: %q", got)
	}
	files, _, err := c.ListFiles(t.Context(), alice, supabase.ListFiles{Bucket: "documents", Folder: own, Search: "welcome", Limit: 1})
	want := supabase.File{Name: "welcome.txt", Size: int64(len(standin.AliceWelcome)), MIMEType: "text/plain", Updated: time.Date(2026, 1, 1, 8, 0, 0, 0, time.UTC)}
	if err != nil || len(files) != 1 || files[0] != want {
		t.Errorf("%+v %v", files, err)
	}
}

// counted counts what is taken from it.
type counted struct{ taken *atomic.Int64 }

func (c counted) Read(p []byte) (int, error) {
	c.taken.Add(int64(len(p)))
	return len(p), nil
}

// TestAHundredMegabytesAreNotRead: neither here nor, beyond what is on its way,
// there; and what is cut off is an error.
func TestAHundredMegabytesAreNotRead(t *testing.T) {
	t.Parallel()
	const size = 100 << 20
	p, c, alice, _ := startFiles(t)
	var taken atomic.Int64
	path := standin.AliceID + "/film.bin"
	err := p.PutFile(t.Context(), "documents", path, "application/octet-stream", size, func() io.Reader { return counted{&taken} })
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range 20 {
		f, err := c.OpenFile(t.Context(), alice, "documents", path, 64<<10)
		if err != nil {
			t.Fatal(err)
		}
		if f.Size != size || f.ContentType != "application/octet-stream" {
			t.Errorf("%+v", f)
		}
		if n, err := f.Body.Read(make([]byte, 10)); n != 0 || !fault.Is(err, fault.TooLarge) || !errors.Is(err, egress.ErrTooLarge) {
			t.Errorf("read %d, %v", n, err)
		}
		_ = f.Body.Close()
		link, _, err := c.SignFile(t.Context(), alice, "documents", path, time.Minute)
		if err != nil || !strings.HasPrefix(link, p.URL()+"/storage/v1/object/sign/documents/"+path+"?token=") {
			t.Errorf("link %q %v", link, err)
		}
	}
	runtime.ReadMemStats(&after)
	if n := taken.Load(); n > 20*size/4 { // what connections hold on the way, no more
		t.Errorf("%d bytes were taken from the file", n)
	}
	if n := after.TotalAlloc - before.TotalAlloc; n > size {
		t.Errorf("%d bytes were allocated", n)
	}
	f, err := c.OpenFile(t.Context(), alice, "documents", path, size)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = f.Body.Close() }()
	if n, err := io.Copy(io.Discard, f.Body); n != size || err != nil {
		t.Errorf("read whole: %d, %v", n, err)
	}
}
