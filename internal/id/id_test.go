package id

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestIDsRoundTripInTheirShownForm(t *testing.T) {
	t.Parallel()
	project := New[ProjectKind]()
	if !strings.HasPrefix(project.String(), "prj_") || len(project.String()) != len("prj_")+32 {
		t.Fatalf("shown form: %s", project)
	}
	for _, text := range []string{project.String(), project.UUID().String()} {
		got, err := Parse[ProjectKind](text)
		if err != nil || got != project {
			t.Errorf("parse %s: %v %v", text, got, err)
		}
	}
	b, err := json.Marshal(map[string]Project{"id": project})
	if err != nil {
		t.Fatal(err)
	}
	var back map[string]Project
	if err := json.Unmarshal(b, &back); err != nil || back["id"] != project {
		t.Errorf("JSON round trip of %s: %v %v", b, back, err)
	}
}

func TestIDsOfOneKindAreNotThoseOfAnother(t *testing.T) {
	t.Parallel()
	for _, text := range []string{New[SurfaceKind]().String(), "prj_", "prj_zz", "", "prj"} {
		if _, err := Parse[ProjectKind](text); err == nil {
			t.Errorf("%q is taken as a project's id", text)
		}
	}
}

func TestIDsScanFromTheDatabase(t *testing.T) {
	t.Parallel()
	want := New[OrganizationKind]()
	value, err := want.Value()
	if err != nil {
		t.Fatal(err)
	}
	var got Organization
	if err := got.Scan(value); err != nil || got != want {
		t.Fatalf("scan: %v %v", got, err)
	}
	if err := got.Scan("nonsense"); err == nil {
		t.Fatal("nonsense is scanned")
	}
}
