package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime"
	"runtime/debug"
	"strings"
	"time"
)

// compareWithBare prints the ratio to a bare SDK server per operation and era,
// and what each allocates for a request.
func compareWithBare(ctx context.Context, f *fixture, s *service, slice time.Duration, pairs int) error {
	bare := newBare(f.tools)
	defer bare.close()
	first := target{urls: []string{bare.url}}
	second := target{urls: s.urls[:1], token: f.token}
	fmt.Printf("Against a bare SDK server with no-op tools (%d tools each)\n", len(f.tools))
	fmt.Printf("  %-24s %-11s %10s %10s %7s %15s\n", "operation", "era", "bare/s", "chumbo/s", "ratio", "(range)")
	for _, o := range []operation{callGet, callList, listTools} {
		for _, e := range []era{modern, legacy} {
			c, err := compare(ctx, first, second, o, e, slice, pairs)
			if err != nil {
				return err
			}
			fmt.Printf("  %-24s %-11s %10.0f %10.0f %7.2f (%.2f to %.2f)\n", o.label, e, c.first, c.second, c.ratio, c.lowest, c.highest)
		}
	}
	fmt.Printf("\nAllocated per request, in process (ours includes the call to the project and the stand-in's answer)\n")
	for _, o := range []operation{callGet, callList, listTools} {
		bareBytes, bareCount := allocations(bare.handler, bare.url, "", o)
		ourBytes, ourCount := allocations(s.server.Handler(), s.urls[0], f.token, o)
		fmt.Printf("  %-24s bare %7.1f KB %6.0f allocs   chumbo %7.1f KB %6.0f allocs\n", o.label, bareBytes/1024, bareCount, ourBytes/1024, ourCount)
	}
	fmt.Println()
	return nil
}

// comparePolicy prints what rules cost: the same calls where every tool has a
// visible and an allow rule that read claims and its meta, and where none has.
func comparePolicy(ctx context.Context, f *fixture, plain *service, slice time.Duration, pairs int) error {
	policed, err := f.serve(ctx, f.policed, 1)
	if err != nil {
		return err
	}
	defer policed.close()
	first := target{urls: plain.urls[:1], token: f.token}
	second := target{urls: policed.urls, token: f.token}
	fmt.Printf("Rules on every tool (visible, allow, meta, claims read) against none\n")
	fmt.Printf("  %-24s %-11s %10s %10s %7s %15s\n", "operation", "era", "none/s", "rules/s", "ratio", "(range)")
	for _, o := range []operation{callGet, callList, listTools} {
		c, err := compare(ctx, first, second, o, modern, slice, pairs)
		if err != nil {
			return err
		}
		fmt.Printf("  %-24s %-11s %10.0f %10.0f %7.2f (%.2f to %.2f)\n", o.label, modern, c.first, c.second, c.ratio, c.lowest, c.highest)
	}
	for _, o := range []operation{callGet, callList, listTools} {
		plainBytes, plainCount := allocations(plain.server.Handler(), plain.urls[0], f.token, o)
		ruleBytes, ruleCount := allocations(policed.server.Handler(), policed.urls[0], f.token, o)
		fmt.Printf("  %-24s none %7.1f KB %6.0f allocs   rules %7.1f KB %6.0f allocs\n", o.label, plainBytes/1024, plainCount, ruleBytes/1024, ruleCount)
	}
	fmt.Println()
	return nil
}

const allocationRuns = 300

func allocations(h http.Handler, url, token string, o operation) (bytesPer, countPer float64) {
	one := func() {
		req := httptest.NewRequest(http.MethodPost, url, bytes.NewReader(o.body(modern)))
		req.Header = o.header(modern, token)
		w := httptest.NewRecorder()
		h.ServeHTTP(w, req)
		if w.Code != http.StatusOK {
			panic(fmt.Sprintf("%s: %d %s", o.label, w.Code, w.Body))
		}
	}
	one()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for range allocationRuns {
		one()
	}
	runtime.ReadMemStats(&after)
	return float64(after.TotalAlloc-before.TotalAlloc) / allocationRuns, float64(after.Mallocs-before.Mallocs) / allocationRuns
}

