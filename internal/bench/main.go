// Command bench measures the whole way of a call (edge, directory, token
// check, revision, a stand-in project that answers at once, result) beside a
// bare SDK server with a no-op tool, and beside the same requests sent straight
// to the Data API, in one run on one machine. Read the ratios; absolute numbers
// belong to the machine.
//
//	go run ./internal/bench [-slice 2s] [-pairs 5] [-surfaces 10,1000,10000]
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"runtime/debug"
	"runtime/pprof"
	"strconv"
	"strings"
	"time"
)

// The settings every part of a run shares.
const (
	gcPercent   = 400
	memoryLimit = 256 << 20
	cacheBytes  = 64 << 20
	clients     = 16
)

func main() {
	slice := flag.Duration("slice", 2*time.Second, "how long each half of a pair is loaded")
	pairs := flag.Int("pairs", 5, "interleaved pairs per comparison; the median ratio counts")
	sizes := flag.String("surfaces", "10,1000,10000", "how many surfaces to register, smallest first")
	profile := flag.String("profile", "", "write a CPU profile of the run to this file")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	err := profiled(*profile, func() error { return run(ctx, *slice, *pairs, *sizes) })
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop has run
	}
}

// profiled runs fn, under the CPU profiler when a file is named.
func profiled(file string, fn func() error) error {
	if file == "" {
		return fn()
	}
	f, err := os.Create(file) //nolint:gosec // named on the command line
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	if err := pprof.StartCPUProfile(f); err != nil {
		return err
	}
	defer pprof.StopCPUProfile()
	return fn()
}

func run(ctx context.Context, slice time.Duration, pairs int, sizeList string) error {
	debug.SetGCPercent(gcPercent)
	debug.SetMemoryLimit(memoryLimit)
	var sizes []int
	for _, text := range strings.Split(sizeList, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			return fmt.Errorf("-surfaces %q: want counts such as 10,1000", sizeList)
		}
		sizes = append(sizes, n)
	}
	f, err := newFixture(ctx)
	if err != nil {
		return err
	}
	defer f.close()
	fmt.Printf("GOGC=%d GOMEMLIMIT=%d MiB CHUMBO_CACHE_BYTES=%d MiB, %d keep-alive clients, %s slices, %d interleaved pairs\n\n",
		gcPercent, memoryLimit>>20, cacheBytes>>20, clients, slice, pairs)
	small, err := f.serve(ctx, f.compiled, sizes[0])
	if err != nil {
		return err
	}
	defer small.close()
	if err := compareWithBare(ctx, f, small, slice, pairs); err != nil {
		return err
	}
	if err := comparePolicy(ctx, f, small, slice, pairs); err != nil {
		return err
	}
	if err := compareDataAPI(ctx, f, slice, pairs); err != nil {
		return err
	}
	for _, n := range sizes[1:] {
		if err := compareSizes(ctx, f, small, n, slice, pairs); err != nil {
			return err
		}
	}
	return nil
}
