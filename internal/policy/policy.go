// Package policy owns the language of rules: CEL expressions over who calls,
// what is called and what the app says of both. A rule is compiled and
// type-checked when a surface is published, and bounded in cost whenever it
// runs.
//
// It never asks anybody anything: what a rule reads is handed to it. It never
// opens what it cannot decide: an error is a refusal.
//
//	policy.go   what a rule is and what it may read
//	compile.go  from an expression to a rule; what is refused at publish
//	names.go    the names rules may use, and their types
//	uses.go     what a rule reads
//	growth.go   why no rule builds a value that is larger than what it reads
//	cost.go     what a rule may cost
//	matches.go  regular expressions, bounded before they begin
//	facts.go    what rules read of one request, parsed when it is read
//	json.go     JSON as CEL sees it
//	holds.go    asking a rule, within its bounds
package policy

import "cel.dev/cel-go/cel"

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
type Rule struct {
	program cel.Program
	loops   bool // over lists or maps: only then can it take long
	uses    Uses
	bytes   int // see Bytes
}

// Estimates of the memory that a rule holds, measured and kept on the large
// side.
const (
	perRule = 4 << 10
	perByte = 100 // of its text
)

// Bytes estimates the memory that the rule holds.
func (r *Rule) Bytes() int { return r.bytes }

// Uses says what a rule reads, so that nothing is fetched that no rule asks
// for, and what deserves a note at publish. A rule that reads claims, context
// or args refuses where those are absent.
type Uses struct {
	Claims  bool
	Context bool
	Args    bool
	Scopes  bool
	Meta    bool // tool.meta: its answer is the same for tools whose meta is
	Tool    bool // anything else of the tool: its answer may differ from tool to tool
	Email   bool // the email claim, which Supabase lets users change
}

// Uses says what the rule reads.
func (r *Rule) Uses() Uses { return r.uses }

// Error is what is wrong with an expression.
type Error struct {
	Line, Column int // from 1, within the expression; 0 where that is not known
	Message      string
}

// Error implements error.
func (e *Error) Error() string { return e.Message }
