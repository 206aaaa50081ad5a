package surfaces

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// shape is a JSON Schema read back: the keywords that schema writes.
type shape struct {
	Type        string            `json:"type"`
	Description string            `json:"description"`
	AnyOf       []*shape          `json:"anyOf"`
	Properties  map[string]*shape `json:"properties"`
	Required    []string          `json:"required"`
	Closed      *bool             `json:"additionalProperties"`
	Least       *float64          `json:"minProperties"`
	Items       *shape            `json:"items"`
	MaxItems    *float64          `json:"maxItems"`
	Enum        labelList         `json:"enum"`
	Pattern     string            `json:"pattern"`
	MinLength   *float64          `json:"minLength"`
	MaxLength   *float64          `json:"maxLength"`
	Minimum     *float64          `json:"minimum"`
	Maximum     *float64          `json:"maximum"`
	Default     json.RawMessage   `json:"default"`
}

func shapeOf(raw json.RawMessage) (*shape, bool) {
	var s shape
	if len(raw) == 0 || json.Unmarshal(raw, &s) != nil {
		return nil, false
	}
	return &s, true
}

// pagingArguments of a list are compared by its plan.
var pagingArguments = []string{"limit", "cursor"}

// input compares the arguments of a tool: what was accepted must still be.
func (d *differ) input(before, after *Tool) {
	was, okWas := shapeOf(before.Input)
	is, okIs := shapeOf(after.Input)
	if !okWas || !okIs {
		if !sameJSON(before.Input, after.Input) {
			d.add(ChangeBreaks, "its arguments changed")
		}
		return
	}
	told := len(d.changes)
	lists := before.List != nil && after.List != nil
	d.arguments("argument ", was, is, lists)
	if len(d.changes) == told && beyond(before.Input, lists) != beyond(after.Input, lists) {
		d.add(ChangeBreaks, "its arguments changed")
	}
}

