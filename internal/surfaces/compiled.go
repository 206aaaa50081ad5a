package surfaces

import (
	"encoding/json"
	"slices"
)

// Format is the number of the compiled form written by this version. A server
// serves formats it knows (see KnownFormat) and keeps the last one it knows
// when a newer one is published.
//
// Format 2 added access beyond oauth and public, and policy. A server that knows
// only 1 would serve such a revision without its rules. Format 3 added writes,
// search, embeds and operators on arrays; format 4 Edge Functions, Storage,
// resources, prompts and questions. What an older one says means the same in a
// newer one.
const Format = 4

// KnownFormat reports whether this version can serve a compiled form.
func KnownFormat(n int) bool { return n >= 1 && n <= Format }

// Compiled is a revision ready to serve: everything a call needs, nothing that
// has to be looked up again. It is immutable once stored.
type Compiled struct {
	Format       int    `json:"format"`
	Title        string `json:"title"`
	Instructions string `json:"instructions,omitempty"`
	Access       Access `json:"access"`
	Policy       Policy `json:"policy,omitzero"`

	// Each in the order of the surface file.
	Tools     []Tool     `json:"tools"`
	Resources []Resource `json:"resources,omitempty"` // and resource templates
	Prompts   []Prompt   `json:"prompts,omitempty"`
}

// Mode is a way a caller may be admitted (design section 5).
type Mode string

// The modes of this version's surface files.
const (
	ModeOAuth  Mode = "oauth"
	ModeBearer Mode = "bearer"  // the app's own sessions
	ModeAPIKey Mode = "api-key" // keys of applications
	ModePublic Mode = "public"
)

// Access is who may call, with every default applied.
type Access struct {
	Modes          []Mode   `json:"modes"`                     // declared order
	Authorization  string   `json:"authorization,omitempty"`   // one of the Authorization constants when Modes has oauth
	Advertise      []string `json:"advertise,omitempty"`       // metadata scopes_supported; left out when empty
	Require        []string `json:"require,omitempty"`         // every delegated token needs all of these
	Roles          []string `json:"roles,omitempty"`           // accepted role claims; default [authenticated]
	AnonymousUsers bool     `json:"anonymous_users,omitempty"` // admit is_anonymous users
	Origins        []string `json:"origins,omitempty"`         // browser origins allowed; empty means any
	Scopes         []string `json:"scopes,omitempty"`          // bridge: every scope the surface knows, of advertise, require and the tools
	Documentation  string   `json:"documentation,omitempty"`   // https URL, for metadata (resource_documentation) and the connect page
	ApprovalPage   bool     `json:"approval_page,omitempty"`   // bridge: a client that cannot be asked gets the link of a page that asks

	Isolation     Isolation       `json:"isolation,omitempty"`     // direct: IsolationClient, or empty for the project
	SessionCheck  int             `json:"session_check,omitempty"` // direct and bearer: seconds between two questions whether a session lives; 0 for never
	ScopesFrom    *ScopesFrom     `json:"scopes_from,omitempty"`   // direct and external: where scopes beyond the token's own come from
	Issuer        *ExternalIssuer `json:"issuer,omitempty"`        // of AuthorizationExternal
	Keys          *KeyCheck       `json:"keys,omitempty"`          // api-key: keys that the app itself checks
	Public        *PublicRate     `json:"public,omitempty"`        // of ModePublic
	RequiredRoles *RequiredRoles  `json:"required_roles,omitempty"`
	AAL           string          `json:"aal,omitempty"` // AAL2, or empty
}

// AAL2 asks for a session with a second factor.
const AAL2 = "aal2"

// Isolation says how far a client's token of the project reaches.
type Isolation string

// IsolationClient binds an OAuth client of the project to the first surface
// that its token was verified at.
const IsolationClient Isolation = "client"

// ScopesFrom says where scopes come from that the authorization server does not
// issue. One of the two is set.
type ScopesFrom struct {
	Claim    []string  `json:"claim,omitempty"` // path to a claim: a string of words or an array of strings
	Function *Function `json:"function,omitempty"`
}

// ExternalIssuer is another authorization server than the project's.
type ExternalIssuer struct {
	URL           string         `json:"url"`                // byte for byte, as in iss
	Audience      []string       `json:"audience,omitempty"` // one of these must be in aud; empty: any token that names its client
	Clients       []string       `json:"clients,omitempty"`  // the clients accepted; empty: any
	Introspection *Introspection `json:"introspection,omitempty"`
}

