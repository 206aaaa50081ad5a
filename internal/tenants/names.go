package tenants

import (
	"regexp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// MainSurface is the surface a project's shortest URL leads to.
const MainSurface = "main"

// Names of organizations, projects and surfaces are 3 to 40 characters.
const (
	minName = 3
	maxName = 40
)

var namePattern = regexp.MustCompile(`^[a-z][a-z0-9]*(-[a-z0-9]+)*$`)

// reservedProjects are first path segments and host labels that are ours or
// will be, and names under which a page would be taken for somebody else's.
var reservedProjects = set(`
	www api app admin auth oauth login account connect dashboard docs help mail mcp ns schema status static support
	tasks healthz readyz metrics authorize token register revoke callback river
	chumbo
	claude chatgpt openai anthropic cursor vscode copilot gemini codex windsurf cline goose zed raycast inspector
	perplexity mistral grok deepseek
	google github gitlab apple microsoft azure facebook meta twitter discord slack linkedin okta keycloak cognito
	supabase workos spotify notion figma twitch bitbucket kakao zoom amazon`)

// reservedSurfaces are second path segments that mean something else.
var reservedSurfaces = set(`
	oauth authorize token register revoke jwks connect tasks events sse mcp oauth-protected-resource`)

// ReservedProjectNames lists every name no project can have, sorted.
func ReservedProjectNames() []string {
	names := make([]string, 0, len(reservedProjects))
	for name := range reservedProjects {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// CheckProjectSlug refuses a name no project can have, with fault.Invalid.
func CheckProjectSlug(slug string) error { return checkName("project", slug, reservedProjects) }

// CheckSurfaceSlug refuses a name no surface can have, with fault.Invalid.
func CheckSurfaceSlug(slug string) error { return checkName("surface", slug, reservedSurfaces) }

func checkName(kind, slug string, reserved map[string]bool) error {
	switch {
	case len(slug) < minName || !nameShaped(slug):
		return fault.New(fault.Invalid, "name_invalid",
			"This %s name cannot be used. Take %d to %d lower-case letters and digits, in parts joined by single hyphens, beginning with a letter, such as acme-crm.", kind, minName, maxName)
	case reserved[slug]:
		return fault.New(fault.Invalid, "name_reserved", "The %s name %q is reserved. Take another, such as %s-app.", kind, slug, slug)
	}
	return nil
}

// nameShaped reports whether text has the form of a name. What has not is
// nobody's name, and may be nothing the database would take.
func nameShaped(text string) bool { return len(text) <= maxName && namePattern.MatchString(text) }

// titleShaped reports whether text can be what people call something: one line
// of 1 to 80 characters that reads as what it is.
func titleShaped(text string) bool {
	n := utf8.RuneCountInString(text)
	return n >= 1 && n <= 80 && utf8.ValidString(text) && !strings.ContainsFunc(text, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r)
	})
}

// slugOf makes a name out of what people call something; ok is false when
// nothing usable is left.
func slugOf(name string) (slug string, ok bool) {
	var b strings.Builder
	for _, r := range strings.ToLower(name) {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' {
			b.WriteRune(r)
			continue
		}
		if s := b.String(); s != "" && !strings.HasSuffix(s, "-") {
			b.WriteByte('-')
		}
	}
	slug = strings.TrimLeft(strings.Trim(b.String(), "-"), "0123456789-")
	if len(slug) > maxName-9 { // room for a suffix that makes it unique
		slug = strings.TrimRight(slug[:maxName-9], "-")
	}
	return slug, len(slug) >= minName && namePattern.MatchString(slug)
}

func set(words string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}
