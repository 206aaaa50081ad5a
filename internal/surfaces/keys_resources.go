package surfaces

import "slices"

// capabilityKeys are those of every resource and prompt.
var capabilityKeys = []string{"title", "description", "scopes", "visible", "allow", "permission", "aal", "meta", "public", "budget"}

// neverResource are keys of tools that resources and prompts never have.
var neverResource = map[string]string{
	"confirm":     "nobody is asked before something is read",
	"questions":   "nobody is asked before something is read; an Edge Function may ask: write asks: true",
	"annotations": "it only reads",
	"operations":  "a resource is read",
	"write":       "a resource is read; a table tool writes",
	"template":    "rows are JSON",
	"result":      "a resource has one form",
	"guidance":    "write description",
	"stream":      "only tools stream",
	"embed":       "rows of a resource stand alone; a table tool embeds others",
	"search":      "a resource has no arguments; a table tool searches",
	"rpc":         "write table, or function for an Edge Function; a tool calls a Postgres function",
}

func resourceKeysOf(own ...string) keys {
	return keys{known: slices.Concat([]string{"uri", "name"}, capabilityKeys, own), never: neverResource}
}

var (
	// resourceKeys are by the key that says what a resource is.
	resourceKeys = map[string]keys{
		"text":     resourceKeysOf("text", "mime_type"),
		"blob":     resourceKeysOf("blob", "mime_type"),
		"table":    rowsKeys,
		"storage":  resourceKeysOf("storage", "prefix", "path", "inline", "public_bucket", "mime_type", "complete"),
		"function": resourceKeysOf("function", "timeout", "asks", "mime_type", "complete"),
	}
	rowsKeys = keys{
		known: slices.Concat([]string{"uri", "name"}, capabilityKeys, []string{"table", "columns", "key", "order", "limit", "filters", "complete"}),
		never: with(neverResource, map[string]string{"mime_type": "rows are application/json"}),
	}
	columnKeys         = keys{known: []string{"table", "column"}}
	promptKeys         = promptKeysOf("messages")
	promptFunctionKeys = promptKeysOf("function", "timeout", "asks")
	promptArgumentKeys = keys{known: []string{"name", "title", "description", "required", "type", "enum", "pattern", "format", "min_length", "max_length", "minimum", "maximum", "complete"}}
	messageKeys        = keys{known: []string{"role", "text", "resource", "image"}}
	imageKeys          = keys{known: []string{"mime_type", "data"}}
)

func promptKeysOf(own ...string) keys {
	return keys{
		known: slices.Concat([]string{"prompt", "arguments"}, capabilityKeys, own),
		never: with(neverResource, map[string]string{"name": "the name of a prompt is written as prompt: …", "input": "write arguments", "timeout": "it belongs to a function", "asks": "it belongs to a function", "function": "a prompt has messages, or a function that says them: leave one of the two out"}),
	}
}

// with is a map with more in it.
func with(m, more map[string]string) map[string]string {
	all := map[string]string{}
	for _, one := range []map[string]string{m, more} {
		for k, v := range one {
			all[k] = v
		}
	}
	return all
}