// Introspection is how tokens that are no JWT are checked (RFC 7662). The
// client's secret is kept apart from surface files.
type Introspection struct {
	Endpoint string `json:"endpoint,omitempty"` // at the issuer's origin; empty: as its metadata says
	ClientID string `json:"client_id"`
}

// KeyCheck is the app's function that checks its own keys, called as anon with
// the key. It answers {subject, client_id, scopes, expires_at}, or null.
type KeyCheck struct {
	Function Function `json:"function"`
}

// PublicRate is how often callers without a credential may call, counted in
// messages per window.
type PublicRate struct {
	Calls   int `json:"calls"`           // of one address; IPv6 by /64
	Total   int `json:"total,omitempty"` // of all together; 0 for no bound
	Seconds int `json:"seconds"`         // of the window
}

// RequiredRoles admits only those signed-in callers whose claim holds one of
// the roles.
type RequiredRoles struct {
	Claim []string `json:"claim"` // path, such as app_metadata role
	Roles []string `json:"roles"`
}

// Function names a function of the project that Chumbo itself calls.
type Function struct {
	Relation
	Argument string `json:"argument,omitempty"` // the name of its one argument; empty where it takes none
}

// Policy decides, beyond access, what a caller sees and may do.
type Policy struct {
	Visible    string    `json:"visible,omitempty"` // a CEL rule for every capability; empty for none
	Allow      *Allow    `json:"allow,omitempty"`   // likewise, with the arguments of a call
	Context    *Function `json:"context,omitempty"`
	Authorizer *Function `json:"authorizer,omitempty"`
}

// Allow is a rule that a call must fulfil.
type Allow struct {
	Rule   string `json:"rule"`             // CEL (package policy)
	Reason string `json:"reason,omitempty"` // told to whom it refuses
}

// Who the authorization server of an oauth surface is.
const (
	AuthorizationDirect   = "direct"   // the project's Supabase Auth
	AuthorizationBridge   = "bridge"   // Chumbo, in front of it
	AuthorizationExternal = "external" // another issuer (Access.Issuer)
)

// Bridged reports whether Chumbo is the surface's authorization server.
func (a Access) Bridged() bool {
	return a.Has(ModeOAuth) && a.Authorization == AuthorizationBridge
}

// Has reports whether the mode is declared.
func (a Access) Has(m Mode) bool {
	return slices.Contains(a.Modes, m)
}

// ResultForm says how a result is rendered.
type ResultForm string

// The result forms of design section 7.
const (
	ResultHybrid     ResultForm = "hybrid"     // compact text and structured content from the same page
	ResultStructured ResultForm = "structured" // structured content, and its JSON as text
	ResultText       ResultForm = "text"       // the declared template, no structured content
)

// Gate is who sees and may use one capability, beside Access and Policy.
type Gate struct {
	Scopes     []string        `json:"scopes,omitempty"`     // a delegated token needs all of these
	Public     bool            `json:"public,omitempty"`     // open in public mode
	Visible    string          `json:"visible,omitempty"`    // a CEL rule of its own, beside Policy.Visible
	Allow      *Allow          `json:"allow,omitempty"`      // likewise
	Permission string          `json:"permission,omitempty"` // what Policy.Authorizer is asked for
	AAL        string          `json:"aal,omitempty"`        // AAL2, or empty
	Meta       json.RawMessage `json:"meta,omitempty"`       // for rules and the authorizer; never sent to clients
}

