package standin

import (
	"net/http"
	"strconv"
	"strings"
)

// preferences are the Prefer header, the first value of a kind winning.
type preferences struct {
	returns     string // minimal, headers-only, representation; empty for the default
	count       string // exact, planned, estimated
	resolution  string // merge-duplicates, ignore-duplicates
	missing     string // default, null
	handling    string // strict, lenient
	maxAffected int    // -1: none
}

var preferenceValues = map[string][]string{
	"return":     {"minimal", "headers-only", "representation"},
	"count":      {"exact", "planned", "estimated"},
	"resolution": {"merge-duplicates", "ignore-duplicates"},
	"missing":    {"default", "null"},
	"handling":   {"strict", "lenient"},
	"tx":         {"commit", "rollback"}, // known, and without effect
}

func parsePrefer(headers []string) (preferences, error) {
	p := preferences{maxAffected: -1}
	seen := map[string]string{}
	var unknown []string
	for _, entry := range strings.Split(strings.Join(headers, ","), ",") {
		entry = strings.TrimSpace(entry)
		if entry == "" {
			continue
		}
		kind, value, _ := strings.Cut(entry, "=")
		if kind == "timezone" {
			return p, notImplemented("Prefer: timezone")
		}
		if !knownPreference(kind, value) {
			unknown = append(unknown, entry)
			continue
		}
		if _, again := seen[kind]; !again {
			seen[kind] = value
		}
	}
	p.returns, p.count, p.resolution = seen["return"], seen["count"], seen["resolution"]
	p.missing, p.handling = seen["missing"], seen["handling"]
	if n, err := strconv.Atoi(seen["max-affected"]); err == nil {
		p.maxAffected = n
	}
	if p.handling == "strict" && len(unknown) > 0 {
		return p, &apiError{
			status: http.StatusBadRequest, Code: "PGRST122",
			Message: "Invalid preferences given with handling=strict", Details: "Invalid preferences: " + strings.Join(unknown, ", "),
		}
	}
	return p, nil
}

func knownPreference(kind, value string) bool {
	if kind == "max-affected" {
		_, err := strconv.Atoi(value)
		return err == nil
	}
	for _, known := range preferenceValues[kind] {
		if value == known {
			return true
		}
	}
	return false
}

// limit is how many rows a request may affect; -1 for any number. It counts
// only with strict handling.
func (p preferences) limit() int {
	if p.handling != "strict" {
		return -1
	}
	return p.maxAffected
}

func (p preferences) representation() bool { return p.returns == "representation" }

// applied is the Preference-Applied header for the kinds that a request
// honoured.
func (p preferences) applied(kinds ...string) string {
	values := map[string]string{
		"resolution": p.resolution, "missing": p.missing, "return": p.returns, "count": p.count, "handling": p.handling,
	}
	if n := p.limit(); n >= 0 {
		values["max-affected"] = strconv.Itoa(n)
	}
	var out []string
	for _, kind := range kinds {
		if values[kind] != "" {
			out = append(out, kind+"="+values[kind])
		}
	}
	return strings.Join(out, ", ")
}
