package surfaces

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// ClientLimit is a bound that an AI app sets by itself, as reported or
// documented; docs/client-compatibility.md lists them all.
type ClientLimit struct {
	Client string // as docs/client-compatibility.md names it
	Of     string // one of the Limit constants
	Most   int
	Around int    // of LimitServerAndTool: characters of the client's own
	Beyond string // what it does with more, after its name
}

// What a client bounds.
const (
	LimitTool          = "characters of a tool's name"
	LimitServerAndTool = "characters of the server's name and the tool's"
	LimitTools         = "tools"
	LimitInstructions  = "characters of instructions"
)

var clientLimits = []ClientLimit{
	{Client: "Claude (web, Desktop, mobile, Cowork)", Of: LimitTool, Most: maxToolName, Beyond: "refuses the tool"},
	{Client: "Claude Code", Of: LimitServerAndTool, Most: 128, Around: len("mcp__" + "__"), Beyond: "leaves the tool out"},
	{Client: "Cursor", Of: LimitServerAndTool, Most: 60, Beyond: "leaves the tool out"},
	{Client: "Gemini CLI", Of: LimitServerAndTool, Most: 63, Around: len("mcp_" + "_"), Beyond: "cuts the name in its middle"},
	{Client: "VS Code", Of: LimitTools, Most: 128, Beyond: "takes no more in one request, those of other servers among them"},
	{Client: "Codex", Of: LimitInstructions, Most: 512, Beyond: "reads no further"},
}

// ClientLimits are the bounds that clients set by themselves.
func ClientLimits() []ClientLimit { return slices.Clone(clientLimits) }

// Exceeded reports whether what a client is given is beyond the limit. The
// name of the server is what a person calls it in the client.
func (l ClientLimit) Exceeded(server, instructions string, tools []string) bool {
	longest := 0
	for _, name := range tools {
		longest = max(longest, len(name))
	}
	switch l.Of {
	case LimitTool:
		return longest > l.Most
	case LimitServerAndTool:
		return longest+len(server)+l.Around > l.Most
	case LimitTools:
		return len(tools) > l.Most
	case LimitInstructions:
		return utf8.RuneCountInString(instructions) > l.Most
	}
	return true
}

// roomForServer is how long the name of a server may well be.
const roomForServer = 18

// lintClients warns of what single clients drop.
func (c *compiler) lintClients() {
	for _, l := range clientLimits {
		switch {
		case l.Of == LimitTools && len(c.made) > l.Most:
			c.warnf(c.made[l.Most].at, "%s: %s takes %d in one request, those of other servers among them", plural(len(c.made), "tool"), l.Client, l.Most)
		case l.Of == LimitInstructions && l.Exceeded("", c.out.Instructions, nil):
			c.warnf(c.file.Instructions.at, "instructions are %d characters long, and %s reads the first %d: what counts most belongs at the beginning",
				utf8.RuneCountInString(c.out.Instructions), l.Client, l.Most)
		}
	}
	for _, m := range c.made {
		if len(m.tool.Name) > goodToolName {
			c.warnf(m.at, "the tool name %s is %d characters long, and clients put the server's before it%s; %d or fewer is safe",
				m.tool.Name, len(m.tool.Name), serverRoom(m.tool.Name), goodToolName)
		}
	}
}

// serverRoom says which clients lose a tool of this name, and from which
// length of the server's name on.
func serverRoom(tool string) string {
	var told []string
	for _, l := range clientLimits {
		if l.Of != LimitServerAndTool {
			continue
		}
		switch left := l.Most - l.Around - len(tool); {
		case left < 1:
			told = append(told, fmt.Sprintf("%s %s", l.Client, l.Beyond))
		case left < roomForServer:
			told = append(told, fmt.Sprintf("%s %s where that is over %d", l.Client, l.Beyond, left))
		}
	}
	if len(told) == 0 {
		return ""
	}
	return ": " + strings.Join(told, ", ")
}

// AuthoredLimit is what an AI app does with an input schema that uses more of
// JSON Schema than this package emits by itself, as reported or documented;
// docs/client-compatibility.md lists them all.
type AuthoredLimit struct {
	Client string // as docs/client-compatibility.md names it
	Of     string // one of the Authored constants
	Beyond string // what it does with it, after its name
}

// What of an authored schema clients do not take.
const (
	AuthoredRoot  = "alternatives at the root" // allOf, anyOf, oneOf, not, if
	AuthoredItems = "lists without `items`"
	AuthoredNames = "property names of other characters"
)

var authoredLimits = []AuthoredLimit{
	{Client: "Claude (web, Desktop, mobile, Cowork)", Of: AuthoredRoot, Beyond: "may refuse the tool"},
	{Client: "Claude Code", Of: AuthoredRoot, Beyond: "may refuse the tool"},
	{Client: "ChatGPT", Of: AuthoredRoot, Beyond: "may refuse a request with all its tools"},
	{Client: "Codex", Of: AuthoredRoot, Beyond: "may refuse a request with all its tools"},
	{Client: "VS Code", Of: AuthoredItems, Beyond: "leaves the tool out"},
	{Client: "VS Code", Of: AuthoredNames, Beyond: "leaves the tool out"},
}

// AuthoredLimits are what clients do with what authored schemas may hold.
func AuthoredLimits() []AuthoredLimit { return slices.Clone(authoredLimits) }

// lintAuthored names the clients that lose a tool by its authored schema.
func (c *compiler) lintAuthored() {
	for _, t := range c.file.Tools {
		if t.Function == nil || !t.Function.Authored {
			continue
		}
		uses := authoredUses(t.Function.Input.raw)
		var told []string
		for _, l := range authoredLimits {
			if slices.Contains(uses, l.Of) {
				told = append(told, l.Client+" "+l.Beyond)
			}
		}
		words := "the schema is sent as it stands from protocol version 2025-11-25 on, and clients of older ones are told { type: object } alone"
		if len(told) > 0 {
			words += "; of " + sentenceList(uses) + ": " + strings.Join(told, ", ")
		}
		c.warnf(t.Function.Input.at, "%s", strings.ReplaceAll(words, "`", ""))
	}
}

// authoredUses is what of an authored schema some clients do not take.
func authoredUses(raw json.RawMessage) []string {
	var root any
	if json.Unmarshal(raw, &root) != nil {
		return nil
	}
	var uses []string
	use := func(what string) {
		if !slices.Contains(uses, what) {
			uses = append(uses, what)
		}
	}
	var walk func(v any)
	walk = func(v any) {
		s, ok := v.(map[string]any)
		if !ok {
			return
		}
		if s["type"] == "array" && s["items"] == nil {
			use(AuthoredItems)
		}
		named, _ := s["properties"].(map[string]any)
		for name := range named {
			if !argumentName.MatchString(name) {
				use(AuthoredNames)
			}
		}
		inside(s, func(_, _ string, schema any) { walk(schema) })
	}
	if s, ok := root.(map[string]any); ok && slices.ContainsFunc(rootCombinators, func(key string) bool { return s[key] != nil }) {
		use(AuthoredRoot)
	}
	walk(root)
	slices.Sort(uses)
	return uses
}
