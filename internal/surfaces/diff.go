package surfaces

// ChangeClass says what a change means for clients that are connected.
type ChangeClass string

// The classes, mildest first.
const (
	ChangeSafe      ChangeClass = "safe"      // what worked works the same
	ChangeBehaviour ChangeClass = "behaviour" // what worked still works, and does or says something else
	ChangeBreaks    ChangeClass = "breaks"    // something a client relies on is gone or refused
	ChangeFirst     ChangeClass = "first"     // of a revision: nothing was published before
)

// Change is one difference between two revisions, in words.
type Change struct {
	Class      ChangeClass `json:"class"`
	Capability string      `json:"capability,omitempty"` // name of the tool; empty for the surface itself
	Summary    string      `json:"summary"`              // one line: "customers_list: argument status is required now"
}

// Diff lists what changed for clients, gravest first, then in the order of the
// surface file. A nil before is a first publication and has no changes.
func Diff(before, after *Compiled) []Change { panic("not built") }

// WorstChange is the gravest class among changes: ChangeSafe for none.
func WorstChange(changes []Change) ChangeClass { panic("not built") }

// Line is one line of a text diff.
type Line struct {
	Op   string `json:"op"`            // " ", "-" or "+"
	Old  int    `json:"old,omitempty"` // 1-based line number before; 0 for an added line
	New  int    `json:"new,omitempty"` // 1-based line number after; 0 for a removed one
	Text string `json:"text"`
}

// DiffLines is a line diff of two surface files with three lines of context;
// gaps are left out (line numbers jump).
func DiffLines(before, after string) []Line { panic("not built") }
