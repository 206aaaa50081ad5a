package mcp

import (
	"bytes"
	"encoding/json"
	"testing"
)

func TestHalfCharactersAreReplaced(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]string{
		`{"a":"x","b":[1.10]}`: `{"a":"x","b":[1.10]}`, `"\ud83d\ude00"`: `"\ud83d\ude00"`, `"\u00e9\n\\u\"\/"`: `"\u00e9\n\\u\"\/"`,
		`"\ud800"`: `"\ufffd"`, `{"\uDC00":"\ud800x\udc00"}`: `{"\ufffd":"\ufffdx\ufffd"}`, `"\ud83d\ud83d\ude00\ude00"`: `"\ufffd\ud83d\ude00\ufffd"`,
		`"\\ud800"`: `"\\ud800"`, `"\\\ud800"`: `"\\\ufffd"`, `"\ud800\\udc00"`: `"\ufffd\\udc00"`, `\`: `\`, `"\ud8`: `"\ud8`, `"\ud800`: `"\ufffd`,
	} {
		given := []byte(said)
		if got := pairedText(given); string(got) != want || string(given) != said {
			t.Errorf("%s: %s, of %s", said, got, given)
		}
	}
}

// TestHalfCharactersReachNoClient: some cannot read a message that has one.
func TestHalfCharactersReachNoClient(t *testing.T) {
	t.Parallel()
	const half = `\ud800`
	for _, p := range []*scriptedServices{
		answers("application/json", `{"`+half+`":["`+half+`"]}`), answers("application/json", `"`+half+`"`),
		answers(mediaResult, `{"content":[{"type":"text","text":"`+half+`","own":"`+half+`"},{"type":"resource_link","uri":"acme://a","name":"`+half+`"}],"structuredContent":{"a":"`+half+`"},"_meta":{"a":"`+half+`"}}`),
	} {
		raw, err := json.Marshal(runResult(t, newServicesRunner(t, p), runCall(), functionTool(), `{}`))
		if err != nil || bytes.Contains(raw, []byte("ud800")) || bytes.Contains(raw, []byte("isError")) {
			t.Errorf("%s %v", raw, err)
		}
	}
	kept := &keptNotices{}
	(&toldNotices{to: kept}).log([]byte(`{"data":{"a":"` + half + `"}}`))
	if len(kept.list) != 1 || kept.list[0] != `info  {"a":"\ufffd"}` {
		t.Errorf("%q", kept.list)
	}

	if got, err := cleanAnswer([]byte(` [{"j":"` + half + `"}]`)); err != nil || string(got) != `[{"j":"\ufffd"}]` {
		t.Errorf("%s: %v", got, err)
	}
}

func FuzzPairedText(f *testing.F) {
	for _, seed := range []string{`"\ud800\udc00"`, `{"\ud800":"\\\udfff"}`, `["\uD83d\ud800"]`} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, said string) {
		var before, after any
		if json.Unmarshal([]byte(said), &before) != nil {
			return
		}
		got := pairedText([]byte(said))
		if err := json.Unmarshal(got, &after); err != nil {
			t.Fatalf("%s: %v", got, err)
		}
		one, _ := json.Marshal(before)
		other, _ := json.Marshal(after)
		if !bytes.Equal(one, other) || !bytes.Equal(pairedText(got), got) {
			t.Fatalf("%s: %s", said, got)
		}
	})
}
