package web

import "time"

// Frame is what stands around every page of the dashboard.
type Frame struct {
	Title         string
	Here          string // entry of the navigation the page belongs to
	Email         string // of who is signed in
	Organization  string // they work in; empty for none yet
	Organizations []FrameOrganization
	CSRF          string
	Said          string // one sentence about what was just done
	Version       string
}

// FrameOrganization is an organization in the switcher.
type FrameOrganization struct {
	Slug, Name string
	Current    bool
}

// The entries of the navigation.
const (
	HereProjects = "Projects"
	HereTokens   = "API tokens"
	HereAccount  = "Account"
)

var navigation = []struct{ Name, Path string }{
	{HereProjects, "/app"}, {HereTokens, "/app/tokens"}, {HereAccount, "/app/account"},
}

// Common is what every part of a page may need.
type Common struct {
	CSRF          string
	Now           time.Time
	PublicURL     string // of this server
	MayWrite      bool   // change projects and surfaces
	MayAdminister bool   // rename, delete, make API tokens
}

// Form is a form shown again after it was refused. The zero value is one that
// was not sent yet.
type Form struct {
	Values  map[string]string // what was typed; never a secret
	Refusal string            // why, in a sentence
	Field   string            // which field it is about; empty for the whole
}

// wrong is the refusal of one field.
func (f Form) wrong(field string) string {
	if f.Field == field {
		return f.Refusal
	}
	return ""
}

// loose is a refusal that belongs to none of these fields.
func (f Form) loose(fields ...string) string {
	for _, field := range fields {
		if f.Field == field {
			return ""
		}
	}
	return f.Refusal
}

// or is what was typed into a field, or else a suggestion.
func (f Form) or(field, suggestion string) string {
	if value, typed := f.Values[field]; typed {
		return value
	}
	return suggestion
}

// Field is one line of a form.
type Field struct {
	Name, Label, Help, Value string
	Type                     string // text when empty
	Autocomplete             string // off when empty
	Placeholder              string
	Mode                     string // inputmode
	Before                   string // a fixed text in front
	Mono, Optional           bool
	Max                      int
}

func (f Field) kind() string {
	if f.Type == "" {
		return "text"
	}
	return f.Type
}

func (f Field) complete() string {
	if f.Autocomplete == "" {
		return "off"
	}
	return f.Autocomplete
}

// describedBy lists what explains the field.
func (f Field) describedBy(form Form) string {
	ids := ""
	if form.wrong(f.Name) != "" {
		ids = f.Name + "-wrong"
	}
	if f.Help != "" {
		if ids != "" {
			ids += " "
		}
		ids += f.Name + "-help"
	}
	return ids
}

// said are the sentences a page may open with. They are named in addresses, so
// that nobody can put words of their own into a page.
var said = map[string]string{
	"proven":          "Ownership is proven. What you publish of this project is served from now on.",
	"registered":      "The project is registered. Prove that it is yours, and it can be served.",
	"checked":         "The project was checked again.",
	"imported":        "The schema is imported.",
	"named":           "The name is changed.",
	"logo":            "The logo is on the connect pages now.",
	"logo-removed":    "The logo is gone.",
	"renamed":         "The project has another address. The old one keeps working.",
	"key":             "The publishable key is replaced.",
	"sign-in":         "Saved. It counts for everybody who signs in from now on.",
	"sign-in-client":  "The client is kept. The next sign-in uses it.",
	"sign-in-forget":  "The client is forgotten.",
	"project-deleted": "The project is deleted. Its names stay yours.",
	"surface-deleted": "The surface is deleted, and its addresses answer nobody any more.",
	"revoked":         "The API token is revoked.",
	"password":        "The password is changed, and your other sessions have ended.",
	"dismissed":       "The notice is dismissed.",
	"switched":        "You work in another organization now.",
	"organization":    "The organization is made, and you work in it now.",
	"approved":        "Approved. Go back to the terminal: it is signed in.",
	"denied":          "Denied. The terminal has been told.",
}

// Said is the sentence of that name, or none.
func Said(name string) string { return said[name] }

// Problem is a page that says what went wrong.
type Problem struct {
	Status  int
	Title   string
	Text    string // what happened, why, and the next step
	Issues  []string
	TraceID string
}
