package surfaces

// keys lists the keys of one mapping of a surface file: those this version
// reads, those the format will have later, each with what to do instead, and
// those that belong elsewhere, each with the reason.
type keys struct {
	known []string
	later map[string]string
	never map[string]string
}

const noInstead = "leave it out"

var (
	fileKeys = keys{
		known: []string{"version", "title", "instructions", "access", "context", "authorizer", "tools", "resources", "prompts"},
		later: map[string]string{
			"visible": "write it in access, where it counts for every tool, resource and prompt",
			"allow":   "write it in access, where it counts for every tool, resource and prompt",
			"meta":    "give it to the tools, resources and prompts that need it",
		},
	}
	accessKeys = keys{
		known: []string{"mode", "authorization", "issuer", "audience", "clients", "introspection", "keys", "public", "isolation",
			"session_check", "advertise", "require", "scopes_from", "roles", "anonymous_users", "required_roles", "aal", "origins",
			"documentation", "visible", "allow", "approval_page"},
		later: map[string]string{
			"public_tasks": noInstead,
			"limits":       "write public: { … } for callers without a token",
			"claims":       "write required_roles, or a rule: visible or allow",
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
		"task":    "leave it out; the call answers within the project's statement timeout",
		"context": "write context: { rpc: … } once, beside access",
		"limits":  noInstead,
	}
	// neverData are what tools over the database never have.
	neverData = map[string]string{
		"stream":  "only an Edge Function streams: a tool with function: has it",
		"asks":    "only an Edge Function asks by itself: write questions, or confirm",
		"schema":  "the schema comes from the database",
		"output":  "what is returned comes from the database",
		"timeout": "the project's statement timeout counts",
	}
	tableKeys = keys{
		known: []string{"table", "operations", "columns", "key", "filters", "order", "limit", "shorten", "name", "title",
			"description", "scopes", "visible", "allow", "permission", "aal", "meta", "public", "result", "template", "guidance", "budget",
			"search", "embed", "write", "set", "guard", "dedupe", "max_affected", "confirm", "questions"},
		later: laterTool, never: neverData,
	}
	rpcKeys = keys{
		known: []string{"tool", "rpc", "title", "description", "arguments", "input", "annotations", "scopes", "visible", "allow", "permission",
			"aal", "meta", "privileged", "public", "result", "template", "guidance", "budget", "confirm", "questions"},
		later: laterTool, never: neverData,
	}
	edgeKeys = keys{
		known: []string{"tool", "function", "title", "description", "input", "schema", "output", "annotations", "timeout", "stream", "asks", "scopes", "visible",
			"allow", "permission", "aal", "meta", "privileged", "public", "result", "template", "guidance", "budget", "confirm", "questions"},
		later: map[string]string{"task": "leave it out; write timeout, at most 150s", "context": laterTool["context"], "limits": noInstead},
		never: map[string]string{"arguments": "nothing is known of an Edge Function's arguments: write input, as a JSON Schema"},
	}
	storageKeys = keys{
		known: []string{"storage", "operations", "prefix", "inline", "types", "max_bytes", "overwrite", "public_bucket", "limit", "name", "title", "description",
			"scopes", "visible", "allow", "permission", "aal", "meta", "public", "guidance", "budget", "confirm"},
		later: map[string]string{"task": "leave it out; uploads are small", "context": laterTool["context"], "limits": noInstead},
		never: map[string]string{
			"result":    "a file is content, and the others have one form",
			"template":  "a file is content, and the others have one form",
			"questions": "nothing of a file is asked of people: write confirm",
			"path":      "write prefix for the folder; the tool takes the path",
			"stream":    "only an Edge Function streams: a tool with function: has it",
			"write":     "write operations: [list, read, upload]",
		},
	}
	questionKeys   = keys{known: []string{"message", "arguments"}}
	filterKeys     = keys{known: []string{"operators", "required", "hidden_ok"}}
	orderKeys      = keys{known: []string{"column", "direction", "nulls", "hidden_ok"}}
	searchKeys     = keys{known: []string{"columns", "mode", "config", "hidden_ok"}}
	embedKeys      = keys{known: []string{"table", "via", "kind", "columns", "order", "limit"}}
	writeKeys      = keys{known: []string{"null", "description", "required", "enum", "pattern", "min_length", "max_length", "minimum", "maximum", "max_items"}}
	setKeys        = keys{known: []string{"claim", "context", "value"}}
	limitKeys      = keys{known: []string{"default", "max"}}
	guidanceKeys   = keys{known: []string{"before", "after"}}
	operationKeys  = keys{known: []string{opList, opGet, opCreate, opUpdate, opDelete}, later: laterOperations}
	fileOperations = keys{known: []string{opList, opRead, opUpload}, never: neverFiles}
	annotationKeys = keys{known: []string{"read_only", "destructive", "idempotent", "open_world"}}
	argumentKeys   = keys{known: []string{"description", "required", "enum", "pattern", "min_length", "max_length", "minimum", "maximum", "max_items"}}
	inputKeys      = keys{known: []string{"type", "properties", "required", "additionalProperties"}}
	propertyKeys   = keys{known: []string{"type", "description", "enum", "pattern", "minLength", "maxLength", "minimum", "maximum", "maxItems"}}

	laterOperations = map[string]string{
		"upsert": "offer create and update, or write an rpc tool that does both",
	}
	// neverFiles are operations that nobody should look for.
	neverFiles = map[string]string{
		"get": "write read", "create": "write upload", "update": "write upload, with overwrite: true", "delete": "agents never remove files: an Edge Function may",
	}
)