// Tool is one declared tool: what clients see, and exactly one plan.
type Tool struct {
	Gate
	Name        string          `json:"name"`
	Title       string          `json:"title"`
	Description string          `json:"description"`
	Annotations Annotations     `json:"annotations"`
	Input       json.RawMessage `json:"input"`            // JSON Schema, root object, compact
	Output      json.RawMessage `json:"output,omitempty"` // JSON Schema of structured content, root object
	Result      ResultForm      `json:"result"`
	Template    string          `json:"template,omitempty"` // for ResultText
	Guidance    Guidance        `json:"guidance"`
	Budget      int             `json:"budget"` // bytes, text and structure together

	Privileged bool `json:"privileged,omitempty"` // runs with another's rights (SECURITY DEFINER)

	// What a person is asked before the tool runs: first the questions, all at
	// once, then to confirm.
	Questions []Question `json:"questions,omitempty"`
	Confirm   string     `json:"confirm,omitempty"` // template over the arguments; empty: nobody is asked

	List     *ListPlan       `json:"list,omitempty"`
	Get      *GetPlan        `json:"get,omitempty"`
	Create   *CreatePlan     `json:"create,omitempty"`
	Update   *UpdatePlan     `json:"update,omitempty"`
	Delete   *DeletePlan     `json:"delete,omitempty"`
	RPC      *RPCPlan        `json:"rpc,omitempty"`
	Function *FunctionPlan   `json:"function,omitempty"`
	Files    *FilesPlan      `json:"files,omitempty"`
	ReadFile *ReadFilePlan   `json:"read_file,omitempty"`
	Upload   *UploadFilePlan `json:"upload,omitempty"`
}

// Operation is what a table tool does (list, get, create, update or delete) or
// a tool over files (list, read or upload); rpc for one that calls a function of
// the database, function for one that calls an Edge Function.
func (t *Tool) Operation() string {
	op, _ := t.plan()
	return op
}

// Relation is the table, view or function of the database that the tool's plan
// is about. For an Edge Function it is {functions, slug}, for files {storage,
// bucket}: neither is ever sent to the Data API.
func (t *Tool) Relation() Relation {
	_, on := t.plan()
	return on
}

func (t *Tool) plan() (operation string, on Relation) {
	switch {
	case t.List != nil:
		return opList, t.List.Relation
	case t.Get != nil:
		return opGet, t.Get.Relation
	case t.Create != nil:
		return opCreate, t.Create.Relation
	case t.Update != nil:
		return opUpdate, t.Update.Relation
	case t.Delete != nil:
		return opDelete, t.Delete.Relation
	case t.RPC != nil:
		return opRPC, t.RPC.Relation
	case t.Function != nil:
		return opFunction, Relation{Schema: "functions", Name: t.Function.Slug}
	case t.Files != nil:
		return opList, t.Files.Place.relation()
	case t.ReadFile != nil:
		return opRead, t.ReadFile.Place.relation()
	case t.Upload != nil:
		return opUpload, t.Upload.Place.relation()
	}
	return "", Relation{}
}

// Effect says what a writing tool does to the project, in one stable word
// list, such as "crm_archive rpc public.archive_customer destructive"; empty
// for a tool that only reads. A grant remembers the effects its user agreed
// to: a tool that writes something else, or is destructive now, has another.
func (t *Tool) Effect() string {
	if t.Annotations.ReadOnly {
		return ""
	}
	kind, on := t.plan()
	effect := t.Name + " " + kind + " " + qualified(on.Schema, on.Name)
	if t.Update != nil && t.Update.Many != nil || t.Delete != nil && t.Delete.Many != nil {
		effect += " many"
	}
	if t.Annotations.Destructive {
		effect += " destructive"
	}
	return effect
}

// Annotations are MCP's four tool hints, always all stated.
type Annotations struct {
	ReadOnly    bool `json:"read_only"`
	Destructive bool `json:"destructive"`
	Idempotent  bool `json:"idempotent"`
	OpenWorld   bool `json:"open_world"`
}

// Guidance is bounded author text put before or after a text result.
type Guidance struct {
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}

// JSONType is the JSON type a column's values travel as.
type JSONType string

// The JSON types of values. Any is a json or jsonb column or a composite.
const (
	JSONString  JSONType = "string"
	JSONInteger JSONType = "integer"
	JSONNumber  JSONType = "number"
	JSONBoolean JSONType = "boolean"
	JSONArray   JSONType = "array"
	JSONAny     JSONType = "any"
)

// Column is a column as a plan uses it.
type Column struct {
	Name     string   `json:"name"`
	SQLType  string   `json:"sql_type"` // base type name, such as int8, numeric, timestamptz, text
	JSON     JSONType `json:"json"`
	AsText   bool     `json:"as_text,omitempty"` // select it as ::text (bigint, numeric), so that no digit is lost
	Nullable bool     `json:"nullable,omitempty"`
	Shorten  bool     `json:"shorten,omitempty"` // declared: a long cell may be cut, with its true length
	Hidden   bool     `json:"hidden,omitempty"`  // used for order or filter only (hidden_ok), never returned
}

