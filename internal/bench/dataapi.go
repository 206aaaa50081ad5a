package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

// waysFile has one tool for each way to the Data API.
const waysFile = `version: 1
title: Bench
access: { mode: oauth, authorization: direct }
tools:
  - table: t0
    operations: [list, get, update]
    columns: [id, name, status, amount, updated_at]
    order: [name, id]
    write: [name, status]
  - rpc: one_row
    description: Reads one row.
`

// compareDataAPI prints what the whole way adds to the Data API: calls of tools
// beside the very requests that they send, sent straight there by one client
// that keeps its connections. Once with a project that answers at once, where
// the ratio is the worst it can be, and once with one over Postgres.
func compareDataAPI(ctx context.Context, f *fixture, slice time.Duration, pairs int) error {
	at, err := f.serve(ctx, f.ways, 1)
	if err != nil {
		return err
	}
	defer at.close()
	fmt.Println("Against the same requests sent straight to the Data API, one client, calls in turn")
	if err := printDataCalls(ctx, "answers at once", f.tap, target{urls: at.urls, token: f.token}, slice, pairs); err != nil {
		return err
	}
	p, err := standin.Start(ctx, standin.Options{Postgres: f.postgres, Schema: appSchema() + appRows, Users: standin.CRMUsers()})
	if err != nil {
		return err
	}
	defer func() { _ = p.Close() }()
	tap := &tap{}
	p.Intercept(tap.wrap)
	token, err := p.AccessToken(standin.AliceEmail, standin.TokenOptions{ClientID: "00000000-0000-4000-8000-000000000008"})
	if err != nil {
		return err
	}
	over, err := f.serveOf(ctx, origin{p.URL(), p.PublishableKey()}, f.ways, 1, "bench_1_postgres")
	if err != nil {
		return err
	}
	defer over.close()
	if err := printDataCalls(ctx, "over Postgres", tap, target{urls: over.urls, token: token}, slice, pairs); err != nil {
		return err
	}
	fmt.Println()
	return nil
}

// appRows fill the table that is read.
const appRows = `insert into t0 (name, status, amount, updated_at) select 'Customer ' || i, 'active', 12345.67, '2026-11-30T12:00:00Z' from generate_series(1, 1000) i;
analyze t0;`

func printDataCalls(ctx context.Context, project string, tap *tap, at target, slice time.Duration, pairs int) error {
	fmt.Printf("  %-24s %10s %10s %7s %15s %10s\n", "project "+project, "direct µs", "chumbo µs", "ratio", "(range)", "added µs")
	transport := &http.Transport{MaxIdleConnsPerHost: clients, DialContext: (&net.Dialer{}).DialContext}
	defer transport.CloseIdleConnections()
	for _, o := range dataCalls {
		ours := func() error { return send(ctx, transport, at.urls[0], at.token, o, modern) }
		direct, err := tap.sent(ctx, transport, ours)
		if err != nil {
			return fmt.Errorf("%s: %w", o.label, err)
		}
		b, err := beside(ctx, direct, ours, slice, pairs)
		if err != nil {
			return fmt.Errorf("%s: %w", o.label, err)
		}
		fmt.Printf("  %-24s %10.0f %10.0f %7.2f (%.2f to %.2f) %10.0f\n", o.label, b.direct, b.ours, b.ratio, b.lowest, b.highest, b.added)
	}
	return nil
}

// added is what one way takes beside another, in microseconds per call.
type added struct {
	ratio, lowest, highest float64 // of the pairs' medians: median, extremes
	direct, ours           float64 // median of the pairs' medians
	added                  float64 // median of the pairs' differences
}

// beside times two ways call by call in turn, so that whatever else the machine
// does hits both, and takes the medians of each pair of slices.
func beside(ctx context.Context, direct, ours func() error, slice time.Duration, pairs int) (added, error) {
	var ratios, directs, all, differences []float64
	for range pairs {
		var a, b []float64
		for end := time.Now().Add(2 * slice); time.Now().Before(end) && ctx.Err() == nil; {
			for _, way := range []struct {
				call func() error
				took *[]float64
			}{{direct, &a}, {ours, &b}} {
				start := time.Now()
				if err := way.call(); err != nil {
					return added{}, err
				}
				*way.took = append(*way.took, float64(time.Since(start))/float64(time.Microsecond))
			}
		}
		if ctx.Err() != nil {
			return added{}, ctx.Err()
		}
		first, second := median(a), median(b)
		ratios, directs, all = append(ratios, second/first), append(directs, first), append(all, second)
		differences = append(differences, second-first)
	}
	slices.Sort(ratios)
	return added{
		ratio: ratios[len(ratios)/2], lowest: ratios[0], highest: ratios[len(ratios)-1],
		direct: median(directs), ours: median(all), added: median(differences),
	}, nil
}

// tap sees the Data API requests that reach a project while it is on.
type tap struct {
	on   atomic.Bool
	last atomic.Pointer[http.Request] // with its body read
	body []byte                       // of last
}

func (t *tap) wrap(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if t.on.Load() && strings.HasPrefix(r.URL.Path, "/rest/v1/") {
			body, _ := io.ReadAll(r.Body)
			r.Body = io.NopCloser(bytes.NewReader(body))
			t.body = body
			t.last.Store(r)
		}
		next.ServeHTTP(w, r)
	})
}

// sent makes one call and returns how to send its request to the project again
// without it.
func (t *tap) sent(ctx context.Context, transport http.RoundTripper, call func() error) (func() error, error) {
	t.last.Store(nil)
	t.on.Store(true)
	err := call()
	t.on.Store(false)
	if err != nil {
		return nil, err
	}
	seen := t.last.Load()
	if seen == nil {
		return nil, errors.New("the call sent nothing to the project")
	}
	url, header, body := "http://"+seen.Host+seen.URL.RequestURI(), seen.Header.Clone(), t.body
	method := seen.Method
	header.Del("X-Standin-Role")
	return func() error {
		req, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
		if err != nil {
			return err
		}
		req.Header = header
		res, err := transport.RoundTrip(req)
		if err != nil {
			return err
		}
		answer, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			return err
		}
		if res.StatusCode != http.StatusOK || len(answer) == 0 {
			return fmt.Errorf("%s %s: %s: %s", method, url, res.Status, answer)
		}
		return nil
	}, nil
}
