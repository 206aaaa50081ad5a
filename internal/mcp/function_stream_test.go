package mcp

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// keptNotices keeps what it is told.
type keptNotices struct{ list []string }

func (n *keptNotices) progress(done, total float64, message string) {
	n.list = append(n.list, fmt.Sprintf("%g of %g %s", done, total, message))
}

func (n *keptNotices) log(level, logger string, data []byte) {
	n.list = append(n.list, level+" "+logger+" "+string(data))
}

func TestStreamTellsNoticesAndEndsWithItsResult(t *testing.T) {
	t.Parallel()
	lines := []string{
		"\uFEFF: hello", "event: progress", `data: {"progress":0,"total":100}`, "",
		"retry: 10", "id: 7", "event:log", `data:{"level":"warning","logger":"a\nb","data":{"n": 1.10}}`, "",
		"event: progress", `data: {"progress":50,`, `data: "message":"half"}`, "",
		"event: progress", `data: {"progress":50}`, "", "event: progress", `data: {"progress":"60"}`, "", "event: progress", "data: x", "",
		"event: log", `data: {"level":"loud","data":"x"}`, "", "event: log", `data: {"level":"info"}`, "",
		"event: other", "data: y", "", "data: a message", "", "event: result", "",
		"event: progress", "",
		"event: result", `data: {"content":`, "data: []}", "",
		"event: result", "data: never", "",
	}
	want := []string{"0 of 100 ", `warning a b {"n":1.10}`, "50 of 0 half", `info  "x"`}
	for _, end := range []string{"\n", "\r\n", "\r"} {
		for name, wrap := range map[string]func(io.Reader) io.Reader{"whole": func(r io.Reader) io.Reader { return r }, "byte by byte": iotest.OneByteReader} {
			kept := &keptNotices{}
			result, err := readStream(wrap(strings.NewReader(strings.Join(lines, end)+end)), kept)
			if err != nil || string(result) != "{\"content\":\n[]}" || strings.Join(kept.list, "|") != strings.Join(want, "|") {
				t.Errorf("%q %s: %q %v\n%q", end, name, result, err, kept.list)
			}
		}
	}
}

func TestStreamWithoutAResult(t *testing.T) {
	t.Parallel()
	for _, body := range []string{"", "event: result\ndata: {}", "event: result\ndata: {}\n", "event: progress\ndata: {\"progress\":1}\n\n", ": hi\n\n"} {
		if _, err := readStream(strings.NewReader(body), nil); !errors.Is(err, errNoResult) {
			t.Errorf("%q: %v", body, err)
		}
	}
	broken := errors.New("broken")
	if _, err := readStream(io.MultiReader(strings.NewReader("event: result\ndata: {}\n"), iotest.ErrReader(broken)), nil); !errors.Is(err, broken) {
		t.Errorf("a break: %v", err)
	}
}

func TestStreamIsBounded(t *testing.T) {
	t.Parallel()
	for name, body := range map[string]string{
		"a line":        "data: " + strings.Repeat("x", maxEvent),
		"many lines":    "event: result\n" + strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", maxEvent/1000),
		"many comments": strings.Repeat(":"+strings.Repeat("x", 1000)+"\n", maxEvent/1000),
	} {
		if _, err := readStream(strings.NewReader(body), nil); !errors.Is(err, errEvent) {
			t.Errorf("%s: %v", name, err)
		}
	}
	var b strings.Builder
	for i := range maxNotices + 5 {
		fmt.Fprintf(&b, "event: progress\ndata: {\"progress\":%d}\n\n", i)
	}
	kept := &keptNotices{}
	if _, err := readStream(strings.NewReader(b.String()), kept); !errors.Is(err, errNoResult) || len(kept.list) != maxNotices {
		t.Errorf("%d notices, %v", len(kept.list), err)
	}
}

func FuzzEventStream(f *testing.F) {
	for _, seed := range []string{"event: result\ndata: {}\n\n", "data:\r\r", "event: progress\ndata: {\"progress\":1e999}\n\n", "\uFEFFevent: log\rdata: {\"data\":1}\r\n\r\n", "data\n\n:\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, body string) {
		kept := &keptNotices{}
		result, err := readStream(iotest.HalfReader(strings.NewReader(body)), kept)
		again := &keptNotices{}
		same, _ := readStream(strings.NewReader(body), again)
		if err == nil && string(result) != string(same) || strings.Join(kept.list, "|") != strings.Join(again.list, "|") {
			t.Fatalf("read in two ways: %q", body)
		}
	})
}
