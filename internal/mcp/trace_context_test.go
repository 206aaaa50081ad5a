package mcp

import (
	"strings"
	"testing"
)

func TestTraceContextGoesOnWithAValidOne(t *testing.T) {
	t.Parallel()
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	for in, flags := range map[string]string{
		"00-" + trace + "-" + span + "-01": "01", "00-" + trace + "-" + span + "-00": "00", "01-" + trace + "-" + span + "-03-more": "03",
	} {
		parent, state := traceContext{parent: in, state: "vendor=a b,other@x=1"}.under("req")
		if !strings.HasPrefix(parent, "00-"+trace+"-") || !strings.HasSuffix(parent, "-"+flags) || strings.Contains(parent, span) || len(parent) != traceParentLength {
			t.Errorf("%s: %s", in, parent)
		}
		if state != "vendor=a b,other@x=1" {
			t.Errorf("state %q", state)
		}
	}
}

func TestTraceContextThatIsNoneIsTheRequestsOwn(t *testing.T) {
	t.Parallel()
	const trace, span = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
	own, _ := traceContext{}.under("req")
	other, _ := traceContext{}.under("other")
	if own[3:35] == other[3:35] {
		t.Error("two requests share a trace")
	}
	for _, in := range []string{
		"00-" + strings.Repeat("0", 32) + "-" + span + "-01", "00-" + trace + "-" + strings.Repeat("0", 16) + "-01", "ff-" + trace + "-" + span + "-01",
		"00-" + trace + "-" + span + "-01-more", "00-" + strings.ToUpper(trace) + "-" + span + "-01", "00-" + trace + "-" + span, "00-" + trace + "-" + span + "-0\n",
		"01-" + trace + "-" + span + "-01\r\nX: y", strings.Repeat("x", 1000),
	} {
		parent, state := traceContext{parent: in, state: "vendor=1"}.under("req")
		if parent[:35] != own[:35] || state != "" {
			t.Errorf("%q: %s %q", in, parent, state)
		}
	}
	for _, state := range []string{"a=b\r\nX: y", "=b", "a", "A=b", "a=", "a=b=c", strings.Repeat("a=b,", 40), "a=" + strings.Repeat("b", 600), "a=\x00"} {
		if _, got := (traceContext{parent: "00-" + trace + "-" + span + "-01", state: state}).under("req"); got != "" {
			t.Errorf("state %q passes", state)
		}
	}
}
