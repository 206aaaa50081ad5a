package policy

import (
	"errors"
	"regexp"
	"regexp/syntax"
	"strconv"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/ast"
	"cel.dev/cel-go/common/overloads"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/interpreter"
)

// A regular expression takes a step per byte of the text and instruction of its
// program, and nothing interrupts it: over a large text that is seconds. So a
// pattern stands in the rule, its program is made once, and how long it may
// take is known before it begins.

// boundedMatch is the name of matches once it is bounded; its overload is the
// size of the program, in instructions.
const boundedMatch = "bounded matches"

const (
	stepsPerCost = 4      // of a match
	maxClasses   = 10_000 // ends of ranges in the programs of one rule; \pL has 1,300
	perClass     = 24     // bytes of memory that such an end holds
	perStep      = 64     // bytes of memory that an instruction holds
	maxMatchCost = uint64(maxCost)
)

// patterns measures the regular expressions of a rule, in bytes of memory, and
// refuses those that do not stand there or are too heavy.
func patterns(checked *cel.Ast) (bytes int, mistake *Error) {
	native, classes := checked.NativeRep(), 0
	walk(native, func(e ast.Expr) {
		if mistake != nil || e.Kind() != ast.CallKind || e.AsCall().FunctionName() != overloads.Matches {
			return
		}
		args := e.AsCall().Args()
		if len(args) == 0 {
			return
		}
		pattern := args[len(args)-1]
		var literal types.String
		written := pattern.Kind() == ast.LiteralKind
		if written {
			literal, written = pattern.AsLiteral().(types.String)
		}
		if !written {
			mistake = at(native, pattern, "The pattern of matches has to stand here as text: who calls must not choose how much work it is.")
			return
		}
		program, err := programOf(string(literal))
		if err != nil {
			mistake = at(native, pattern, "This is not a regular expression.")
			return
		}
		for i := range program.Inst {
			classes += len(program.Inst[i].Rune)
		}
		bytes += perStep * len(program.Inst)
		if classes > maxClasses {
			mistake = at(native, pattern, "The patterns of this rule name too many characters: use classes such as \\pL a few times only.")
		}
	})
	return bytes + perClass*classes, mistake
}

// errPattern is for a pattern that patterns let through and should not have.
var errPattern = errors.New("pattern does not stand in the rule")

func programOf(pattern string) (*syntax.Prog, error) {
	tree, err := syntax.Parse(pattern, syntax.Perl)
	if err != nil {
		return nil, err
	}
	return syntax.Compile(tree.Simplify())
}

// boundMatches replaces the calls of matches by those that refuse, before they
// begin, what would cost more than a rule may.
func boundMatches(i interpreter.InterpretableV2) (interpreter.InterpretableV2, error) {
	call, ok := i.(interpreter.InterpretableCall)
	if !ok || call.Function() != overloads.Matches || len(call.Args()) != 2 {
		return i, nil
	}
	literal, ok := call.Args()[1].(interpreter.InterpretableConst)
	if !ok {
		return nil, errPattern
	}
	pattern, ok := literal.Value().(types.String)
	if !ok {
		return nil, errPattern
	}
	program, err := programOf(string(pattern))
	if err != nil {
		return nil, err
	}
	compiled, err := regexp.Compile(string(pattern))
	if err != nil {
		return nil, err
	}
	size := strconv.Itoa(len(program.Inst))
	return interpreter.NewCall(call.ID(), boundedMatch, size, call.Args(), func(values ...ref.Val) ref.Val {
		text, ok := values[0].(types.String)
		switch {
		case !ok:
			return types.NoSuchOverloadErr()
		case matchCost(size, len(text)) > maxMatchCost:
			return types.NewErr("text is too long for the pattern")
		}
		return types.Bool(compiled.MatchString(string(text)))
	}), nil
}

// matchCost is the price of matching a text of n bytes.
func matchCost(size string, n int) uint64 {
	instructions, err := strconv.ParseUint(size, 10, 32)
	if err != nil {
		return 0
	}
	return instructions * uint64(n) / stepsPerCost
}
