package surfaces

import (
	"slices"
	"strings"
)

// suggest ends a message about an unknown name: the nearest known one, or all
// of them where none is near and there are few. Of many such messages the
// later ones end without.
func (r *report) suggest(name string, known []string, list string) string {
	if r.suggestions++; r.suggestions > maxSuggestions {
		return ""
	}
	if near := Nearest(name, known); near != "" {
		return "; did you mean " + quoteName(near) + "?"
	}
	if len(known) == 0 || len(known) > 20 {
		return ""
	}
	sorted := slices.Sorted(slices.Values(known))
	return list + strings.Join(sorted, ", ")
}

// Nearest returns the known name that is most like name, or "" when none is
// near. Ties go to the first in alphabetical order.
func Nearest(name string, known []string) string {
	limit := 1 + max(1, min(3, len(name)/3))
	best, bestDistance := "", limit
	folded := fold(name)
	for _, k := range known {
		d := distance(folded, fold(k), min(bestDistance+1, limit))
		if d < bestDistance || best != "" && d == bestDistance && k < best {
			best, bestDistance = k, d
		}
	}
	return best
}

// fold removes what people vary: case, separators, and MCP's suffix of hints.
func fold(s string) string {
	// No database has longer names than 63 bytes; those that are made up are
	// told apart by their beginning.
	s = s[:min(len(s), 256)]
	s = strings.Map(func(r rune) rune {
		if r == '_' || r == '-' || r == ' ' {
			return -1
		}
		return r
	}, strings.ToLower(s))
	return strings.TrimSuffix(s, "hint")
}

// distance is the number of edits between two names: insert, delete, replace,
// or swap of neighbours; bound when it is that or more. Long names are compared
// by their first 64 characters. A cell further than bound from the diagonal is
// beyond it, and is not looked at.
func distance(a, b string, bound int) int {
	x, y := head(a), head(b)
	if len(x)-len(y) >= bound || len(y)-len(x) >= bound {
		return bound
	}
	prev2, prev, cur := make([]int, len(y)+1), make([]int, len(y)+1), make([]int, len(y)+1)
	for j := range prev {
		prev[j] = j
		cur[j], prev2[j] = bound, bound
	}
	for i := 1; i <= len(x); i++ {
		first, last := max(1, i-bound), min(len(y), i+bound)
		cur[first-1] = bound
		if first == 1 {
			cur[0] = i
		}
		for j := first; j <= last; j++ {
			cost := 1
			if x[i-1] == y[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && x[i-1] == y[j-2] && x[i-2] == y[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		if last < len(y) {
			cur[last+1] = bound
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return min(prev[len(y)], bound)
}

func head(s string) []rune {
	r := []rune(s)
	return r[:min(len(r), 64)]
}
