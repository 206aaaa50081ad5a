package supabase

import (
	"encoding/json"
	"time"
)

// Select is a read of rows through the Data API.
type Select struct {
	Profile  string   // Accept-Profile; empty for the default schema
	Relation string   // table or view
	Columns  []string // select items, already in select grammar (quoted names, ::casts)
	Where    []Condition
	Order    []OrderBy
	Limit    int  // 0: none stated
	Single   bool // ask for exactly one row (vnd.pgrst.object)
}

// Condition is a condition of a read: either one comparison (Column set) or a
// group (And or Or set). Values are plain text; quoting is this package's job.
type Condition struct {
	Column   string
	Operator string   // eq neq gt gte lt lte like ilike is in
	Negate   bool     // not.
	Value    string   // for all but in
	Values   []string // for in
	And, Or  []Condition
}

// OrderBy is one term of an order; nulls placement is always stated.
type OrderBy struct {
	Column     string
	Desc       bool
	NullsFirst bool
}

// Call is a call of a Postgres function by POST.
type Call struct {
	Profile   string
	Function  string
	Arguments json.RawMessage // a JSON object
	ReadOnly  bool
}

// Answer is what the Data API said, within limits.
type Answer struct {
	Status   int
	Body     json.RawMessage // nil for 204
	Upstream string          // sb-request-id
	Took     time.Duration
}
