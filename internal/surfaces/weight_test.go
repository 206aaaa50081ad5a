package surfaces

import (
	"strings"
	"testing"
)

func TestWeightGrowsWithWhatAClientReads(t *testing.T) {
	t.Parallel()
	tool := mustBuild(t, diffFile, loadSnapshot(t)).Tools[0]
	base := Weight(&tool)
	if size := len(tool.Name) + len(tool.Description) + len(tool.Input) + len(tool.Output); base < size/4 || base > size/4+20 {
		t.Errorf("%d tokens for %d bytes", base, size)
	}
	more := tool
	more.Description += strings.Repeat("x", 400)
	if got := Weight(&more); got != base+100 {
		t.Errorf("400 bytes more weigh %d tokens", got-base)
	}
	same := tool
	same.Guidance.Before, same.Budget = "Not listed.", 1
	if Weight(&same) != base {
		t.Error("what is not listed weighs something")
	}
}
