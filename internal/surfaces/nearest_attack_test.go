package surfaces

import (
	"math/rand/v2"
	"testing"
)

// TestDistanceUpToABoundIsTheWholeDistance: cells that are not looked at make
// no difference below the bound.
func TestDistanceUpToABoundIsTheWholeDistance(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // the same words in every run
	word := func() string {
		b := make([]byte, random.IntN(9))
		for i := range b {
			b[i] = "abc"[random.IntN(3)]
		}
		return string(b)
	}
	for range 20_000 {
		a, b := word(), word()
		whole := distance(a, b, 100)
		for bound := 1; bound <= 5; bound++ {
			if got := distance(a, b, bound); got != min(whole, bound) {
				t.Fatalf("%q %q up to %d: %d, whole %d", a, b, bound, got, whole)
			}
		}
	}
	if got := distance("abcd", "abdc", 100); got != 1 {
		t.Errorf("a swap of neighbours: %d", got)
	}
	if got := distance("", "abc", 100); got != 3 {
		t.Errorf("from nothing: %d", got)
	}
}
