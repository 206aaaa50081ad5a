package surfaces

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"regexp"
	"strings"
)

// toolName is what every client accepts as the name of a tool.
var toolName = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

const (
	maxToolName  = 64
	goodToolName = 40 // clients put a prefix of their own before it
)

// safeName maps a database name to letters, digits and underscores.
func safeName(name string) string {
	var b strings.Builder
	gap := false
	for _, c := range name {
		if c == '_' || c == '-' || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') {
			if gap && b.Len() > 0 {
				b.WriteByte('_')
			}
			gap = false
			b.WriteRune(c)
			continue
		}
		gap = true
	}
	if b.Len() == 0 {
		return "x" + shortHash(name)
	}
	return b.String()
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:3])
}

// derivedName makes a tool's name of a database name and a suffix. What is too
// long is cut and told apart by a hash of the whole.
func derivedName(base, suffix string) string {
	name := safeName(base)
	if len(name)+len(suffix) > maxToolName {
		hash := "_" + shortHash(base)
		name = name[:maxToolName-len(suffix)-len(hash)] + hash
	}
	return name + suffix
}

// checkToolName checks a name that the builder chose.
func (r *report) checkToolName(t Text) {
	if t.Value != "" && !toolName.MatchString(t.Value) {
		r.errorf(t.at, "%s cannot be the name of a tool (letters, digits, _ and - only, at most %d): write %s", quoteName(t.Value), maxToolName, derivedName(t.Value, ""))
	}
}

// nameTools makes names unique: those the builder chose stand, derived ones
// that collide get a number, in the order of the file, and the builder is told.
func (c *compiler) nameTools() {
	taken := map[string]place{}
	for _, m := range c.made {
		if !m.explicit {
			continue
		}
		name := m.tool.Name
		if first, twice := taken[name]; twice {
			c.errorf(m.at, "the tool name %s is taken by the tool on line %d", name, first.line)
			continue
		}
		taken[name] = m.at
	}
	for i := range c.made {
		m := &c.made[i]
		if m.explicit {
			continue
		}
		name := m.tool.Name
		for n := 2; ; n++ {
			if _, twice := taken[name]; !twice {
				break
			}
			suffix := fmt.Sprintf("_%d", n)
			name = m.tool.Name[:min(len(m.tool.Name), maxToolName-len(suffix))] + suffix
		}
		if name != m.tool.Name {
			key := "name"
			if m.tool.Function != nil {
				key = "tool"
			}
			c.warnf(m.at, "the tool is named %s, because %s is taken by the tool on line %d; choose a name with the key %s", name, m.tool.Name, taken[m.tool.Name].line, key)
		}
		taken[name] = m.at
		m.tool.Name = name
	}
	c.nameDetailTools()
	c.nameReadTools()
}

// nameDetailTools tells each list which tool returns one of its rows whole.
func (c *compiler) nameDetailTools() {
	details := map[Relation]string{}
	for _, m := range c.made {
		if m.tool.Get != nil && details[m.tool.Get.Relation] == "" {
			details[m.tool.Get.Relation] = m.tool.Name
		}
	}
	for i := range c.made {
		if list := c.made[i].tool.List; list != nil {
			list.DetailTool = details[list.Relation]
		}
	}
}