// spread is over how many surfaces the calls go when many are registered.
const spread = 100

// compareSizes registers n surfaces, touches them all, and compares calls
// spread over some of them with calls to the small instance.
func compareSizes(ctx context.Context, f *fixture, small *service, n int, slice time.Duration, pairs int) error {
	large, err := f.serve(ctx, f.compiled, n)
	if err != nil {
		return err
	}
	defer large.close()
	fmt.Printf("%d surfaces registered, all touched\n", n)
	touched, err := touch(ctx, large.urls, f.token)
	if err != nil {
		return err
	}
	fmt.Printf("  first call of a surface (directory, revision, build): median %s, p95 %s\n", touched.median, touched.p95)
	spreadOver := large.urls[len(large.urls)-min(spread, n):] // the last touched; still warm
	if _, err := touch(ctx, spreadOver, f.token); err != nil {
		return err
	}
	c, err := compare(ctx, target{urls: small.urls, token: f.token}, target{urls: spreadOver, token: f.token}, callGet, modern, slice, pairs)
	if err != nil {
		return err
	}
	fmt.Printf("  calls over %d of them against %d registered: %.0f/s and %.0f/s, ratio %.2f (%.2f to %.2f)\n",
		len(spreadOver), len(small.urls), c.second, c.first, c.ratio, c.lowest, c.highest)
	first, again, err := touchTwice(ctx, large.urls[:min(spread, n)], f.token)
	if err != nil {
		return err
	}
	fmt.Printf("  one client: a call whose revision the cache has let go and must rebuild: median %s; the next call of the same surface: %s\n", first.median, again.median)
	debug.FreeOSMemory()
	fmt.Printf("  resident memory of this process, load generator and bare server included: %d MiB now, %d MiB at its peak\n\n", statusMiB("VmRSS:"), statusMiB("VmHWM:"))
	return nil
}

type latencies struct{ median, p95 time.Duration }

// touch calls each URL once, one after the other.
func touch(ctx context.Context, urls []string, token string) (latencies, error) {
	took, err := sequence(ctx, urls, token, 1)
	if err != nil {
		return latencies{}, err
	}
	return latenciesOf(took[0]), nil
}

// touchTwice calls each URL twice in a row, one URL after the other.
func touchTwice(ctx context.Context, urls []string, token string) (first, again latencies, err error) {
	took, err := sequence(ctx, urls, token, 2)
	if err != nil {
		return latencies{}, latencies{}, err
	}
	return latenciesOf(took[0]), latenciesOf(took[1]), nil
}

// sequence calls each URL a number of times in a row and returns how long the
// first calls took, the second ones, and so on.
func sequence(ctx context.Context, urls []string, token string, times int) ([][]float64, error) {
	transport := &http.Transport{}
	defer transport.CloseIdleConnections()
	took := make([][]float64, times)
	for _, url := range urls {
		for i := range times {
			start := time.Now()
			if err := send(ctx, transport, url, token, callGet, modern); err != nil {
				return nil, err
			}
			took[i] = append(took[i], float64(time.Since(start)))
		}
	}
	return took, nil
}

func latenciesOf(took []float64) latencies {
	m := median(took) // sorts
	return latencies{time.Duration(m).Round(time.Microsecond), time.Duration(took[len(took)*95/100]).Round(time.Microsecond)}
}

// statusMiB reads a memory line of /proc/self/status, or 0 elsewhere.
func statusMiB(name string) int {
	b, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(b), "\n") {
		if rest, found := strings.CutPrefix(line, name); found {
			var kib int
			if _, err := fmt.Sscan(rest, &kib); err == nil {
				return kib >> 10
			}
		}
	}
	return 0
}
