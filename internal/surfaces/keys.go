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
		known: []string{"version", "title", "instructions", "access", "context", "authorizer", "tools"},
		later: map[string]string{
			"resources": "offer the same rows with a table tool",
			"prompts":   noInstead,
			"visible":   "write it in access, where it counts for every tool",
			"allow":     "write it in access, where it counts for every tool",
			"meta":      "give it to the tools that need it",
		},
	}
	accessKeys = keys{
		known: []string{"mode", "authorization", "issuer", "audience", "clients", "introspection", "keys", "public", "isolation",
			"session_check", "advertise", "require", "scopes_from", "roles", "anonymous_users", "required_roles", "aal", "origins",
			"documentation", "visible", "allow"},
		later: map[string]string{
			"public_tasks":  noInstead,
			"limits":        "write public: { … } for callers without a token",
			"claims":        "write required_roles, or a rule: visible or allow",
			"approval_page": noInstead,
		},
	}
	introspectionKeys = keys{known: []string{"client_id", "endpoint"}}
	functionKeys      = keys{known: []string{"rpc"}}
	publicKeys        = keys{known: []string{"confirm", "calls", "per", "total"}}
	scopesFromKeys    = keys{known: []string{"claim", "rpc"}}
	requiredRolesKeys = keys{known: []string{"claim", "roles"}}
	allowKeys         = keys{known: []string{"rule", "reason"}}
	// laterTool are the later keys that any tool may have.
	laterTool = map[string]string{
		"confirm":   "leave it out; clients ask before a tool that is not read-only",
		"questions": noInstead,
		"task":      "leave it out; the call answers within the project's statement timeout",
		"stream":    noInstead,
		"schema":    "leave it out; the schema comes from the database",
		"context":   "write context: { rpc: … } once, beside access",
		"limits":    noInstead,
	}
	tableKeys = keys{
		known: []string{"table", "operations", "columns", "key", "filters", "order", "limit", "shorten", "name", "title",
			"description", "scopes", "visible", "allow", "permission", "aal", "meta", "public", "result", "template", "guidance", "budget",
			"search", "embed", "write", "set", "guard", "dedupe", "max_affected"},
		later: laterTool,
	}
	rpcKeys = keys{
		known: []string{"tool", "rpc", "title", "description", "arguments", "input", "annotations", "scopes", "visible", "allow", "permission",
			"aal", "meta", "privileged", "public", "result", "template", "guidance", "budget"},
		later: laterTool,
	}
	filterKeys     = keys{known: []string{"operators", "required", "hidden_ok"}}
	orderKeys      = keys{known: []string{"column", "direction", "nulls", "hidden_ok"}}
	searchKeys     = keys{known: []string{"columns", "mode", "config", "hidden_ok"}}
	embedKeys      = keys{known: []string{"table", "via", "kind", "columns", "order", "limit"}}
	writeKeys      = keys{known: []string{"null", "description", "required", "enum", "pattern", "min_length", "max_length", "minimum", "maximum", "max_items"}}
	setKeys        = keys{known: []string{"claim", "context", "value"}}
	limitKeys      = keys{known: []string{"default", "max"}}
	guidanceKeys   = keys{known: []string{"before", "after"}}
	operationKeys  = keys{known: []string{opList, opGet, opCreate, opUpdate, opDelete}, later: laterOperations}
	annotationKeys = keys{known: []string{"read_only", "destructive", "idempotent", "open_world"}}
	argumentKeys   = keys{known: []string{"description", "required", "enum", "pattern", "min_length", "max_length", "minimum", "maximum", "max_items"}}
	inputKeys      = keys{known: []string{"type", "properties", "required", "additionalProperties"}}
	propertyKeys   = keys{known: []string{"type", "description", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum", "maxItems"}}

	laterOperations = map[string]string{
		"upsert": "offer create and update, or write an rpc tool that does both",
	}
	// laterTools are entries of tools that this version does not have.
	laterTools = map[string]string{
		"function": "offer a Postgres function with rpc instead",
		"storage":  "offer rows with a table tool, or a Postgres function with rpc",
	}
)
