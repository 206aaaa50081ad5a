package mcp

import (
	"testing"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// TestValuesOfURIsHaveOneSpelling: of what the database reads in many forms one
// is taken, so that no rule misses another; the rest names no row.
func TestValuesOfURIsHaveOneSpelling(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		sql  string
		json surfaces.JSONType
		said map[string]string // empty: none
	}{
		{"int4", surfaces.JSONInteger, map[string]string{"7": "7", "007": "7", "-7": "-7", "7.0": "7", "+7": "", " 7": "", "7 ": "", "7.5": "", "x": "", "0x7": "", "1_000": "", "NaN": ""}},
		{"int8", surfaces.JSONString, map[string]string{"9007199254740993": `"9007199254740993"`, "09": `"9"`, "1.5": "", "": ""}},
		{"numeric", surfaces.JSONString, map[string]string{"1.50": `"1.5"`, "01": `"1"`, "NaN": "", "Infinity": "", "+1": ""}},
		{"float8", surfaces.JSONNumber, map[string]string{"1.50": "1.5", "Infinity": "", "1,5": ""}},
		{"bool", surfaces.JSONBoolean, map[string]string{"true": "true", "false": "false", "t": "", "TRUE": "", "1": "", "yes": ""}},
		{"uuid", surfaces.JSONString, map[string]string{
			"A11CE000-0000-4000-8000-000000000001": `"a11ce000-0000-4000-8000-000000000001"`, "{a11ce000-0000-4000-8000-000000000001}": "", "a11ce000000040008000000000000001": "",
			"urn:uuid:a11ce000-0000-4000-8000-000000000001": "", "a11ce000-0000-4000-8000-00000000000g": "",
		}},
		{"bpchar", surfaces.JSONString, map[string]string{"ab  ": `"ab"`, " ab": `" ab"`}},
		{"date", surfaces.JSONString, map[string]string{"2026-11-30": `"2026-11-30"`, "20261130": "", "2026-11-31": "", "today": "", "Nov 30 2026": "", "infinity": "", "2026-11-30 ": ""}},
		{"timestamptz", surfaces.JSONString, map[string]string{"2026-11-30T12:00:00Z": `"2026-11-30T12:00:00Z"`, "2026-11-30T12:00:00.5+01:00": `"2026-11-30T12:00:00.5+01:00"`, "2026-11-30 12:00:00Z": "", "2026-11-30T12:00:00": "", "now": "", "epoch": ""}},
		{"timestamp", surfaces.JSONString, map[string]string{"2026-11-30T12:00:00": `"2026-11-30T12:00:00"`, "2026-11-30T12:00:00Z": "", "yesterday": ""}},
		{"text", surfaces.JSONString, map[string]string{"": `""`, "a\"b": `"a\"b"`, "NULL": `"NULL"`, " A ": `" A "`}},
	} {
		for said, want := range k.said {
			if got := typedValue(said, &surfaces.Column{Name: "c", SQLType: k.sql, JSON: k.json}); string(got) != want {
				t.Errorf("%q as %s is %s, want %q", said, k.sql, got, want)
			}
		}
	}
}
