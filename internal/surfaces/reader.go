package surfaces

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"

	"github.com/chumbo-dev/chumbo/internal/policy"
)

// reader turns nodes into values by the type expected at each place. Whatever
// is wrong is reported, and reading goes on.
type reader struct{ report }

// entry is a key and its value.
type entry struct {
	key   place
	value *yaml.Node
	at    place
}

// mapping is a mapping being read.
type mapping struct {
	r       *reader
	at      place
	names   []string
	entries map[string]entry
}

func nodeAt(n *yaml.Node, path string) place {
	return place{line: n.Line, column: n.Column, path: path}
}

// join is the path of a key below path; a key too long to be one is cut.
func join(path, key string) string {
	if len(key) > ruleName.max {
		key = strings.ToValidUTF8(key[:ruleName.max], "") + "…"
	}
	if path == "" {
		return key
	}
	return path + "." + key
}

// raw reads a mapping whose keys are names the builder chooses.
func (r *reader) raw(n *yaml.Node, at place, what string) (mapping, bool) {
	m := mapping{r: r, at: at, entries: map[string]entry{}}
	if n.Kind == yaml.AliasNode {
		return m, false // reported before
	}
	if n.Kind != yaml.MappingNode {
		r.errorf(at, "%s must be a mapping of keys and values, not %s", what, kindOf(n))
		return m, false
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		if !isStringKey(key) {
			continue // reported before
		}
		if _, twice := m.entries[key.Value]; twice {
			continue // reported before
		}
		path := join(at.path, key.Value)
		m.names = append(m.names, key.Value)
		m.entries[key.Value] = entry{key: nodeAt(key, path), value: value, at: nodeAt(value, path)}
	}
	return m, true
}

// mapping reads a mapping with these keys; others are reported.
func (r *reader) mapping(n *yaml.Node, at place, what string, k keys) (mapping, bool) {
	m, ok := r.raw(n, at, what)
	if !ok {
		return m, false
	}
	for _, name := range m.names {
		r.knownKey(m, name, k)
	}
	return m, true
}

// knownKey reports a key that is none of a mapping's.
func (r *reader) knownKey(m mapping, name string, k keys) {
	if slices.Contains(k.known, name) {
		return
	}
	key := m.entries[name].key
	if instead, later := k.later[name]; later {
		r.errorf(key, "%s is not yet supported: %s", name, instead)
		return
	}
	if why, never := k.never[name]; never {
		r.errorf(key, "%s is not possible here: %s", name, why)
		return
	}
	r.errorf(key, "unknown key %s%s", quoteName(name), r.suggest(name, k.known, "; known keys are "))
}

// get returns the value of a key, when it is there and not empty.
func (m mapping) get(key string) (*yaml.Node, place, bool) {
	e, ok := m.entries[key]
	if !ok || e.value.Kind == yaml.AliasNode {
		return nil, place{}, false
	}
	if e.value.Kind == yaml.ScalarNode && e.value.Style == 0 && e.value.Value == "" {
		m.r.errorf(e.key, "%s is empty: give it a value or leave the key out", key)
		return nil, place{}, false
	}
	return e.value, e.at, true
}

// text rules.
type textRule struct {
	max     int  // characters
	oneLine bool // no line breaks
}

var (
	ruleName        = textRule{max: 128, oneLine: true}
	ruleTitle       = textRule{max: 100, oneLine: true}
	ruleDescription = textRule{max: 2000}
	ruleProse       = textRule{max: 4000}
	ruleGuidance    = textRule{max: 1000}
	ruleTemplate    = textRule{max: 8000}
	ruleExpression  = textRule{max: policy.MaxExpression}
	ruleReason      = textRule{max: 300, oneLine: true}
	ruleURL         = textRule{max: 500, oneLine: true}
)

// text reads a string: the source text of any scalar.
func (m mapping) text(key string, rule textRule) (Text, bool) {
	n, at, ok := m.get(key)
	if !ok {
		return Text{}, false
	}
	return m.r.scalar(n, at, key, rule)
}

func (r *reader) scalar(n *yaml.Node, at place, what string, rule textRule) (Text, bool) {
	if n.Kind == yaml.AliasNode {
		return Text{}, false
	}
	if n.Kind != yaml.ScalarNode {
		r.errorf(at, "%s must be text, not %s", what, kindOf(n))
		return Text{}, false
	}
	value := strings.TrimSpace(n.Value)
	if value == "" {
		r.errorf(at, "%s must not be empty", what)
		return Text{}, false
	}
	if count := utf8.RuneCountInString(value); count > rule.max {
		r.errorf(at, "%s is %d characters long; at most %d", what, count, rule.max)
		return Text{}, false
	}
	if c, bad := firstForbidden(value, rule.oneLine); bad {
		r.errorf(at, "%s holds the character U+%04X, which is not allowed there", what, c)
		return Text{}, false
	}
	return Text{Value: value, at: at}, true
}

// firstForbidden finds control and bidirectional characters: they could make a
// text read differently from what it is.
func firstForbidden(s string, oneLine bool) (rune, bool) {
	for _, c := range s {
		if (c == '\n' || c == '\t') && !oneLine {
			continue
		}
		if unicode.IsControl(c) || unicode.Is(unicode.Bidi_Control, c) || c == utf8.RuneError {
			return c, true
		}
	}
	return 0, false
}

