package dashboard_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"mime/multipart"
	"net/http"
	"strings"
	"testing"
)

// upload sends a picture as the form does.
func (b *browser) upload(path, csrf string, picture []byte, more ...string) answer {
	b.t.Helper()
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	for field, values := range formOf(append(more, "csrf", csrf)...) {
		if err := form.WriteField(field, values[0]); err != nil {
			b.t.Fatal(err)
		}
	}
	part, err := form.CreateFormFile("picture", "logo.png")
	if err != nil {
		b.t.Fatal(err)
	}
	if _, err := part.Write(picture); err != nil {
		b.t.Fatal(err)
	}
	if err := form.Close(); err != nil {
		b.t.Fatal(err)
	}
	return b.send(http.MethodPost, path, nil, func(r *http.Request) {
		r.Header.Set("Content-Type", form.FormDataContentType())
		r.Body, r.ContentLength = io.NopCloser(&body), int64(body.Len())
	})
}

func TestLogoIsUploadedShownAndRemoved(t *testing.T) {
	t.Parallel()
	w, alice, _ := acme(t)
	const settings = "/app/projects/acme-crm/settings"
	pixel, err := base64.StdEncoding.DecodeString("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==")
	if err != nil {
		t.Fatal(err)
	}
	if a := alice.upload(settings+"/logo", "", pixel); a.status != http.StatusForbidden {
		t.Errorf("without the session's value: %d", a.status)
	}
	bob := w.bob(t)
	if a := bob.upload(settings+"/logo", bob.csrf(), pixel); a.status != http.StatusNotFound {
		t.Errorf("bob: %d", a.status)
	}
	for name, sent := range map[string][]byte{"svg": []byte(`<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`), "too large": make([]byte, 1<<20+1)} {
		if a := alice.upload(settings+"/logo", alice.csrf(), sent); a.status < 400 || a.status > 499 || strings.Contains(a.body, "onload") {
			t.Errorf("%s: %d", name, a.status)
		}
	}
	if a := alice.upload(settings+"/logo", alice.csrf(), pixel, "note", w.project.SecretKey()); a.status != http.StatusBadRequest || strings.Contains(a.body, w.project.SecretKey()) {
		t.Errorf("a secret key beside the picture: %d", a.status)
	}
	if page := alice.open(settings).body; strings.Contains(page, "/static/logo/") {
		t.Error("something refused was kept")
	}
	if a := alice.upload(settings+"/logo", alice.csrf(), pixel); a.status != http.StatusSeeOther {
		t.Fatalf("upload: %d %s", a.status, textOf(a.body))
	}
	if page := alice.open(settings).body; !strings.Contains(page, `src="/static/logo/`) {
		t.Error("the page does not show it")
	}
	alice.submit(settings + "/logo/remove")
	if strings.Contains(alice.page, `src="/static/logo/`) || !strings.Contains(textOf(alice.page), "The logo is gone.") {
		t.Errorf("removed: %s", textOf(alice.page))
	}
}
