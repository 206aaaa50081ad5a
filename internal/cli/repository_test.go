package cli

import "testing"

func TestSlugsAreProposedFromProjectIDs(t *testing.T) {
	t.Parallel()
	for projectID, want := range map[string]string{
		"Acme_CRM": "acme-crm", "acme": "acme", "--Acme!!": "acme", "ab": "", "42-things": "", "": "", "日本": "",
	} {
		if got := slugOf(projectID); got != want {
			t.Errorf("slugOf(%q) is %q, want %q", projectID, got, want)
		}
	}
}

func TestShownTextCannotDriveATerminal(t *testing.T) {
	t.Parallel()
	if got := plain("a\x1b[2Jb\u202ec\u009bd\te\n"); got != "a[2Jbcd\te\n" {
		t.Errorf("got %q", got)
	}
}
