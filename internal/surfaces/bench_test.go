package surfaces

import (
	"os"
	"testing"
)

// BenchmarkBuild measures publishing's own work: 11 tools, every schema
// compiled under two drafts.
func BenchmarkBuild(b *testing.B) {
	src, err := os.ReadFile("testdata/compile/full.yaml")
	if err != nil {
		b.Fatal(err)
	}
	snap := loadSnapshot(b)
	b.ReportAllocs()
	for b.Loop() {
		if built := Build(src, snap, known()); built.Compiled == nil {
			b.Fatal(built.Problems)
		}
	}
}
