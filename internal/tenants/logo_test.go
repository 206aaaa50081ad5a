package tenants_test

import (
	"bytes"
	"image"
	"image/color"
	"image/gif"
	"image/png"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// picture is a PNG with a comment that must not survive.
func picture(t *testing.T, w, h int) []byte {
	t.Helper()
	img := image.NewNRGBA(image.Rect(0, 0, w, h))
	img.Set(0, 0, color.NRGBA{R: 255, A: 255})
	var b bytes.Buffer
	if err := png.Encode(&b, img); err != nil {
		t.Fatal(err)
	}
	return append(b.Bytes(), "<script>alert(1)</script>"...)
}

// TestAttack_AnSVGLogoIsNeverServed: it could run scripts on our origin.
func TestAttack_AnSVGLogoIsNeverServed(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.project(t, b.alice, "acme-crm", facts())
	for name, sent := range map[string]string{
		"svg":             `<svg xmlns="http://www.w3.org/2000/svg" onload="alert(1)"/>`,
		"svg after bytes": "\xef\xbb\xbf<?xml version=\"1.0\"?><svg xmlns=\"http://www.w3.org/2000/svg\"/>",
		"html":            "<!doctype html><script>alert(1)</script>",
		"nothing":         "",
		"cut png":         string(picture(t, 8, 8)[:40]),
	} {
		if _, err := b.service.SetLogo(t.Context(), b.alice, "acme-crm", []byte(sent)); !fault.Is(err, fault.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if p, err := b.service.Project(t.Context(), b.alice, "acme-crm"); err != nil || p.Logo != "" {
		t.Errorf("something was kept: %q, %v", p.Logo, err)
	}
}

func TestLogoIsKeptAsASmallPNGOfOurOwn(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.project(t, b.alice, "acme-crm", facts())
	var animated bytes.Buffer
	frame := image.NewPaletted(image.Rect(0, 0, 600, 300), color.Palette{color.Black, color.White})
	if err := gif.Encode(&animated, frame, nil); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		sent []byte
		w, h int
	}{"small png": {picture(t, 40, 20), 40, 20}, "large png": {picture(t, 1000, 500), 256, 128}, "gif": {animated.Bytes(), 256, 128}} {
		p, err := b.service.SetLogo(t.Context(), b.alice, "acme-crm", c.sent)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		kept, err := b.service.Logo(t.Context(), p.Logo)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		config, format, err := image.DecodeConfig(bytes.NewReader(kept))
		if err != nil || format != "png" || config.Width != c.w || config.Height != c.h {
			t.Errorf("%s: kept %s %dx%d, %v", name, format, config.Width, config.Height, err)
		}
		if bytes.Contains(kept, []byte("script")) {
			t.Errorf("%s: what stood behind the picture was kept", name)
		}
	}
	if _, err := b.service.SetLogo(t.Context(), b.alice, "acme-crm", picture(t, 2049, 1)); !fault.Is(err, fault.Invalid) {
		t.Errorf("too wide: %v", err)
	}
	if _, err := b.service.SetLogo(t.Context(), b.alice, "acme-crm", make([]byte, tenants.MaxLogoBytes+1)); !fault.Is(err, fault.TooLarge) {
		t.Errorf("too many bytes: %v", err)
	}
	gone, err := b.service.RemoveLogo(t.Context(), b.alice, "acme-crm")
	if err != nil || gone.Logo != "" {
		t.Errorf("removed: %q, %v", gone.Logo, err)
	}
}

func TestLogoIsChangedByItsOrganizationOnly(t *testing.T) {
	t.Parallel()
	b := setup(t, tenants.Hosts{})
	b.project(t, b.alice, "acme-crm", facts())
	if _, err := b.service.SetLogo(t.Context(), b.bob, "acme-crm", picture(t, 8, 8)); !fault.Is(err, fault.NotFound) {
		t.Errorf("bob sets alice's: %v", err)
	}
	p, err := b.service.SetLogo(t.Context(), b.alice, "acme-crm", picture(t, 8, 8))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.service.RemoveLogo(t.Context(), b.bob, "acme-crm"); !fault.Is(err, fault.NotFound) {
		t.Errorf("bob removes alice's: %v", err)
	}
	viewer := b.alice
	viewer.Role = tenants.RoleViewer
	if _, err := b.service.RemoveLogo(t.Context(), viewer, "acme-crm"); !fault.Is(err, fault.Forbidden) {
		t.Errorf("a viewer removes it: %v", err)
	}
	if err := b.service.DeleteProject(t.Context(), b.alice, "acme-crm", "acme-crm"); err != nil {
		t.Fatal(err)
	}
	for _, digest := range []string{p.Logo, strings.Repeat("0", 64), "../../etc/passwd", ""} {
		if _, err := b.service.Logo(t.Context(), digest); !fault.Is(err, fault.NotFound) {
			t.Errorf("%q: %v", digest, err)
		}
	}
}
