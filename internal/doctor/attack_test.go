package doctor_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/chumbo-dev/chumbo/internal/doctor"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// liar is a project that writes into its answers what no page, no terminal and
// no database should hold.
type liar struct {
	*world
	text string
}

func (l liar) Consent(context.Context, string, string) (supabase.Consent, error) {
	return supabase.Consent{ClientID: l.text, Refused: l.text}, nil
}

// TestWhatAProjectSaysOfItselfIsCutAndCleaned: findings are stored, shown and
// printed.
func TestWhatAProjectSaysOfItselfIsCutAndCleaned(t *testing.T) {
	t.Parallel()
	text := "\x00\x1b[2J\u202e\xff" + strings.Repeat("x", 100_000)
	w := hosted()
	meta := w.meta[hostedOrigin]
	meta.AuthorizationEndpoint, meta.RegistrationEndpoint, meta.Source = text, text, text
	meta.ScopesSupported = []string{"openid", text}
	w.meta[hostedOrigin] = meta
	var told []doctor.Finding
	result, err := doctor.Probe(t.Context(), liar{w, text}, doctor.ProbeInput{TypedURL: hostedOrigin, PublishableKey: publishable},
		func(f doctor.Finding) { told = append(told, f) })
	if err != nil {
		t.Fatal(err)
	}
	for _, findings := range [][]doctor.Finding{told, result.Findings} {
		raw, err := json.Marshal(findings)
		if err != nil {
			t.Fatal(err)
		}
		if len(raw) > 32<<10 {
			t.Errorf("%d bytes of findings", len(raw))
		}
		if strings.Contains(string(raw), `\u0000`) {
			t.Error("the findings hold NUL, which the database cannot keep")
		}
		for _, f := range findings {
			all := f.Summary + f.Detail + f.Fix
			for name, fact := range f.Facts {
				all += name + fact
			}
			if !utf8.ValidString(all) || strings.ContainsFunc(all, func(r rune) bool { return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) }) {
				t.Errorf("%s says %.100q", f.Check, all)
			}
		}
	}
}
