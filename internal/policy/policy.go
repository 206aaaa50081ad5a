// Package policy owns the language of rules: CEL expressions over who calls,
// what is called and what the app says of both. A rule is compiled and
// type-checked when a surface is published, and bounded in cost whenever it
// runs.
//
// It never asks anybody anything: what a rule reads is handed to it. It never
// opens what it cannot decide: an error is a refusal.
package policy

import (
	"context"
	"encoding/json"
	"time"
)

// MaxExpression bounds a rule, in bytes.
const MaxExpression = 2000

// Kind says where a rule stands, and with that what it may read.
type Kind string

// The kinds of rules. Visible is asked for lists and calls and knows no
// arguments; Allow is asked for a call, with its valid arguments.
const (
	Visible Kind = "visible"
	Allow   Kind = "allow"
)

// Rule is a compiled rule. Safe for concurrent use.
type Rule struct{}

// Uses says what a rule reads, so that nothing is fetched that no rule asks
// for, and what deserves a note at publish.
type Uses struct {
	Claims  bool
	Context bool
	Args    bool
	Scopes  bool
	Email   bool // the email claim, which Supabase lets users change
}

// Error is what is wrong with an expression.
type Error struct {
	Line, Column int // from 1, within the expression; 0 where that is not known
	Message      string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }

// Compile compiles an expression, whose value must be a bool. The error is an
// *Error: not an expression, a name that is not there, another type, too long,
// or user_metadata, which users write themselves.
//
// Names: claims, scopes, client, mode, subject, issuer, actor, tool (name,
// meta, read_only, destructive, permission), context, now, and args for Allow.
func Compile(kind Kind, expression string) (*Rule, error) {
	panic("not built")
}

// Uses says what the rule reads.
func (r *Rule) Uses() Uses { panic("not built") }

// Tool is the capability a rule is asked about.
type Tool struct {
	Name        string
	Meta        json.RawMessage // nil reads as null
	Permission  string
	ReadOnly    bool
	Destructive bool
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
type Facts struct{}

// Read makes an Input ready. Nothing is parsed before a rule reads it.
func Read(in Input) *Facts { panic("not built") }

// Holds reports whether the rule holds for the tool. Whatever keeps it from an
// answer (a claim that is missing, a type, its cost, the context's end) is an
// error, and the caller refuses.
func (r *Rule) Holds(ctx context.Context, f *Facts, t *Tool) (bool, error) { panic("not built") }
