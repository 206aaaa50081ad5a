package policy

import (
	"encoding/json"
	"errors"
	"sync"
	"time"
)

// Tool is the capability a rule is asked about.
type Tool struct {
	Name        string
	Meta        json.RawMessage // nil reads as null
	Permission  string
	ReadOnly    bool
	Destructive bool

	meta lazy // see Ready
}

// Ready parses what rules read of the tool, once for all requests. A tool that
// is made ready may be asked about concurrently.
func (t *Tool) Ready() error {
	if len(t.Meta) == 0 {
		t.meta = lazy{done: true}
		return nil
	}
	t.meta.raw = t.Meta
	_, err := t.meta.value()
	return err
}

// metadata is the tool's meta, of a tool that is not ready parsed each time.
func (t *Tool) metadata() (any, error) {
	if t.meta.done {
		return t.meta.parsed, t.meta.err
	}
	if len(t.Meta) == 0 {
		return nil, nil
	}
	return parse(t.Meta)
}

// Input is what rules read of one request. Claims, Context and Arguments are
// JSON; nil ones are absent: a rule that reads them refuses.
type Input struct {
	Claims    json.RawMessage // an object; user_metadata is taken out again here
	Context   json.RawMessage
	Arguments json.RawMessage // an object
	Scopes    []string
	Client    string
	Mode      string
	Subject   string
	Issuer    string
	Actor     string
	Now       time.Time
}

// Facts are an Input made ready for many rules. Not for concurrent use.
type Facts struct {
	in     Input
	shared *shared
	args   lazy
}

// Claims are those of a token, parsed at their first use and never again: whoever
// remembers a token keeps them beside it. Safe for concurrent use.
type Claims struct {
	raw    json.RawMessage
	once   sync.Once
	parsed map[string]any // never to be changed
	err    error
}

// NewClaims are the claims in a JSON object. user_metadata is taken out again
// here.
func NewClaims(raw json.RawMessage) *Claims { return &Claims{raw: raw} }

// object is the claims, parsed. nil claims are absent.
func (c *Claims) object() (map[string]any, error) {
	if c == nil || c.raw == nil {
		return nil, errAbsent
	}
	c.once.Do(func() {
		l := lazy{raw: c.raw}
		if c.parsed, c.err = l.object(); c.err == nil {
			delete(c.parsed, claimUserMetadata)
		}
	})
	return c.parsed, c.err
}

// shared is what a request's calls have in common.
type shared struct {
	claims  *Claims // nil: absent
	context lazy
	scopes  []string
	spent   uint64 // cost of the rules asked so far
}

// Read makes an Input ready. Nothing is parsed before a rule reads it.
func Read(in Input) *Facts {
	return &Facts{
		in: in, args: lazy{raw: in.Arguments},
		shared: &shared{claims: NewClaims(in.Claims), context: lazy{raw: in.Context}, scopes: in.Scopes},
	}
}

// With are the same facts for a call with these arguments. What is parsed, and
// what rules have cost, is shared with those it is made of.
func (f *Facts) With(arguments json.RawMessage) *Facts {
	with := *f
	with.in.Arguments, with.args = arguments, lazy{raw: arguments}
	return &with
}

// SetClaims says what the claims are, where Read was not told.
func (f *Facts) SetClaims(claims *Claims) { f.shared.claims = claims }

// SetContext says what the context is, where Read was not told.
func (f *Facts) SetContext(context json.RawMessage) { f.shared.context = lazy{raw: context} }

// SetScopes says what the scopes are, where Read was not told all of them.
func (f *Facts) SetScopes(scopes []string) { f.shared.scopes = scopes }

// Claim is what stands at a path of the claims, as rules see JSON; nil where
// there is nothing, or no claims.
func (f *Facts) Claim(path ...string) any {
	if len(path) == 0 || path[0] == claimUserMetadata {
		return nil
	}
	at, err := f.shared.claims.object()
	if err != nil {
		return nil
	}
	for _, name := range path[:len(path)-1] {
		if at, _ = at[name].(map[string]any); at == nil {
			return nil
		}
	}
	return at[path[len(path)-1]]
}

// Errors of facts that cannot be read. They hold nothing of the facts.
var (
	errAbsent    = errors.New("is absent")
	errNotObject = errors.New("is no JSON object")
	errNotJSON   = errors.New("is not JSON that rules can read")
)

// lazy is JSON that is parsed at its first use.
type lazy struct {
	raw    json.RawMessage
	done   bool
	parsed any
	err    error
}

func (l *lazy) value() (any, error) {
	if !l.done {
		l.done = true
		if l.parsed, l.err = nil, errAbsent; l.raw != nil {
			l.parsed, l.err = parse(l.raw)
		}
	}
	return l.parsed, l.err
}

// object is the value, which must be an object.
func (l *lazy) object() (map[string]any, error) {
	v, err := l.value()
	if err != nil {
		return nil, err
	}
	o, ok := v.(map[string]any)
	if !ok {
		return nil, errNotObject
	}
	return o, nil
}

// readable parses all that a rule reads, so that an absent fact refuses even
// where the expression would get around reading it.
func (f *Facts) readable(u Uses) error {
	if u.Claims {
		if _, err := f.shared.claims.object(); err != nil {
			return &factError{nameClaims, err}
		}
	}
	if u.Context {
		if _, err := f.shared.context.value(); err != nil {
			return &factError{nameContext, err}
		}
	}
	if u.Args {
		if _, err := f.args.object(); err != nil {
			return &factError{nameArgs, err}
		}
	}
	return nil
}

// factError says which fact a rule could not read.
type factError struct {
	name string
	err  error
}

func (e *factError) Error() string { return e.name + " " + e.err.Error() }

func (e *factError) Unwrap() error { return e.err }
