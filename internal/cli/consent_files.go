package cli

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"html"
	"io/fs"
	"regexp"
	"strings"

	"github.com/BurntSushi/toml"
)

// consentSources are the page's parts and the function, as they are edited.
//
//go:embed consent/page.html consent/page.css consent/page.js consent/index.ts
var consentSources embed.FS

const (
	consentFunctionPath = "supabase/functions/chumbo-consent/index.ts"
	consentSection      = "[functions.chumbo-consent]"
)

// What becomes of a file, beside unchanged and refused, as --json says it.
const (
	outcomeWritten  = "written"
	outcomeReplaced = "replaced"
	outcomeMissing  = "missing" // there is no such file, and none is made
)

// consentFile is one file of the consent page.
type consentFile struct {
	ID      string `json:"id"`
	Path    string `json:"file"`
	Outcome string `json:"outcome"` // what is done with it; with --dry-run, what would be

	text     string // what it shall hold
	why, fix string // of a refusal
}

// compare says what is to be done with the file. One that is as some chumbo
// consent wrote it may be replaced; one that was changed since may not.
func (f *consentFile) compare(repo *repository, force bool) error {
	old, err := repo.read(f.Path, maxText)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		f.Outcome = outcomeWritten
	case err != nil:
		return err
	case old == f.text:
		f.Outcome = outcomeUnchanged
	case force || stamped(old):
		f.Outcome = outcomeReplaced
	default:
		f.Outcome = outcomeRefused
		f.why = "was changed since chumbo consent wrote it, or was written by something else; it was left as it is"
		f.fix = "chumbo consent --force replaces it; or keep yours, and move what is new in docs/consent.md into it by hand"
	}
	return nil
}

func consentSource(name string) string {
	b, err := consentSources.ReadFile("consent/" + name)
	if err != nil {
		panic(err) // embedded: it is there
	}
	return string(b)
}

// consentPage is the page of one project, one file that loads nothing: its
// policy names its own style and script by their digests, and the project as
// the only place to speak to.
func consentPage(project, key, title string) string {
	style, script := "\n"+consentSource("page.css"), "\n"+consentSource("page.js")
	policy := "default-src 'none'; script-src '" + cspDigest(script) + "'; style-src '" + cspDigest(style) + "'; connect-src " + project +
		"; base-uri 'none'; form-action 'none'"
	page := strings.NewReplacer( // in one pass: nothing that is put in is looked at again
		"{{policy}}", policy, "{{style}}", style, "{{script}}", script,
		"{{project}}", html.EscapeString(project), "{{key}}", html.EscapeString(key), "{{app}}", html.EscapeString(title),
	).Replace(consentSource("page.html"))
	return stamp(page, "<!-- ", " -->")
}

func consentFunction() string { return stamp(consentSource("index.ts"), "// ", "") }

// cspDigest is a source expression of a Content Security Policy (CSP level 3,
// section 2.3.1).
func cspDigest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return "sha256-" + base64.StdEncoding.EncodeToString(sum[:])
}

const stampText = "Written by chumbo consent; sha256 of the lines above: "

// stamp adds a last line by which a later run sees whether somebody changed
// the file.
func stamp(text, before, after string) string {
	return text + before + stampText + digestOf(text) + after + "\n"
}

func stamped(text string) bool {
	at := strings.LastIndex(strings.TrimSuffix(text, "\n"), "\n") + 1
	_, rest, found := strings.Cut(text[at:], stampText)
	return found && strings.HasPrefix(rest, digestOf(text[:at]))
}

func digestOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// consentConfig is supabase/config.toml with the function's section: the page
// shows the function's own refusals, so the platform must not answer for it. A
// section that is there already is the builder's.
func consentConfig(repo *repository) (consentFile, error) {
	f := consentFile{ID: "config", Path: configPath}
	byHand := "Write it there yourself:\n" + consentSection + "\nverify_jwt = false"
	old, err := repo.read(configPath, maxText)
	if errors.Is(err, fs.ErrNotExist) {
		f.Outcome, f.why, f.fix = outcomeMissing, "is not there, and was not made", "Deploy with --no-verify-jwt, or run supabase init and this again."
		return f, nil
	}
	if err != nil {
		return f, err
	}
	section, err := readConsentSection(old)
	switch {
	case err != nil:
		return f, usage("%s is not valid TOML: %v", configPath, err)
	case section.there && section.verifies:
		f.Outcome, f.why, f.fix = outcomeRefused, "has the function's section, without verify_jwt = false", byHand
		return f, nil
	case section.there:
		f.Outcome = outcomeUnchanged
		return f, nil
	}
	f.Outcome, f.text = outcomeReplaced, withConsentSection(old)
	added, err := readConsentSection(f.text)
	if err != nil || section.inline || !added.there || added.verifies {
		f.Outcome, f.why, f.fix = outcomeRefused, "is written in a way that the section cannot be added to", byHand
	}
	return f, nil
}

// withConsentSection adds the section at the end and keeps the rest, its line
// ends too.
func withConsentSection(text string) string {
	end := "\n"
	if strings.Contains(text, "\r\n") {
		end = "\r\n"
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += end
	}
	return text + end + consentSection + end + "# The function looks at tokens itself, and answers the browser's preflight, which has none." + end + "verify_jwt = false" + end
}

// consentSectionState is what config.toml says of the function.
type consentSectionState struct {
	there    bool
	verifies bool // without a value the platform does
	inline   bool // all functions stand in one inline table, which no section can add to
}

var functionsTable = regexp.MustCompile(`(?m)^\s*\[\s*"?functions"?\s*[.\]]`)

func readConsentSection(config string) (consentSectionState, error) {
	var c struct {
		Functions map[string]struct {
			VerifyJWT *bool `toml:"verify_jwt"`
		} `toml:"functions"`
	}
	if _, err := toml.Decode(config, &c); err != nil {
		return consentSectionState{}, err
	}
	section, there := c.Functions["chumbo-consent"]
	return consentSectionState{
		there: there, verifies: section.VerifyJWT == nil || *section.VerifyJWT,
		inline: c.Functions != nil && !functionsTable.MatchString(config),
	}, nil
}