// Relation names a table or view. Profile is the exposed schema to name in
// Accept-Profile; empty for the project's first exposed schema.
type Relation struct {
	Schema  string `json:"schema"`
	Name    string `json:"name"`
	Profile string `json:"profile,omitempty"`
}

// ListPlan reads a page of rows, keyset paged over a total order.
//
// Its tool's arguments: one object property per Filter (Filter.Argument), plus
// Search.Argument where there is a search, "order" (an enum of Order.Name) when
// there is more than one, "limit" and "cursor".
type ListPlan struct {
	Relation     Relation `json:"relation"`
	Columns      []Column `json:"columns"` // returned, in order, then hidden ones
	Key          []Column `json:"key"`     // primary key columns in key order
	Embeds       []Embed  `json:"embeds,omitempty"`
	Filters      []Filter `json:"filters,omitempty"`
	Search       *Search  `json:"search,omitempty"`
	Orders       []Order  `json:"orders"` // the first is the default; never empty
	DefaultLimit int      `json:"default_limit"`
	MaxLimit     int      `json:"max_limit"`             // limit+1 never exceeds the project's max_rows
	DetailTool   string   `json:"detail_tool,omitempty"` // the get tool of the same table, named when a row is oversized
}

// Filter is one optional argument that narrows a list.
type Filter struct {
	Argument string `json:"argument"` // property name: the column for eq, column_operator otherwise
	Column   Column `json:"column"`
	Operator string `json:"operator"` // one of the filterOperators
	Required bool   `json:"required,omitempty"`
}

// Search is one optional argument that looks for words in several columns; a
// row matches when any of them does.
type Search struct {
	Argument string   `json:"argument"`
	Columns  []Column `json:"columns"`
	Mode     string   `json:"mode"`             // one of the Search constants
	Config   string   `json:"config,omitempty"` // text search configuration, for SearchWeb; empty: the database's
}

// How a search looks for its text.
const (
	SearchContains = "contains" // the text itself, in any case (ilike)
	SearchWeb      = "web"      // words, "phrases", -without, or: websearch_to_tsquery (wfts)
)

// Embed is a related row, or related rows, inside each row: one level, through
// one foreign key. One row is an object or null. Many are
// {"items":[row…],"truncated":bool}, at most Limit of them.
type Embed struct {
	Name     string      `json:"name"`     // the key in a row; letters, digits and _
	Relation Relation    `json:"relation"` // what is embedded
	Target   string      `json:"target"`   // how the select names it: the relation, or the column of a self-reference to one
	Hint     string      `json:"hint"`     // the foreign key's name, or the column of a self-reference to many; may be empty
	Many     bool        `json:"many,omitempty"`
	Columns  []Column    `json:"columns"`         // every one Nullable
	Order    []OrderTerm `json:"order,omitempty"` // of many: total, its columns not necessarily returned
	Limit    int         `json:"limit,omitempty"` // of many; limit+1 never exceeds the project's max_rows
}

// Order is one total order on offer: the declared column, then the rest of the
// primary key.
type Order struct {
	Name string      `json:"name"` // "name" or "-updated_at" (descending)
	Keys []OrderTerm `json:"keys"`
}

// OrderTerm is one column of an order, nulls placement always explicit.
type OrderTerm struct {
	Column     Column `json:"column"`
	Desc       bool   `json:"desc,omitempty"`
	NullsFirst bool   `json:"nulls_first,omitempty"`
}

// GetPlan reads exactly one row by its full primary key. Its tool's arguments
// are the key columns.
type GetPlan struct {
	Relation Relation `json:"relation"`
	Columns  []Column `json:"columns"`
	Embeds   []Embed  `json:"embeds,omitempty"`
	Key      []Column `json:"key"`
}

// CreatePlan inserts exactly one row. Its tool's arguments are those of Values.
type CreatePlan struct {
	Relation Relation      `json:"relation"`
	Columns  []Column      `json:"columns,omitempty"` // returned; none: nothing is read back
	Key      []Column      `json:"key,omitempty"`     // of the row, for what is said of it; those not returned are Hidden
	Values   []WriteColumn `json:"values,omitempty"`
	Set      []SetColumn   `json:"set,omitempty"`
	Dedupe   *Dedupe       `json:"dedupe,omitempty"`
}

