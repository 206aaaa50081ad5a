package surfaces

// keys lists the keys of one mapping of a surface file: those this version
// reads, and those the format will have later, each with what to do instead.
type keys struct {
	known []string
	later map[string]string
}

const noInstead = "leave it out"

var (
	fileKeys = keys{
		known: []string{"version", "title", "instructions", "access", "tools"},
		later: map[string]string{
			"resources": "offer the same rows with a table tool",
			"prompts":   noInstead,
			"context":   "let the database decide by Row Level Security",
			"visible":   "use scopes, or let the database decide by Row Level Security",
			"allow":     "use scopes, or let the database decide by Row Level Security",
			"meta":      noInstead,
		},
	}
	accessKeys = keys{
		known: []string{"mode", "authorization", "advertise", "require", "roles", "anonymous_users", "origins"},
		later: map[string]string{
			"scopes_from":   "name only scopes the project's own OAuth server can issue",
			"isolation":     "leave it out; tokens are trusted for the whole project",
			"session_check": "leave it out; a token revoked at Supabase ends when it expires",
			"public_tasks":  noInstead,
			"issuer":        "write authorization: bridge, which signs users in by the project's own Supabase Auth",
			"audience":      noInstead,
			"introspection": noInstead,
			"keys":          noInstead,
			"limits":        noInstead,
			"aal":           "check aal in a Row Level Security policy",
			"claims":        "check claims in a Row Level Security policy",
			"visible":       "use scopes, or let the database decide by Row Level Security",
			"allow":         "use scopes, or let the database decide by Row Level Security",
			"approval_page": noInstead,
		},
	}
	// laterTool are the later keys that any tool may have.
	laterTool = map[string]string{
		"confirm":      "leave it out; clients ask before a tool that is not read-only",
		"questions":    noInstead,
		"task":         "leave it out; the call answers within the project's statement timeout",
		"stream":       noInstead,
		"schema":       "leave it out; the schema comes from the database",
		"visible":      "use scopes, or let the database decide by Row Level Security",
		"allow":        "use scopes, or let the database decide by Row Level Security",
		"meta":         noInstead,
		"context":      "let the database decide by Row Level Security",
		"privileged":   "make the function SECURITY INVOKER",
		"set":          "use a column default",
		"aal":          "check aal in a Row Level Security policy",
		"limits":       noInstead,
		"embed":        "offer the related table as a tool of its own, or use a view or an rpc tool",
		"guard":        "leave it out; this version reads tables and calls functions",
		"dedupe":       "leave it out; this version reads tables and calls functions",
		"max_affected": "leave it out; this version reads tables and calls functions",
	}
	tableKeys = keys{
		known: []string{"table", "operations", "columns", "key", "filters", "order", "limit", "shorten", "name", "title",
			"description", "scopes", "public", "result", "template", "guidance", "budget"},
		later: laterTool,
	}
	rpcKeys = keys{
		known: []string{"tool", "rpc", "title", "description", "arguments", "input", "annotations", "scopes", "public",
			"result", "template", "guidance", "budget"},
		later: laterTool,
	}
	filterKeys     = keys{known: []string{"operators", "required", "hidden_ok"}}
	orderKeys      = keys{known: []string{"column", "direction", "nulls", "hidden_ok"}}
	limitKeys      = keys{known: []string{"default", "max"}}
	guidanceKeys   = keys{known: []string{"before", "after"}}
	operationKeys  = keys{known: []string{opList, opGet}, later: laterOperations}
	annotationKeys = keys{known: []string{"read_only", "destructive", "idempotent", "open_world"}}
	argumentKeys   = keys{known: []string{"description", "required", "enum", "pattern", "min_length", "max_length", "minimum", "maximum", "max_items"}}
	inputKeys      = keys{known: []string{"type", "properties", "required", "additionalProperties"}}
	propertyKeys   = keys{known: []string{"type", "description", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum", "maxItems"}}

	laterOperations = map[string]string{
		"create": "write an rpc tool that inserts",
		"update": "write an rpc tool that updates",
		"upsert": "write an rpc tool that inserts or updates",
		"delete": "write an rpc tool that deletes",
	}
	// laterTools are entries of tools that this version does not have.
	laterTools = map[string]string{
		"function": "offer a Postgres function with rpc instead",
		"storage":  "offer rows with a table tool, or a Postgres function with rpc",
	}
	laterModes = map[string]string{
		"bearer":  "write mode: oauth",
		"api-key": "write mode: oauth",
	}
	laterAuthorizations = map[string]string{
		"external": "write authorization: bridge",
	}
)
