package policy

import (
	"strings"

	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/operators"
	"cel.dev/cel-go/common/types"
	"cel.dev/cel-go/common/types/ref"
	"cel.dev/cel-go/common/types/traits"
)

// Bounds of what rules may cost: about one per step, a tenth per byte of text
// that is looked at, one per byte of text that is made. A pass over 1 MiB of
// arguments is below; a loop in a loop over it far above.
const (
	maxCost        = 4_000_000  // of one rule, once
	maxSpent       = 10_000_000 // of all rules of one request; the last one may run over
	interruptEvery = 100        // rounds of a loop between looks at the context
	bytesPerCost   = 10         // of text that is looked at
	perElement     = 4          // of a list that is added: what looks at both looks at each apart
	perZone        = 500        // for a time zone, which is looked up on disk
	maxWeight      = 2 * maxCost
)

// prices charges every call for what it looks at. The library's own prices go
// by the types that are known when a rule is compiled, and of JSON none are.
// It implements cel's cost.ActualCostEstimator.
type prices struct{}

// CallCost prices a call that was made.
func (prices) CallCost(function, overload string, args []ref.Val, result ref.Val) *uint64 {
	cost := uint64(1)
	switch function {
	case operators.Equals, operators.NotEquals, operators.In, operators.OldIn:
		least := maxWeight
		for _, arg := range args {
			left := least
			weigh(arg, &left)
			if function != operators.Equals && function != operators.NotEquals { // in looks at all of its list
				cost += uint64(least - left)
				continue
			}
			least = min(least, least-left)
		}
		if function == operators.Equals || function == operators.NotEquals {
			cost += uint64(least)
		}
	case boundedMatch:
		cost += min(matchCost(overload, bytesOf(args[0])), maxMatchCost)
	case operators.Add:
		cost += uint64(bytesOf(result))
		if list, ok := args[len(args)-1].(traits.Lister); ok { // one more is free: map and filter collect so
			if n, ok := list.Size().(types.Int); ok && n > 1 {
				cost += perElement * uint64(n-1)
			}
		}
	default:
		if len(args) == 2 && strings.HasPrefix(function, "get") { // getHours and its like, in a time zone
			cost += perZone
		}
		for _, arg := range args {
			cost += uint64(bytesOf(arg) / bytesPerCost)
		}
		cost += uint64(bytesOf(result) / bytesPerCost)
	}
	return &cost
}

// bytesOf is the length of a text; 0 for anything else.
func bytesOf(v ref.Val) int {
	switch v := v.(type) {
	case types.String:
		return len(v)
	case types.Bytes:
		return len(v)
	}
	return 0
}

// weigh takes from left what looking at all of a value costs: one for each
// value inside, and its text. It stops when nothing is left.
func weigh(v any, left *int) {
	if *left--; *left <= 0 {
		*left = 0
		return
	}
	switch v := v.(type) {
	case string:
		*left = max(0, *left-len(v)/bytesPerCost)
	case types.String:
		*left = max(0, *left-len(v)/bytesPerCost)
	case types.Bytes:
		*left = max(0, *left-len(v)/bytesPerCost)
	case []any:
		for _, inner := range v {
			if weigh(inner, left); *left == 0 {
				return
			}
		}
	case map[string]any:
		for _, inner := range v {
			if weigh(inner, left); *left == 0 {
				return
			}
		}
	case traits.Lister:
		weighEach(v.Iterator(), func(inner ref.Val) ref.Val { return inner }, left)
	case traits.Mapper:
		weighEach(v.Iterator(), v.Get, left)
	}
}

func weighEach(it traits.Iterator, value func(ref.Val) ref.Val, left *int) {
	for *left > 0 && it.HasNext() == types.True {
		weigh(value(it.Next()), left)
	}
}

func programOptions(bound uint64) []cel.ProgramOption {
	options := []cel.ProgramOption{cel.EvalOptions(cel.OptOptimize), cel.CustomDecoratorV2(boundMatches), cel.InterruptCheckFrequency(interruptEvery)}
	if bound > 0 {
		options = append(options, cel.CostTracking(prices{}), cel.CostLimit(bound))
	}
	return options
}
