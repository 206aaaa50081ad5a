package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// target is what a load is sent to: the same operation at one or more URLs.
type target struct {
	urls  []string
	token string
}

// load keeps the target busy for a slice of time and returns requests per
// second. Any answer but 200 with a result ends it.
func load(ctx context.Context, t target, o operation, e era, slice time.Duration) (float64, error) {
	transport := &http.Transport{
		MaxIdleConnsPerHost: clients,
		DialContext:         (&net.Dialer{}).DialContext,
	}
	defer transport.CloseIdleConnections()
	var done atomic.Int64
	var failure atomic.Pointer[error]
	var group sync.WaitGroup
	start := time.Now()
	deadline := start.Add(slice)
	for c := range clients {
		group.Go(func() {
			for i := c; time.Now().Before(deadline) && failure.Load() == nil; i++ {
				if err := send(ctx, transport, t.urls[i%len(t.urls)], t.token, o, e); err != nil {
					failure.Store(&err)
					return
				}
				done.Add(1)
			}
		})
	}
	group.Wait()
	if err := failure.Load(); err != nil {
		return 0, *err
	}
	return float64(done.Load()) / time.Since(start).Seconds(), nil
}

func send(ctx context.Context, transport http.RoundTripper, url, token string, o operation, e era) error {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(o.body(e)))
	if err != nil {
		return err
	}
	req.Header = o.header(e, token)
	resp, err := transport.RoundTrip(req)
	if err != nil {
		return err
	}
	body, err := io.ReadAll(resp.Body)
	_ = resp.Body.Close()
	if err != nil {
		return err
	}
	if resp.StatusCode != http.StatusOK || !bytes.Contains(body, []byte(`"result"`)) || bytes.Contains(body, []byte(`"isError":true`)) {
		return fmt.Errorf("%s %s: %s: %s", url, o.label, resp.Status, body)
	}
	return nil
}

// comparison is the outcome of interleaved pairs.
type comparison struct {
	ratio, lowest, highest float64 // second over first: median, extremes
	first, second          float64 // median requests per second
}

// compare loads two targets in turn, so that whatever else the machine does
// hits both, and takes the median of the pairs' ratios.
func compare(ctx context.Context, first, second target, o operation, e era, slice time.Duration, pairs int) (comparison, error) {
	var ratios, firsts, seconds []float64
	for range pairs {
		a, err := load(ctx, first, o, e, slice)
		if err != nil {
			return comparison{}, err
		}
		b, err := load(ctx, second, o, e, slice)
		if err != nil {
			return comparison{}, err
		}
		ratios, firsts, seconds = append(ratios, b/a), append(firsts, a), append(seconds, b)
	}
	slices.Sort(ratios)
	return comparison{
		ratio: ratios[len(ratios)/2], lowest: ratios[0], highest: ratios[len(ratios)-1],
		first: median(firsts), second: median(seconds),
	}, nil
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}
