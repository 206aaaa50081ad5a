package surfaces

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

const hostileHead = "version: 1\ntitle: T\naccess: { mode: oauth, authorization: direct }\ntools:\n"

// TestFilesMadeToCostAreRefusedSoon: a file of 256 KiB holds tens of thousands
// of mistakes, and each has a sentence and a search for the nearest name.
func TestFilesMadeToCostAreRefusedSoon(t *testing.T) {
	t.Parallel()
	numbered := func(format string, n int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	for name, file := range map[string]string{
		"unknown keys at the root":  numbered("unknown_key_%d: 1\n", 12_000),
		"unknown keys of a tool":    hostileHead + "  - {" + numbered("unknown_key_%d: 1, ", 12_000) + "}\n",
		"repeated keys":             strings.Repeat("a: 1\n", 50_000),
		"aliases of aliases":        "a0: &a0 [x]\n" + numbered("a: [*a0,*a0,*a0,*a0,*a0,*a0] # %d\n", 4_000),
		"flow nested without end":   strings.Repeat("[", 250_000),
		"blocks nested without end": strings.Repeat("- ", 120_000),
		"documents":                 strings.Repeat("---\n", 60_000),
		"tags":                      strings.Repeat("! ", 120_000),
	} {
		begun := time.Now()
		_, problems := Parse([]byte(file))
		if took := time.Since(begun); took > 10*time.Second {
			t.Errorf("%s took %s", name, took)
		}
		if !HasErrors(problems) || len(problems) > maxProblems+1 {
			t.Errorf("%s: %d problems", name, len(problems))
		}
	}
}

// TestRulesMadeToCostAreRefusedOrCompiledSoon: a file of 256 KiB holds about a
// hundred rules of the largest size, each of its own.
func TestRulesMadeToCostAreRefusedOrCompiledSoon(t *testing.T) {
	t.Parallel()
	for name, part := range map[string]string{
		"names": "claims.a==1||", "lists": "[1]==[2]||", "macros": "[1].all(x,x==1)||", "text": "claims.a.matches('a*b*')||", "no rule": "claims.a==||",
	} {
		var b strings.Builder
		b.WriteString(hostileHead)
		for i := 0; b.Len() < MaxFileBytes/3; i++ {
			fmt.Fprintf(&b, "  - { rpc: greet, tool: t%d, title: T%d, description: D%d., visible: %q }\n", i, i, i, strings.Repeat(part, 1900/len(part))+fmt.Sprintf("claims.b==%d", i))
		}
		built := Build([]byte(b.String()), loadSnapshot(t), known())
		if !HasErrors(built.Problems) || len(built.Problems) > maxProblems+1 {
			t.Errorf("%s: %d problems", name, len(built.Problems))
		}
	}
}

// TestWritesMadeToCostAreRefusedSoon: each column of write and set is held
// against the others.
func TestWritesMadeToCostAreRefusedSoon(t *testing.T) {
	t.Parallel()
	var write, set strings.Builder
	for i := range 5_000 {
		fmt.Fprintf(&write, "w%d: , ", i)
		fmt.Fprintf(&set, "s%d: claims.a, ", i)
	}
	begun := time.Now()
	built := Build(writeFile("table: customers, operations: [create, update], columns: [id, name], write: {"+write.String()+"}, set: {"+set.String()+"}"), loadSnapshot(t), known())
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
	if !HasErrors(built.Problems) || len(built.Problems) > maxProblems+1 {
		t.Errorf("%d problems", len(built.Problems))
	}
}

func TestOfTooManyProblemsTheErrorsComeFirst(t *testing.T) {
	t.Parallel()
	r := &report{}
	for i := range 2 * maxProblems {
		r.warnf(place{line: i + 1}, "warning")
	}
	r.errorf(place{line: 3 * maxProblems}, "error")
	if list := r.sorted(); len(list) != maxProblems || !HasErrors(list) {
		t.Fatalf("%d problems, errors %v", len(list), HasErrors(list))
	}
	for i := range 2 * maxProblems {
		r.errorf(place{line: 4*maxProblems + i}, "error")
	}
	list := r.sorted()
	if last := list[len(list)-1]; len(list) != maxProblems+1 || last.Message != "501 more errors are not listed: mend these first" {
		t.Fatalf("%d problems, the last: %s", len(list), last)
	}
}

// TestSnapshotWithTextPostgresCannotKeepIsRefused: JSON can say NUL, and no
// text of Postgres can hold it.
func TestSnapshotWithTextPostgresCannotKeepIsRefused(t *testing.T) {
	t.Parallel()
	for text, refused := range map[string]bool{`a\u0000b`: true, `\\\u0000`: true, `\\u0000`: false, `plain`: false} {
		snapshot := `{"format":"chumbo.schema/1","postgres":"15","max_rows":1000,"schemas":[{"name":"public","usage":[]}],
			"relations":[{"schema":"public","name":"t","kind":"table","comment":"` + text + `"}]}`
		if _, err := ParseSnapshot([]byte(snapshot)); fault.Is(err, fault.Invalid) != refused {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestLongKeyIsNotRepeatedForEveryProblemBelowIt: the path of each would hold
// it whole, gigabytes in all.
func TestLongKeyIsNotRepeatedForEveryProblemBelowIt(t *testing.T) {
	t.Parallel()
	_, problems := Parse([]byte(strings.Repeat("k", 20_000) + ":\n" + strings.Repeat("  a: 1\n", 400)))
	size := 0
	for _, p := range problems {
		size += len(p.Path)
	}
	if len(problems) < 100 || size > 100_000 {
		t.Fatalf("%d problems with %d bytes of paths", len(problems), size)
	}
}

// TestNoRuleIsLeftOutInSilence: what its author wrote to close a tool closes
// it, or stops the file.
func TestNoRuleIsLeftOutInSilence(t *testing.T) {
	t.Parallel()
	for _, keys := range []string{
		"visible: {}", "permission: {}", "aal: {}", "scopes: {}", "allow: {}", "allow: []", "visible: ~", "visible: ''", "visible: { get: 'false' }",
		"visible: { list: }", "visible: { List: 'false' }", "Visible: 'false'", "allow: { list: 'true', rule: 'true' }", "allow: { list: {} }", "privileged: true",
		"aal: AAL2", "aal: aal1", "aal: { list: [aal2] }", "visible: [ 'false' ]", "allow: { reason: No. }", "visible: 'true', visible: 'false'",
	} {
		c, problems := Compile([]byte("version: 1\ntitle: T\naccess: { mode: oauth }\nauthorizer: { rpc: nope }\ntools:\n  - { table: customers, columns: [id], operations: [list], "+keys+" }\n"), loadSnapshot(t), known())
		said := false
		for _, p := range problems {
			said = said || p.Severity == SeverityError && p.Line == 6
		}
		if c != nil || !said {
			t.Errorf("%s: compiled %t, %v", keys, c != nil, problems)
		}
	}
}
