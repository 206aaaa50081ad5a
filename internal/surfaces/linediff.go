package surfaces

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/rogpeppe/go-internal/diff"
)

// Line is one line of a text diff.
type Line struct {
	Op   string `json:"op"`            // " ", "-" or "+"
	Old  int    `json:"old,omitempty"` // 1-based line number before; 0 for an added line
	New  int    `json:"new,omitempty"` // 1-based line number after; 0 for a removed one
	Text string `json:"text"`
}

// DiffLines is a line diff of two surface files with three lines of context;
// gaps are left out (line numbers jump). How a line ends makes no difference.
func DiffLines(before, after string) []Line {
	var lines []Line
	old, now := 0, 0
	for line := range strings.Lines(string(diff.Diff("a", plainLines(before), "b", plainLines(after)))) {
		line = strings.TrimSuffix(line, "\n")
		if old == 0 && now == 0 || strings.HasPrefix(line, "@@ ") {
			old, now = hunk(line, old, now)
			continue
		}
		l := Line{Op: line[:1], Text: line[1:]}
		if l.Op != "+" {
			l.Old = old
			old++
		}
		if l.Op != "-" {
			l.New = now
			now++
		}
		lines = append(lines, l)
	}
	return lines
}

// hunk reads where a part of the diff begins. Before the first one there are
// names only; an empty side begins at line 0 and has no lines.
func hunk(line string, old, now int) (int, int) {
	var x, y, nx, ny int
	if _, err := fmt.Sscanf(line, "@@ -%d,%d +%d,%d @@", &x, &nx, &y, &ny); err != nil {
		return old, now
	}
	return max(x, 1), max(y, 1)
}

// plainLines ends every line by one newline, the last one too.
func plainLines(s string) []byte {
	b := bytes.ReplaceAll([]byte(s), []byte("\r\n"), []byte("\n"))
	if len(b) > 0 && b[len(b)-1] != '\n' {
		b = append(b, '\n')
	}
	return b
}
