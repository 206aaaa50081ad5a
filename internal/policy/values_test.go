package policy

import (
	"encoding/json"
	"strings"
	"testing"
)

func TestValuesAreExactlyAsWritten(t *testing.T) {
	t.Parallel()
	f := Read(Input{
		Claims:  json.RawMessage(`{"sub":"a","app_metadata":{"n":9007199254740993, "big":123456789012345678901234567890.50,"o":{"x":null}},"user_metadata":{"role":"admin"},"sub":"b"}`),
		Context: json.RawMessage(`{"team":"red","list":[1, 2]}`),
	})
	for path, want := range map[string]string{
		"sub": `"b"`, "Sub": "", "app_metadata.n": "9007199254740993", "app_metadata.big": "123456789012345678901234567890.50", "app_metadata.o.x": "null",
		"app_metadata.o.x.y": "", "app_metadata.none": "", "user_metadata.role": "", "user_metadata": "", "sub.x": "",
	} {
		if got := string(f.ClaimJSON(split(path)...)); got != want {
			t.Errorf("claims.%s: %s, want %s", path, got, want)
		}
	}
	for path, want := range map[string]string{"team": `"red"`, "list": "[1, 2]", "list.0": "", "none": ""} {
		if got := string(f.ContextJSON(split(path)...)); got != want {
			t.Errorf("context.%s: %s, want %s", path, got, want)
		}
	}
	none := Read(Input{})
	if none.ClaimJSON("sub") != nil || none.ContextJSON("team") != nil || f.ClaimJSON() != nil || f.ContextJSON() != nil {
		t.Error("something where there is nothing")
	}
	none.SetClaims(nil)
	if none.ClaimJSON("sub") != nil {
		t.Error("claims that are nil have a value")
	}
}

func split(path string) []string { return strings.Split(path, ".") }
