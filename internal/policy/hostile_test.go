package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"
)

func sumOf(n int, leaf string) string {
	if n == 1 {
		return leaf
	}
	return "(" + sumOf(n/2, leaf) + "+" + sumOf(n-n/2, leaf) + ")"
}

// TestNoSingleStepOfARuleTakesLong: what is priced after it ran has run, and
// nothing interrupts it. Sums of lists, patterns over long texts and zones of
// time took minutes.
func TestNoSingleStepOfARuleTakesLong(t *testing.T) {
	t.Parallel()
	numbers := Input{Arguments: json.RawMessage(`{"l":` + list(500_000) + `}`)}
	text := Input{Arguments: json.RawMessage(`{"s":"` + strings.Repeat("ab", 500_000) + `"}`)}
	zones := Input{Arguments: json.RawMessage(`{"l":["` + strings.Repeat(`A/B","`, 2000) + `"]}`)}
	for name, c := range map[string]struct {
		rule string
		in   Input
	}{
		"sums compared":        {sumOf(90, "args.l") + " == " + sumOf(90, "args.l"), numbers},
		"small sums compared":  {"args.l + args.l == args.l + args.l", numbers},
		"sums searched":        {"!(2 in " + sumOf(180, "args.l") + ")", numbers},
		"a pattern":            {`!args.s.matches('[ab]{0,140}c$')`, text},
		"a pattern, as a call": {`!matches(args.s, '[ab]{0,140}c$')`, text},
		"many patterns":        {`!(args.s.matches('[ab]{0,140}c$') || args.s.matches('[ab]{0,140}d$'))`, text},
		"zones":                {`args.l.all(x, args.l.all(y, !(now.getHours(y) >= 0) || true))`, zones},
		"zones by offset":      {`args.l.all(x, args.l.all(y, now.getHours("+02:00") >= 0))`, zones},
	} {
		f := Read(c.in)
		if _, err := f.args.object(); err != nil {
			t.Fatal(err)
		}
		begun := time.Now()
		ok, err := mustCompile(t, Allow, c.rule).Holds(t.Context(), f, nil)
		if took := time.Since(begun); ok || err == nil || took > 30*time.Second { // minutes, where steps are not counted
			t.Errorf("%s: %v, %v after %s", name, ok, err, took)
		}
	}
}

// TestWhoCallsChoosesNoPattern: compiling one is work of its own, and how much
// is nothing that a rule could bound.
func TestWhoCallsChoosesNoPattern(t *testing.T) {
	t.Parallel()
	for _, rule := range []string{
		`"x".matches(args.p)`, `args.p.matches(tool.meta.p)`, `matches("x", context.p)`, `"x".matches("a" + "b")`, `["a"].exists(p, "x".matches(p))`,
		`"x".matches(true ? "a" : "b")`, `"x".matches('` + strings.Repeat(`\\pL`, 40) + `')`, strings.Repeat(`"x".matches('\\pL')||`, 40) + "true",
	} {
		var e *Error
		if _, err := Compile(Allow, rule); !errors.As(err, &e) || e.Column == 0 || !strings.Contains(e.Message, "pattern") {
			t.Errorf("%.60s: %v", rule, err)
		}
	}
	for _, rule := range []string{`"Ada".matches('^[\\pL .-]+$')`, `matches("Ada", "^A")`, `"x".matches("")`} {
		if ok, err := mustCompile(t, Allow, rule).Holds(t.Context(), Read(aliceInput()), nil); !ok || err != nil {
			t.Errorf("%s: %v, %v", rule, ok, err)
		}
	}
}

// TestListsAreStillReadAndCollected: what bounds the sums of lists must not
// count what map and filter collect.
func TestListsAreStillReadAndCollected(t *testing.T) {
	t.Parallel()
	in := Input{Arguments: json.RawMessage(`{"l":` + list(100_000) + `}`)}
	for _, rule := range []string{`args.l.filter(x, x == 1).size() == 100000`, `args.l.map(x, x).size() == 100000`, `2 in args.l + [2]`, `size(args.l + args.l) == 200000`} {
		if ok, err := mustCompile(t, Allow, rule).Holds(t.Context(), Read(in), nil); !ok || err != nil {
			t.Errorf("%s: %v, %v", rule, ok, err)
		}
	}
}

// TestNumbersThatADoubleCannotTellApartAreNotTheSame: 2^53 and 2^53+1.
func TestNumbersThatADoubleCannotTellApartAreNotTheSame(t *testing.T) {
	t.Parallel()
	r := mustCompile(t, Allow, `args.id == 9007199254740992`)
	for text, want := range map[string]bool{`9007199254740992`: true, `9007199254740993`: false, `9007199254740993.0`: false, `-9007199254740993.0`: false, `9.007199254740993e15`: false, `9.007199254740992e15`: true,
		`90071992547409920e-1`: true, `9007199254740992.` + strings.Repeat("0", 500): false} {
		ok, err := r.Holds(t.Context(), Read(Input{Arguments: json.RawMessage(`{"id":` + text + `}`)}), nil)
		if ok != want || err != nil && len(text) < maxExactText {
			t.Errorf("%.30s: %v, %v", text, ok, err)
		}
	}
}

// TestRulesWeighHonestly: caches are bounded by what rules say they hold.
func TestRulesWeighHonestly(t *testing.T) { // not parallel: it measures memory
	for _, part := range []string{
		`claims.a==1||`, `[1].all(x,x==1)||`, `claims.a.b.c.d||`, `now<now||`, `claims.a.matches('(a|b){30}')||`, `claims.a.matches('^[a-z0-9._%+-]+@example[.]test$')||`,
		`claims.a.matches('^\\pL+$')||claims.b.matches('^[\\pL\\pN]+$')||`, `{'':''}=={}||`,
	} {
		n := 1800 / len(part)
		if strings.Contains(part, `\\p`) {
			n = 2
		}
		const rules = 20
		keep := make([]*Rule, 0, rules)
		said := 0
		before := heap()
		for i := range rules {
			r := mustCompile(t, Allow, strings.Repeat(part, n)+fmt.Sprintf("%d==0", i))
			said += r.Bytes()
			keep = append(keep, r)
		}
		if held := heap() - before; held > said {
			t.Errorf("%.40s holds %d bytes, and says %d", part, held/rules, said/rules)
		}
		runtime.KeepAlive(keep)
	}
}

func heap() int {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int(m.HeapAlloc)
}
