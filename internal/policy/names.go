package policy

import (
	"sync"

	"cel.dev/cel-go/cel"
)

// The names of what rules read. Those of the tool are qualified names, so that
// a misspelt one is found at publish.
const (
	nameClaims      = "claims"
	nameContext     = "context"
	nameArgs        = "args"
	nameScopes      = "scopes"
	nameClient      = "client"
	nameMode        = "mode"
	nameSubject     = "subject"
	nameIssuer      = "issuer"
	nameActor       = "actor"
	nameNow         = "now"
	nameTool        = "tool."
	nameToolName    = nameTool + "name"
	nameToolMeta    = nameTool + "meta"
	namePermission  = nameTool + "permission"
	nameReadOnly    = nameTool + "read_only"
	nameDestructive = nameTool + "destructive"
)

// knownNames is what a builder is told when a name is not there.
const knownNames = "claims, scopes, client, mode, subject, issuer, actor, context, now, tool.name, tool.meta, tool.read_only, tool.destructive, tool.permission, and args in allow rules"

// Bounds of an expression's structure. One of MaxExpression bytes that a person
// would write is far below them.
const (
	maxNesting     = 50
	maxNodes       = 4000
	maxRegexp      = 300 // instructions of one regular expression
	maxParseErrors = 4
)

// environments are those of the two kinds: the standard library and its
// macros, and nothing that multiplies what it is given. Making one takes
// milliseconds and they never change.
var environments = map[Kind]func() (*cel.Env, error){
	Visible: sync.OnceValues(func() (*cel.Env, error) { return newEnvironment() }),
	Allow: sync.OnceValues(func() (*cel.Env, error) {
		return newEnvironment(cel.Variable(nameArgs, cel.MapType(cel.StringType, cel.DynType)))
	}),
}

func newEnvironment(more ...cel.EnvOption) (*cel.Env, error) {
	return cel.NewEnv(append([]cel.EnvOption{
		cel.Variable(nameClaims, cel.MapType(cel.StringType, cel.DynType)),
		cel.Variable(nameContext, cel.DynType),
		cel.Variable(nameScopes, cel.ListType(cel.StringType)),
		cel.Variable(nameClient, cel.StringType),
		cel.Variable(nameMode, cel.StringType),
		cel.Variable(nameSubject, cel.StringType),
		cel.Variable(nameIssuer, cel.StringType),
		cel.Variable(nameActor, cel.StringType),
		cel.Variable(nameNow, cel.TimestampType),
		cel.Variable(nameToolName, cel.StringType),
		cel.Variable(nameToolMeta, cel.DynType),
		cel.Variable(namePermission, cel.StringType),
		cel.Variable(nameReadOnly, cel.BoolType),
		cel.Variable(nameDestructive, cel.BoolType),
		cel.CrossTypeNumericComparisons(true), // JSON has one kind of number
		cel.DefaultUTCTimeZone(true),
		cel.ParserExpressionSizeLimit(MaxExpression),
		cel.ParserRecursionLimit(maxNesting),
		cel.ParserErrorRecoveryLimit(maxParseErrors),
		cel.ExpressionNodeLimit(maxNodes),
		cel.RegexProgramSizeLimit(maxRegexp),
		cel.ASTValidators(cel.ValidateRegexLiterals(), cel.ValidateDurationLiterals(), cel.ValidateTimestampLiterals()),
	}, more...)...)
}
