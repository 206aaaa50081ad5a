package mcp

import (
	"strings"
	"testing"
)

// TestAPageThatIsExactlyFullIsTheLast: there is more only where the project
// sent a row more, and a page of nothing never leads on.
func TestAPageThatIsExactlyFullIsTheLast(t *testing.T) {
	t.Parallel()
	for limit, more := range map[string]bool{"1": true, "2": true, "3": false, "4": false} {
		got := runTool(t, newTestRunner(t, answering(threeRows)), runCall(), listTool(), `{"limit":`+limit+`}`)
		l := got.list(t)
		if *l.HasMore != more || (l.NextCursor != nil) != more || (l.NextCall != nil) != more || strings.Contains(got.text, "no more.") == more {
			t.Errorf("limit %s of 3 rows: more %t, %s", limit, *l.HasMore, got.text)
		}
	}
	for _, limit := range []string{"1", "100"} {
		if l := runTool(t, newTestRunner(t, answering(`[]`)), runCall(), listTool(), `{"limit":`+limit+`}`).list(t); *l.HasMore || l.NextCursor != nil {
			t.Errorf("an empty page leads on: %+v", l)
		}
	}
}