// arguments compares the members of an object that callers send: the arguments
// themselves, or what is inside one.
func (d *differ) arguments(path string, was, is *shape, lists bool) {
	for _, name := range slices.Sorted(maps.Keys(was.Properties)) {
		if is.Properties[name] == nil {
			d.add(ChangeBreaks, "%s%s is gone; calls that send it are refused", path, word(name))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(is.Properties)) {
		required, what := slices.Contains(is.Required, name), path+word(name)
		old := was.Properties[name]
		switch {
		case old == nil && required:
			d.add(ChangeBreaks, "%s is new and required", what)
		case old == nil:
			d.add(ChangeSafe, "%s is new and optional", what)
		default:
			if lists && slices.Contains(pagingArguments, name) {
				continue
			}
			d.requirement(what, slices.Contains(was.Required, name), required)
			d.argument(what, old, is.Properties[name], lists && name == "order")
		}
	}
}

// beyond is an input schema without what the plan of a list tells.
func beyond(raw json.RawMessage, lists bool) string {
	var doc map[string]any
	if json.Unmarshal(raw, &doc) != nil {
		return string(raw)
	}
	if properties, ok := doc["properties"].(map[string]any); ok && lists {
		for _, name := range pagingArguments {
			delete(properties, name)
		}
		if order, ok := properties["order"].(map[string]any); ok {
			delete(order, "default")
		}
	}
	return canonical(doc)
}

func (d *differ) requirement(what string, before, after bool) {
	switch {
	case after && !before:
		d.add(ChangeBreaks, "%s is required now", what)
	case before && !after:
		d.add(ChangeSafe, "%s is optional now", what)
	}
}

// argument compares one value that callers send. The default of an order is
// told by the plan.
func (d *differ) argument(what string, before, after *shape, order bool) {
	was, is := before.kinds(), after.kinds()
	gone, added := kindsGone(was, is), kindsGone(is, was)
	switch {
	case len(gone) > 0:
		d.add(ChangeBreaks, "%s is %s now, it was %s", what, kindWords(is), kindWords(was))
	case len(added) > 0:
		d.add(ChangeSafe, "%s may be %s now, it was %s", what, kindWords(is), kindWords(was))
	}
	for _, kind := range slices.Sorted(maps.Keys(is)) {
		old := was[kind]
		if old == nil && kind == "number" {
			old = was["integer"]
		}
		if old != nil {
			d.bounds(what, old, is[kind])
		}
	}
	if before.Description != after.Description {
		d.add(ChangeBehaviour, "the description of %s changed", what)
	}
	if !order && string(before.Default) != string(after.Default) {
		d.add(ChangeBehaviour, "the default of %s changed", what)
	}
}

// bounds compares two schemas of one JSON type.
func (d *differ) bounds(what string, before, after *shape) {
	d.labels(what, before.Enum, after.Enum)
	if before.Pattern != after.Pattern {
		if after.Pattern == "" {
			d.add(ChangeSafe, "%s need not match a pattern any more", what)
		} else {
			d.add(ChangeBreaks, "%s must match another pattern now", what)
		}
	}
	d.bound(what, "characters", before.MaxLength, after.MaxLength, true)
	d.bound(what, "characters", before.MinLength, after.MinLength, false)
	d.bound(what, "items", before.MaxItems, after.MaxItems, true)
	d.bound(what, "", before.Maximum, after.Maximum, true)
	d.bound(what, "", before.Minimum, after.Minimum, false)
	d.members(what, before, after)
	switch {
	case before.Items != nil && after.Items != nil:
		d.argument("each item of "+what, before.Items, after.Items, false)
	case before.Items == nil && after.Items != nil:
		d.add(ChangeBreaks, "%s takes only items of a kind now", what)
	case before.Items != nil:
		d.add(ChangeSafe, "%s takes items of any kind now", what)
	}
}

// members compares what an object holds that callers send.
func (d *differ) members(what string, before, after *shape) {
	if before.Type != "object" || after.Type != "object" {
		return
	}
	d.arguments(what+".", before, after, false)
	d.bound(what, "members", before.Least, after.Least, false)
	closed := func(s *shape) bool { return s.Closed != nil && !*s.Closed }
	switch {
	case closed(after) && !closed(before):
		d.add(ChangeBreaks, "%s takes no members beside those listed now", what)
	case closed(before) && !closed(after):
		d.add(ChangeSafe, "%s takes any members beside those listed now", what)
	}
}

func (d *differ) labels(what string, before, after []string) {
	switch {
	case len(before) == 0 && len(after) == 0:
	case len(before) == 0:
		d.add(ChangeBreaks, "%s takes only %s now", what, wordList(after))
	case len(after) == 0:
		d.add(ChangeSafe, "%s takes any value now", what)
	default:
		if gone := without(before, after); len(gone) > 0 {
			d.add(ChangeBreaks, "%s no longer takes %s", what, wordList(gone))
		}
		if added := without(after, before); len(added) > 0 {
			d.add(ChangeSafe, "%s also takes %s", what, wordList(added))
		}
	}
}

func (d *differ) bound(what, unit string, before, after *float64, most bool) {
	if before == nil && after == nil || before != nil && after != nil && *before == *after {
		return
	}
	side := map[bool]string{true: "most", false: "least"}[most]
	if after == nil {
		d.add(ChangeSafe, "%s is no longer at %s %s", what, side, measure(*before, unit))
		return
	}
	tighter := before == nil || most == (*after < *before)
	d.add(map[bool]ChangeClass{true: ChangeBreaks, false: ChangeSafe}[tighter], "%s is at %s %s now", what, side, measure(*after, unit))
}

func measure(n float64, unit string) string {
	return strings.TrimSpace(strconv.FormatFloat(n, 'f', -1, 64) + " " + unit)
}

// output compares the structured results of a tool: what was promised must
// still hold.
func (d *differ) output(before, after *Tool) {
	if before.Result != after.Result {
		d.form(before.Result, after.Result)
		if before.Result == ResultText || after.Result == ResultText {
			return
		}
	}
	was, okWas := shapeOf(before.Output)
	is, okIs := shapeOf(after.Output)
	switch {
	case okWas && okIs:
		told := len(d.changes)
		d.result("", was, is)
		if len(d.changes) == told && canonical(before.Output) != canonical(after.Output) {
			d.add(ChangeBreaks, "the shape of its result changed")
		}
	case okWas:
		d.add(ChangeBreaks, "its result has no declared shape any more")
	case okIs:
		d.add(ChangeSafe, "its result has a declared shape now")
	}
}

func (d *differ) form(before, after ResultForm) {
	if after == ResultText {
		d.add(ChangeBreaks, "its result is text only now: structured content is gone")
		return
	}
	d.add(ChangeBehaviour, "its result is %s now, it was %s", after, before)
}

// result compares an object of a result at a path such as items[].
func (d *differ) result(path string, before, after *shape) {
	for _, name := range slices.Sorted(maps.Keys(before.Properties)) {
		at := strings.TrimPrefix(path+"."+word(name), ".")
		old, now := before.Properties[name], after.Properties[name]
		if now == nil {
			d.add(ChangeBreaks, "%s is gone from the result", at)
			continue
		}
		if slices.Contains(before.Required, name) && !slices.Contains(after.Required, name) {
			d.add(ChangeBreaks, "%s may be missing from the result now", at)
		}
		if !slices.Contains(before.Required, name) && slices.Contains(after.Required, name) {
			d.add(ChangeSafe, "%s is always in the result now", at)
		}
		d.returned(at, old, now)
	}
	for _, name := range slices.Sorted(maps.Keys(after.Properties)) {
		if before.Properties[name] == nil {
			d.add(ChangeSafe, "%s is new in the result", strings.TrimPrefix(path+"."+word(name), "."))
		}
	}
}

// returned compares one value that callers get.
func (d *differ) returned(at string, before, after *shape) {
	was, is := before.kinds(), after.kinds()
	switch added, gone := kindsGone(is, was), kindsGone(was, is); {
	case len(added) == 1 && added[0] == "null" && len(gone) == 0:
		d.add(ChangeBreaks, "%s may be null in the result now", at)
	case len(added) > 0:
		d.add(ChangeBreaks, "%s is %s in the result now, it was %s", at, kindWords(is), kindWords(was))
	case len(gone) == 1 && gone[0] == "null":
		d.add(ChangeSafe, "%s is never null in the result now", at)
	case len(gone) > 0:
		d.add(ChangeSafe, "%s is only %s in the result now, it was %s", at, kindWords(is), kindWords(was))
	}
	for _, kind := range slices.Sorted(maps.Keys(is)) {
		old, now := was[kind], is[kind]
		if old == nil {
			continue
		}
		d.result(at, old, now)
		switch {
		case old.Items != nil && now.Items != nil:
			d.returned(at+"[]", old.Items, now.Items)
		case old.Items != nil:
			d.add(ChangeBreaks, "the items of %s may be anything now", at)
		case now.Items != nil:
			d.add(ChangeSafe, "the items of %s are of one kind now", at)
		}
	}
}

// kindAny is the kind of a schema that says nothing of types.
const kindAny = "any"

// kinds are the alternatives of a schema by JSON type.
func (s *shape) kinds() map[string]*shape {
	if len(s.AnyOf) > 0 {
		kinds := map[string]*shape{}
		for _, alternative := range s.AnyOf {
			maps.Copy(kinds, alternative.kinds())
		}
		return kinds
	}
	if s.Type == "" {
		return map[string]*shape{kindAny: s}
	}
	return map[string]*shape{s.Type: s}
}

// kindsGone are the kinds of before that after does not admit.
func kindsGone(before, after map[string]*shape) []string {
	if after[kindAny] != nil {
		return nil
	}
	var gone []string
	for _, kind := range slices.Sorted(maps.Keys(before)) {
		if after[kind] != nil || kind == "integer" && after["number"] != nil {
			continue
		}
		gone = append(gone, kind)
	}
	return gone
}

func kindWords(kinds map[string]*shape) string {
	if kinds[kindAny] != nil {
		return "any value"
	}
	return strings.Join(slices.Sorted(maps.Keys(kinds)), " or ")
}

// maxWords bounds the values that a summary names.
const maxWords = 6

// word is a name of the database or the file in a summary.
func word(s string) string { return oneLine(s, 80) }

func wordList(list []string) string {
	words := make([]string, 0, len(list))
	for _, s := range list[:min(len(list), maxWords)] {
		words = append(words, word(s))
	}
	if more := len(list) - maxWords; more > 0 {
		words = append(words, strconv.Itoa(more)+" more")
	}
	return strings.Join(words, ", ")
}
