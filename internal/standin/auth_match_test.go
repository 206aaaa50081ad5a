package standin

import (
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
)

// placeholder is everything in a recording that stands for a live value.
var placeholder = regexp.MustCompile(`00000000-0000-4000-8000-\d{12}|<jwt-\d+>|rtoken(?:\d{6}|legacy)|refresh-token-v2-\d+-x+` +
	`|TOTPSECRETBASE32A+|client-secret-\d+-x+|authorizationid\d{17}|code-verifier-[a-z0-9-]+|code-challenge-[a-z]+|<[^<>=/][^<>=]{0,40}>`)

// reusedNames are placeholders that the recordings of second factors and mails
// give to every value of their kind.
var reusedNames = []string{"<56-hex>", "<hashed-token-56-hex>", "<6-digit-code>", "TOTPSECRETBASE32AAAAAAAAAAAAAAAA"}

// stamp is a time of day in a recording; any other will do.
var stamp = regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z|(?:expires_at=)\d{10}`)

// fill puts live values where they are known.
func (rp *replay) fill(s string) string {
	return placeholder.ReplaceAllStringFunc(s, func(name string) string {
		if live, ok := rp.vars[name]; ok {
			return live
		}
		return name
	})
}

func (rp *replay) fillJSON(v any) any {
	switch v := v.(type) {
	case string:
		return rp.fill(v)
	case []any:
		filled := make([]any, len(v))
		for i := range v {
			filled[i] = rp.fillJSON(v[i])
		}
		return filled
	case map[string]any:
		filled := map[string]any{}
		for key := range v {
			filled[key] = rp.fillJSON(v[key])
		}
		return filled
	default:
		return v
	}
}

// match compares a recorded value with a live one and learns what new
// placeholders stand for.
func (rp *replay) match(where string, want, got any) []string {
	switch want := want.(type) {
	case map[string]any:
		return rp.matchObject(where, want, got)
	case []any:
		return rp.matchList(where, want, got)
	case string:
		live, ok := got.(string)
		if !ok || !rp.matchText(want, live) {
			return []string{fmt.Sprintf("%s: %v, want %s", where, got, rp.fill(want))}
		}
		return nil
	case float64:
		live, ok := got.(float64)
		// Unix times differ, other numbers do not.
		if !ok || (want != live && (want < 1.7e9 || live < 1.7e9)) {
			return []string{fmt.Sprintf("%s: %v, want %v", where, got, want)}
		}
		return nil
	default:
		if want != got {
			return []string{fmt.Sprintf("%s: %v, want %v", where, got, want)}
		}
		return nil
	}
}

func (rp *replay) matchObject(where string, want map[string]any, got any) []string {
	if raw, err := json.Marshal(got); err == nil { // live Go values, too
		var plain any
		if json.Unmarshal(raw, &plain) == nil {
			got = plain
		}
	}
	live, ok := got.(map[string]any)
	if !ok {
		return []string{fmt.Sprintf("%s: %v is no object", where, got)}
	}
	var problems []string
	for _, key := range slices.Sorted(maps.Keys(want)) {
		value, there := live[key]
		if !there {
			problems = append(problems, fmt.Sprintf("%s.%s is missing", where, key))
			continue
		}
		problems = append(problems, rp.match(where+"."+key, want[key], value)...)
	}
	for key := range live {
		if _, there := want[key]; !there {
			problems = append(problems, fmt.Sprintf("%s.%s = %v is not in the recording", where, key, live[key]))
		}
	}
	return problems
}

func (rp *replay) matchList(where string, want []any, got any) []string {
	live, ok := got.([]any)
	if !ok || len(live) != len(want) {
		return []string{fmt.Sprintf("%s: %v, want %d items", where, got, len(want))}
	}
	live = slices.Clone(live)
	if strings.HasSuffix(where, ".keys") {
		rp.alignKeys(want, live)
	}
	if strings.HasSuffix(where, ".amr") {
		alignMethods(want, live)
	}
	var problems []string
	for i := range want {
		problems = append(problems, rp.match(fmt.Sprintf("%s[%d]", where, i), want[i], live[i])...)
	}
	return problems
}

// alignKeys puts the live keys of a JWKS into the recorded order, which is not
// stable at Auth.
func (rp *replay) alignKeys(want, live []any) {
	for i := range want {
		known := rp.vars[want[i].(map[string]any)["kid"].(string)]
		for j := range live {
			if live[j].(map[string]any)["kid"] == known {
				live[i], live[j] = live[j], live[i]
			}
		}
	}
}

// alignMethods puts the live ways of authentication into the recorded order,
// which is not stable at Auth.
func alignMethods(want, live []any) {
	for i := range want {
		for j := i; j < len(live); j++ {
			if live[j].(map[string]any)["method"] == want[i].(map[string]any)["method"] {
				live[i], live[j] = live[j], live[i]
			}
		}
	}
}

// qrText stands for the picture that enrolment answers with.
const qrText = "<svg text of the QR code, 321600 characters, not a data: URL>"

// coordinate is a recorded key coordinate; the live keys are others.
var coordinate = regexp.MustCompile(`^[A-Za-z0-9_-]{43}$`)

func (rp *replay) matchText(want, got string) bool {
	if coordinate.MatchString(want) && placeholder.FindString(want) == "" {
		return coordinate.MatchString(got)
	}
	if want == qrText {
		return strings.HasPrefix(got, "<?xml") && strings.Contains(got, "<svg") && len(got) > 256<<10
	}
	pattern, names := "^", []string{}
	rest := want
	for rest != "" {
		at := placeholder.FindStringIndex(rest)
		if at == nil {
			at = []int{len(rest), len(rest)}
		}
		pattern += stampPattern(rest[:at[0]])
		if at[0] == len(rest) {
			break
		}
		name := rest[at[0]:at[1]]
		if live, known := rp.vars[name]; known {
			pattern += regexp.QuoteMeta(live)
		} else {
			pattern += "(" + shapeOf(name) + ")"
			names = append(names, name)
		}
		rest = rest[at[1]:]
	}
	found := regexp.MustCompile(pattern + "$").FindStringSubmatch(got)
	if found == nil {
		return false
	}
	for i, name := range names {
		if name == "<first 5 characters of the refresh token>" {
			continue
		}
		if known, ok := rp.vars[name]; ok && known != found[i+1] || rp.isOther(name, found[i+1]) {
			return false
		}
		rp.vars[name] = found[i+1]
	}
	return true
}

// isOther reports whether the live value already stands for another id or
// token: what the recording tells apart must differ here, too.
func (rp *replay) isOther(name, live string) bool {
	if !strings.HasPrefix(name, "00000000-") && !strings.HasPrefix(name, "<jwt-") && !strings.HasPrefix(name, "rtoken") {
		return false
	}
	for other, value := range rp.vars {
		if value == live && other != name {
			return true
		}
	}
	return false
}

func stampPattern(literal string) string {
	pattern, rest := "", literal
	for rest != "" {
		at := stamp.FindStringIndex(rest)
		if at == nil {
			return pattern + regexp.QuoteMeta(rest)
		}
		pattern += regexp.QuoteMeta(rest[:at[0]]) + `[0-9TZ:.=_a-z-]+`
		rest = rest[at[1]:]
	}
	return pattern
}

// shapeOf is what a value behind a placeholder looks like.
func shapeOf(name string) string {
	switch {
	case strings.HasPrefix(name, "00000000-"):
		return `[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`
	case strings.HasPrefix(name, "<jwt-"):
		return `[\w-]+\.[\w-]+\.[\w-]+`
	case strings.HasPrefix(name, "rtoken"):
		return `[a-z2-7]{12}`
	case strings.HasPrefix(name, "refresh-token-v2-"):
		return `[\w-]{51}`
	case strings.HasPrefix(name, "client-secret-"):
		return `[\w-]{43}`
	case strings.HasPrefix(name, "authorizationid"):
		return `[a-z2-7]{32}`
	case name == "<56-hex>" || name == "<hashed_token>" || name == "<hashed-token-56-hex>":
		return `[0-9a-f]{56}`
	case strings.HasPrefix(name, "TOTPSECRET"):
		return `[A-Z2-7]{32}`
	case name == "<email_otp>" || name == "<6-digit-code>":
		return `\d{6}`
	case strings.HasPrefix(name, "<first 5 "):
		return `[a-z2-7]{5}`
	default:
		return `[^&"]+`
	}
}
