package surfaces

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
)

// MaxReason is the longest reason of an override, in characters.
const MaxReason = 500

// Override lets one serious finding pass, and says why. It is recorded with
// the revision and in the audit log.
type Override struct {
	Finding string `json:"finding"` // Finding.ID
	Reason  string `json:"reason"`  // 1 to MaxReason characters, one line
}

// RecordedOverride is an override as a revision keeps it.
type RecordedOverride struct {
	Override
	By string `json:"by"` // bld_… or tok_…
}

// keyShaped is any key or token of a Supabase project: a reason is kept and
// shown, so it holds none, publishable ones included.
var keyShaped = regexp.MustCompile(`(?i)sb_(secret|publishable)_|\bsbp_|\bch[tkp]_|eyJ[a-z0-9_-]*\.[a-z0-9_-]+`)

// checkReasons refuses overrides that say nothing, or too much.
func checkReasons(overrides []Override) error {
	var issues []fault.Issue
	seen := map[string]bool{}
	for i, o := range overrides {
		path := fmt.Sprintf("overrides[%d].reason", i)
		_, forbidden := firstForbidden(o.Reason, true)
		switch reason := strings.TrimSpace(o.Reason); {
		case seen[o.Finding]:
			issues = append(issues, fault.Issue{Path: fmt.Sprintf("overrides[%d].finding", i), Message: "the same finding is overridden twice"})
		case reason == "":
			issues = append(issues, fault.Issue{Path: path, Message: "say why the finding may pass"})
		case utf8.RuneCountInString(o.Reason) > MaxReason:
			issues = append(issues, fault.Issue{Path: path, Message: fmt.Sprintf("at most %d characters", MaxReason)})
		case forbidden:
			issues = append(issues, fault.Issue{Path: path, Message: "one line of plain text"})
		case keyShaped.MatchString(o.Reason):
			issues = append(issues, fault.Issue{Path: path, Message: "holds a key or token, which must never be typed here: revoke it if it is secret"})
		}
		seen[o.Finding] = true
	}
	if len(issues) == 0 {
		return nil
	}
	return fault.New(fault.Invalid, "override_reason", "Nothing was published: each override needs a finding and a reason of 1 to %d characters on one line, without keys.", MaxReason).WithIssues(issues...)
}

// settle holds overrides against the findings that stop a publication: each
// needs one, and none may name anything else.
func settle(blocking []Finding, overrides []Override, by events.Actor) ([]RecordedOverride, error) {
	recorded := []RecordedOverride{}
	var missing, unknown []fault.Issue
	for _, f := range blocking {
		i := slices.IndexFunc(overrides, func(o Override) bool { return o.Finding == f.ID })
		if i < 0 {
			missing = append(missing, fault.Issue{Path: f.ID, Message: withFix(f)})
			continue
		}
		recorded = append(recorded, RecordedOverride{Override: Override{Finding: f.ID, Reason: strings.TrimSpace(overrides[i].Reason)}, By: by.String()})
	}
	for i, o := range overrides {
		if !slices.ContainsFunc(blocking, func(f Finding) bool { return f.ID == o.Finding }) {
			unknown = append(unknown, fault.Issue{Path: fmt.Sprintf("overrides[%d].finding", i), Message: quoteName(clean(o.Finding)) + " is no serious finding about what this file uses"})
		}
	}
	switch {
	case len(missing) > 0:
		return nil, fault.New(fault.Unprocessable, "override_needed",
			"Nothing was published: %s about what the file uses. Run the SQL below, import the schema again and publish; or override each with a reason, which is recorded.",
			plural(len(missing), "serious finding")).WithIssues(append(missing, unknown...)...)
	case len(unknown) > 0:
		return nil, fault.New(fault.Unprocessable, "override_unknown",
			"Nothing was published: an override names no finding that stops this file. Leave it out, or plan again to see the findings.").WithIssues(unknown...)
	}
	return recorded, nil
}

// withFix is a finding in words, with its SQL.
func withFix(f Finding) string {
	if f.SQL == "" {
		return f.Summary
	}
	return f.Summary + " Fix: " + f.SQL
}

// risks finds what is risky about what a compiled file uses, and which of it
// stops publishing.
func risks(snap *Snapshot, c *Compiled) (findings, blocking []Finding) {
	if snap == nil || c == nil {
		return nil, nil
	}
	for _, f := range Posture(snap, []*Compiled{c}) {
		if !f.Used {
			continue
		}
		findings = append(findings, f)
		if f.Severity == FindingSerious {
			blocking = append(blocking, f)
		}
	}
	return findings, blocking
}
