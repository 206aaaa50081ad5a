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
	Embeds   []Embed
	Where    []Condition
	Order    []OrderBy
	Limit    int  // 0: none stated
	Single   bool // ask for exactly one row (vnd.pgrst.object)
}

// Embed is a related relation inside each row of a Select, one level deep.
type Embed struct {
	Alias    string   // the key in the answer's objects; letters, digits and _
	Relation string   // the relation, or for a self-reference to one its column
	Hint     string   // the foreign key's name or column; may be empty
	Columns  []string // select items
	Order    []OrderBy
	Limit    int // of rows embedded; 0: none stated
}

// Insert writes one row. The session needs no right to read it back when
// Columns is empty.
type Insert struct {
	Profile  string
	Relation string
	Row      json.RawMessage // a JSON object; columns that are absent get their defaults
	Columns  []string        // select items to return; empty: nothing is returned
}

// Change updates or deletes the rows that match, never more than Max: with
// Max 1 exactly one, or the whole change is undone.
type Change struct {
	Profile  string
	Relation string
	Where    []Condition     // never empty
	Patch    json.RawMessage // a JSON object with at least one member; Update only
	Max      int             // 1 or more
	Columns  []string        // select items to return; empty: nothing is returned
}

// Condition is a condition of a read or a change: either one comparison (Column set) or a
// group (And or Or set). Values are plain text; quoting is this package's job.
type Condition struct {
	Column   string
	Operator string   // eq neq gt gte lt lte like ilike is isdistinct in cs cd ov wfts
	Config   string   // text search configuration of wfts; may be empty
	Negate   bool     // not.
	Value    string   // for all but in and arrays; for cs and cd of JSON a JSON text
	Values   []string // for in, and for cs, cd and ov of arrays; Value is empty then
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

	// Bounded says, of a Change, that the Data API confirmed to have kept to Max
	// (Preference-Applied; with Max 1 the representation itself keeps to it).
	// Affected is how many rows it says were changed; -1 where it does not say.
	Bounded  bool
	Affected int
}
