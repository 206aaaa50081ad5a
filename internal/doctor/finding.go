package doctor

import (
	"strings"
	"unicode"
)

// Status is the grade of a finding.
type Status string

// The grades. Warn leaves the thing usable; Fail does not; Skip means that an
// earlier failure left nothing to look at.
const (
	Pass Status = "pass"
	Warn Status = "warn"
	Fail Status = "fail"
	Skip Status = "skip"
)

// Check names one thing that is looked at. IDs are stable; titles are for
// people.
type Check struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Finding is what one check found. Summary is one sentence; Detail says what
// was seen; Fix is the exact next step and is set for every Warn and Fail.
type Finding struct {
	Check   string            `json:"check"`
	Title   string            `json:"title"`
	Status  Status            `json:"status"`
	Summary string            `json:"summary"`
	Detail  string            `json:"detail,omitempty"`
	Fix     string            `json:"fix,omitempty"`
	Facts   map[string]string `json:"facts,omitempty"`
}

// maxText bounds each text of a finding, in characters.
const maxText = 600

// plain is the finding as it may be stored, shown and printed: much of it was
// written by the project.
func (f Finding) plain() Finding {
	f.Summary, f.Detail, f.Fix = plain(f.Summary), plain(f.Detail), plain(f.Fix)
	for name, fact := range f.Facts {
		f.Facts[name] = plain(fact)
	}
	return f
}

func plain(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return -1
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	if runes := []rune(text); len(runes) > maxText {
		text = string(runes[:maxText]) + "…"
	}
	return text
}

// Worst is the gravest grade among the findings: Fail, then Warn, then Pass.
// Skipped checks do not count.
func Worst(findings []Finding) Status {
	worst := Pass
	for _, f := range findings {
		if f.Status == Fail {
			return Fail
		}
		if f.Status == Warn {
			worst = Warn
		}
	}
	return worst
}