// list reads a list of strings; a single string is a list of one.
func (m mapping) list(key string, rule textRule) ([]Text, bool) {
	n, at, ok := m.get(key)
	if !ok {
		return nil, false
	}
	return m.r.texts(n, at, key, rule)
}

func (r *reader) texts(n *yaml.Node, at place, what string, rule textRule) ([]Text, bool) {
	if n.Kind == yaml.ScalarNode {
		t, ok := r.scalar(n, at, what, rule)
		if !ok {
			return nil, false
		}
		return []Text{t}, true
	}
	if n.Kind != yaml.SequenceNode {
		r.errorf(at, "%s must be a list, not %s", what, kindOf(n))
		return nil, false
	}
	var texts []Text
	seen := map[string]bool{}
	for i, item := range n.Content {
		itemAt := nodeAt(item, fmt.Sprintf("%s[%d]", at.path, i))
		t, ok := r.scalar(item, itemAt, "an entry of "+what, rule)
		if !ok {
			continue
		}
		if seen[t.Value] {
			r.errorf(itemAt, "%s is listed twice", quoteName(t.Value))
			continue
		}
		seen[t.Value] = true
		texts = append(texts, t)
	}
	return texts, true
}

// items returns the nodes of a list.
func (m mapping) items(key string) ([]*yaml.Node, place, bool) {
	n, at, ok := m.get(key)
	if !ok {
		return nil, at, false
	}
	if n.Kind != yaml.SequenceNode {
		m.r.errorf(at, "%s must be a list, not %s", key, kindOf(n))
		return nil, at, false
	}
	return n.Content, at, true
}

// boolean reads true or false.
func (m mapping) boolean(key string) (value, ok bool) {
	n, at, there := m.get(key)
	if !there {
		return false, false
	}
	return m.r.boolean(n, at, key)
}

func (r *reader) boolean(n *yaml.Node, at place, what string) (value, ok bool) {
	if n.Kind == yaml.ScalarNode && n.Style == 0 {
		switch n.Value {
		case "true", "True", "TRUE":
			return true, true
		case "false", "False", "FALSE":
			return false, true
		}
	}
	r.errorf(at, "%s must be true or false", what)
	return false, false
}

var integerPattern = regexp.MustCompile(`^[-+]?[0-9]{1,9}$`)

// integer reads a whole number between min and max.
func (m mapping) integer(key string, low, high int) (int, bool) {
	n, at, ok := m.get(key)
	if !ok {
		return 0, false
	}
	if n.Kind != yaml.ScalarNode || n.Style != 0 || !integerPattern.MatchString(n.Value) {
		m.r.errorf(at, "%s must be a whole number from %d to %d", key, low, high)
		return 0, false
	}
	v, err := strconv.Atoi(n.Value)
	if err != nil || v < low || v > high {
		m.r.errorf(at, "%s must be a whole number from %d to %d, not %s", key, low, high, n.Value)
		return 0, false
	}
	return v, true
}

var timePattern = regexp.MustCompile(`^([0-9]{1,6})(s|m|h)$`)

// seconds reads a time such as 90s, 5m or 24h between two bounds, in seconds.
func (m mapping) seconds(key string, low, high int) (int, bool) {
	n, at, ok := m.get(key)
	if !ok {
		return 0, false
	}
	parts := timePattern.FindStringSubmatch(n.Value)
	if n.Kind != yaml.ScalarNode || parts == nil {
		m.r.errorf(at, "%s must be a whole number and its unit (s, m or h), such as 5m", key)
		return 0, false
	}
	v, err := strconv.Atoi(parts[1])
	v *= map[string]int{"s": 1, "m": 60, "h": 3600}[parts[2]]
	if err != nil || v < low || v > high {
		m.r.errorf(at, "%s must be from %s to %s, not %s", key, shortTime(low), shortTime(high), n.Value)
		return 0, false
	}
	return v, true
}

// shortTime is seconds as seconds reads them.
func shortTime(v int) string {
	switch {
	case v%3600 == 0 && v > 0:
		return fmt.Sprintf("%dh", v/3600)
	case v%60 == 0 && v > 0:
		return fmt.Sprintf("%dm", v/60)
	}
	return fmt.Sprintf("%ds", v)
}

// isStringKey reports whether a key is a name. The word null is one: a key of
// columns that may be written is called so.
func isStringKey(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && (n.Tag == "!!str" || n.Style != 0 || n.Tag == "!!null" && n.Value == "null")
}

// isNothing reports whether a value is left out, or said to be none: where it
// could be a description, null and ~ are no words of one.
func isNothing(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && n.Style == 0 && (n.Value == "" || n.Tag == "!!null")
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
		return "a single value"
	}
}

// quoteName shows a name the builder wrote, bounded and on one line.
func quoteName(s string) string {
	if utf8.RuneCountInString(s) > 80 {
		s = string([]rune(s)[:80]) + "…"
	}
	return strconv.Quote(s)
}
