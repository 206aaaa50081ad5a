package surfaces

import (
	"slices"
	"testing"
)

func TestDiffClassesWhatDoorsAndRulesChange(t *testing.T) {
	t.Parallel()
	const base = "version: 1\ntitle: T\naccess: { mode: [oauth, api-key] }\nauthorizer: { rpc: chumbo_authorize }\ntools:\n  - rpc: greet\n"
	for name, c := range map[string]struct {
		edits       []string
		there, back []string
	}{
		"a rule for all": {[]string{"api-key] }", "api-key], visible: \"mode == 'bridge'\" }"},
			[]string{"breaks tools are shown only where a rule holds (visible)"}, []string{"safe tools are shown to everybody: the rule visible is gone"}},
		"a rule of a tool": {[]string{"rpc: greet\n", "rpc: greet\n    allow: { rule: \"mode == 'bridge'\", reason: No. }\n"},
			[]string{"breaks greet: calls are refused where a rule does not hold (allow)"}, []string{"safe greet: calls need no rule any more: allow is gone"}},
		"a permission": {[]string{"rpc: greet\n", "rpc: greet\n    permission: greet\n"},
			[]string{"breaks greet: the app is asked for the permission greet before it runs"}, []string{"safe greet: the app is no longer asked for a permission"}},
		"a second factor": {[]string{"api-key] }", "api-key], aal: aal2 }"},
			[]string{"breaks only sessions with a second factor (aal2) are admitted now"}, []string{"safe sessions without a second factor are admitted now"}},
		"roles of the app": {[]string{"api-key] }", "api-key], required_roles: [admin] }"},
			[]string{"breaks only callers whose app_metadata.role is admin are admitted now"}, []string{"safe callers are admitted whatever their app_metadata.role is"}},
		"keys of the app": {[]string{"api-key] }", "api-key], keys: { rpc: check_key } }"},
			[]string{"safe the app's own keys are checked by check_key now"}, []string{"breaks the app's own keys are refused now"}},
		"a mode": {[]string{", api-key] }", "] }"},
			[]string{"breaks access mode api-key is gone: keys of applications are refused"}, []string{"safe access mode api-key is new"}},
		"meta": {[]string{"rpc: greet\n", "rpc: greet\n    meta: 1\n"},
			[]string{"behaviour greet: its meta changed, which rules and the authorizer read"}, nil},
	} {
		before, after := mustBuild(t, base, loadSnapshot(t)), mustBuild(t, edited(t, base, c.edits...), loadSnapshot(t))
		if c.back == nil {
			c.back = c.there
		}
		if got := lines(Diff(before, after)); !slices.Equal(got, c.there) {
			t.Errorf("%s: %q, want %q", name, got, c.there)
		}
		if got := lines(Diff(after, before)); !slices.Equal(got, c.back) {
			t.Errorf("%s, back: %q, want %q", name, got, c.back)
		}
	}
}
