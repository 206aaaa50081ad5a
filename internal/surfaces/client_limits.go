package surfaces

import (
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