// UpdatePlan changes one row by its full key, or up to Many.MaxAffected rows by
// filters. Its tool's arguments are the key columns by name (or Many's filters),
// Guard's, and Patch: an object with those of Values, at least one.
type UpdatePlan struct {
	Relation Relation      `json:"relation"`
	Columns  []Column      `json:"columns,omitempty"` // returned; none: nothing is read back
	Key      []Column      `json:"key,omitempty"`     // empty with Many
	Patch    string        `json:"patch"`             // the argument's name
	Values   []WriteColumn `json:"values"`
	Set      []SetColumn   `json:"set,omitempty"`
	Guard    *Guard        `json:"guard,omitempty"` // never with Many
	Many     *Many         `json:"many,omitempty"`
}

// DeletePlan removes one row by its full key, or up to Many.MaxAffected rows by
// filters. Its tool's arguments are the key columns by name (or Many's filters)
// and Guard's. What it returns are rows as they were.
type DeletePlan struct {
	Relation Relation `json:"relation"`
	Columns  []Column `json:"columns,omitempty"` // returned; none: nothing is read back
	Key      []Column `json:"key,omitempty"`     // empty with Many
	Guard    *Guard   `json:"guard,omitempty"`   // never with Many
	Many     *Many    `json:"many,omitempty"`
}

// WriteColumn is a column that callers may write.
type WriteColumn struct {
	Column   Column `json:"column"`
	Argument string `json:"argument"`           // property name; the column's where clients accept it
	Required bool   `json:"required,omitempty"` // of a create
	Null     bool   `json:"null,omitempty"`     // null is accepted as a value
}

// SetColumn is a column whose value callers neither give nor see asked for.
type SetColumn struct {
	Column Column    `json:"column"`
	From   ValueFrom `json:"from"`
}

// ValueFrom is where a value comes from: exactly one is set.
type ValueFrom struct {
	Claim   []string        `json:"claim,omitempty"`   // path into the caller's claims
	Context []string        `json:"context,omitempty"` // path into what Policy.Context answers
	Value   json.RawMessage `json:"value,omitempty"`   // a constant
}

// Guard makes a write lose to a change that came first: the row must still have
// the version its caller saw last.
type Guard struct {
	Column   Column `json:"column"`
	Argument string `json:"argument"` // of the tool, always required
	// Bump is how an update moves the version on by itself; empty where the
	// database must (a trigger), and for deletes.
	Bump string `json:"bump,omitempty"`
}

// How an update moves a guard on.
const (
	BumpIncrement = "increment" // integers: one more than the version seen
	BumpNow       = "now"       // timestamps: the database's time
	BumpUUID      = "uuid"      // a new random one
)

// Dedupe makes identical creates of one caller within ten minutes one row, by a
// unique column that gets the same value each time.
type Dedupe struct {
	Column      Column   `json:"column"`      // uuid or text
	Constraints []string `json:"constraints"` // unique keys over that column alone
}

// Many is a write of several rows at once, chosen by filters of which at least
// one must be given.
type Many struct {
	MaxAffected int      `json:"max_affected"` // more than that, and nothing is written
	Filters     []Filter `json:"filters"`
}

// RPCPlan calls a Postgres function by POST with named arguments. Its tool's
// arguments are Arguments.
type RPCPlan struct {
	Relation  Relation   `json:"relation"` // the function's schema and name
	Arguments []Argument `json:"arguments,omitempty"`
	ReadOnly  bool       `json:"read_only"` // STABLE or IMMUTABLE: safe to repeat
	Returns   Returns    `json:"returns"`
}

// Argument is one named argument of a function.
type Argument struct {
	Name     string   `json:"name"`
	SQLType  string   `json:"sql_type"`
	JSON     JSONType `json:"json"`
	Required bool     `json:"required,omitempty"`
}

// Returns is the shape of a function's answer.
type Returns struct {
	// Kind is void, scalar, row (one object), rows (array of objects) or
	// scalars (array of values).
	Kind    string   `json:"kind"`
	Columns []Column `json:"columns,omitempty"`  // of row and rows, where known
	Scalar  *Column  `json:"scalar,omitempty"`   // of scalar and scalars
	MaxRows int      `json:"max_rows,omitempty"` // of rows and scalars: the Data API returns no more, and does not say so
}
