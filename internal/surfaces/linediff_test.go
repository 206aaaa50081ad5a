package surfaces

import (
	"fmt"
	"strings"
	"testing"
)

func shownLines(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		fmt.Fprintf(&b, "%s%d,%d %s\n", l.Op, l.Old, l.New, l.Text)
	}
	return b.String()
}

func TestDiffLinesNumbersBothSidesAndLeavesGapsOut(t *testing.T) {
	t.Parallel()
	var before []string
	for i := 1; i <= 30; i++ {
		before = append(before, fmt.Sprintf("line %d", i))
	}
	after := append([]string{}, before...)
	after[1] = "two"
	after = append(after[:20], after[21:]...)
	got := shownLines(DiffLines(strings.Join(before, "\n")+"\n", strings.Join(after, "\n")+"\n"))
	want := ` 1,1 line 1
-2,0 line 2
+0,2 two
 3,3 line 3
 4,4 line 4
 5,5 line 5
 18,18 line 18
 19,19 line 19
 20,20 line 20
-21,0 line 21
 22,21 line 22
 23,22 line 23
 24,23 line 24
`
	if got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

func TestDiffLinesOfNothingAndOfLineEndings(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ before, after, want string }{
		"the same":               {"a\nb\n", "a\nb\n", ""},
		"no last newline":        {"a\nb", "a\nb\n", ""},
		"other line ends":        {"a\r\nb\r\n", "a\nb\n", ""},
		"a new file":             {"", "a\n\nb", "+0,1 a\n+0,2 \n+0,3 b\n"},
		"an emptied file":        {"a\n", "", "-1,0 a\n"},
		"lines like a diff's":    {"--- a\n@@ -1,9 +1,9 @@\n", "+++ b\n@@ -1,9 +1,9 @@\n", "-1,0 --- a\n+0,1 +++ b\n 2,2 @@ -1,9 +1,9 @@\n"},
		"a line before":          {"b\n", "a\nb\n", "+0,1 a\n 1,2 b\n"},
		"a backslash of its own": {"\\ No newline\n", "x\n", "-1,0 \\ No newline\n+0,1 x\n"},
	} {
		if got := shownLines(DiffLines(c.before, c.after)); got != c.want {
			t.Errorf("%s: got\n%swant\n%s", name, got, c.want)
		}
	}
}

// FuzzDiffLines checks that the lines kept and added are lines of the file
// after, by their numbers, and likewise before.
func FuzzDiffLines(f *testing.F) {
	f.Add("a\nb\nc\n", "a\nc\nd")
	f.Add("", "x")
	f.Fuzz(func(t *testing.T, before, after string) {
		old, now := strings.Split(string(plainLines(before)), "\n"), strings.Split(string(plainLines(after)), "\n")
		for _, l := range DiffLines(before, after) {
			if l.Op != "+" && old[l.Old-1] != l.Text || l.Op != "-" && now[l.New-1] != l.Text {
				t.Fatalf("line %+v is not there", l)
			}
		}
	})
}
