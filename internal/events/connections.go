package events

import (
	"context"
	"encoding/base64"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
)

const (
	// maxSteps bounds what is joined at once; older steps are on later pages.
	maxSteps = 10_000

	// maxAttempts is how many attempts a page may have.
	maxAttempts = 50
)

// ConnectionFilter says which attempts are wanted. The zero value is all.
type ConnectionFilter struct {
	State  AttemptState // empty for any
	Client string       // its id, or part of its name; empty for any
	Since  time.Time    // by its last step; zero for as long as steps are kept
}

// ConnectionPage is one page of attempts, newest first by their last step.
type ConnectionPage struct {
	Attempts []Attempt
	Next     string // cursor of the next page; empty on the last
}

// Connections lists the attempts to connect to a surface, at most limit (50).
// cursor is Next of the page before, or empty. Those of another organization's
// surface are none. Errors: fault.Invalid for a cursor that is not one of ours.
//
// Attempts are joined from at most 10,000 steps at a time; one that reaches
// from one such span into the next shows in both.
func (r *Reader) Connections(ctx context.Context, org id.Organization, surface id.Surface, f ConnectionFilter, cursor string, limit int, now time.Time) (ConnectionPage, error) {
	at, err := parsePlace(cursor)
	if err != nil {
		return ConnectionPage{}, err
	}
	if cursor == "" {
		at.until = now.Add(time.Minute) // another server's clock may be ahead
	}
	if limit <= 0 || limit > maxAttempts {
		limit = maxAttempts
	}
	steps, err := r.steps(ctx, org, surface, f.Since, at.until)
	if err != nil {
		return ConnectionPage{}, err
	}
	steps, older := r.whole(steps)
	var page ConnectionPage
	for _, a := range Attempts(steps, now) {
		if !f.wants(a) || !at.before(a) {
			continue
		}
		if len(page.Attempts) == limit {
			last := page.Attempts[limit-1]
			page.Next = place{until: at.until, ended: last.Ended, id: last.ID}.String()
			return page, nil
		}
		page.Attempts = append(page.Attempts, a)
	}
	if !older.IsZero() {
		page.Next = place{until: older}.String()
	}
	return page, nil
}

// whole leaves to the next span those steps at whose moment a full span was
// cut, and says where that span ends; zero where nothing was cut.
func (r *Reader) whole(steps []StoredStep) (kept []StoredStep, older time.Time) {
	if len(steps) < r.span {
		return steps, time.Time{}
	}
	oldest := steps[len(steps)-1].At
	cut := slices.IndexFunc(steps, func(s StoredStep) bool { return s.At.Equal(oldest) })
	if cut == 0 { // all at one moment: what does not fit is not shown
		return steps, oldest
	}
	return steps[:cut], oldest.Add(time.Microsecond)
}

// ConnectionSummary is what the attempts since a moment come to.
type ConnectionSummary struct {
	Connected int      // attempts
	Failed    int      // attempts
	Waiting   int      // attempts
	Newest    *Attempt // that failed; nil for none
}

// ConnectionSummary adds up the attempts to connect to a surface since a
// moment, of the newest 10,000 steps.
func (r *Reader) ConnectionSummary(ctx context.Context, org id.Organization, surface id.Surface, since, now time.Time) (ConnectionSummary, error) {
	var sum ConnectionSummary
	steps, err := r.steps(ctx, org, surface, since, now.Add(time.Minute))
	if err != nil {
		return sum, err
	}
	for _, a := range Attempts(steps, now) {
		switch a.State {
		case AttemptConnected:
			sum.Connected++
		case AttemptWaiting:
			sum.Waiting++
		case AttemptFailed:
			if sum.Failed++; sum.Newest == nil {
				sum.Newest = &a
			}
		}
	}
	return sum, nil
}

// steps are a surface's within a span, newest first, at most maxSteps.
func (r *Reader) steps(ctx context.Context, org id.Organization, surface id.Surface, since, until time.Time) ([]StoredStep, error) {
	var steps []StoredStep
	err := r.store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		rows, err := q.ListConnectionSteps(ctx, db.ListConnectionStepsParams{
			OrganizationID: org, SurfaceID: surface, Since: since, Until: until, Most: int32(r.span),
		})
		if err != nil {
			return fmt.Errorf("list connection steps: %w", err)
		}
		for _, row := range rows {
			steps = append(steps, stepOf(row))
		}
		return nil
	})
	return steps, err
}

func (f ConnectionFilter) wants(a Attempt) bool {
	if f.State != "" && a.State != f.State {
		return false
	}
	return f.Client == "" || a.Client == f.Client || strings.Contains(strings.ToLower(a.ClientName), strings.ToLower(f.Client))
}

// place is where a page ends: behind an attempt of a span of steps.
type place struct {
	until time.Time // the span's end
	ended time.Time // zero: the span's beginning
	id    id.Step
}

// before reports whether an attempt comes behind the place.
func (p place) before(a Attempt) bool {
	if p.ended.IsZero() {
		return true
	}
	return a.Ended.Before(p.ended) || a.Ended.Equal(p.ended) && compareIDs(a.ID, p.id) < 0
}

// placeSize is 8 bytes for each time, in microseconds as Postgres has them,
// and an id.
const placeSize = 8 + 8 + 16

// String is the place as a cursor.
func (p place) String() string {
	b := make([]byte, 0, placeSize)
	b = binary.BigEndian.AppendUint64(b, uint64(p.until.UnixMicro()))
	ended := int64(0)
	if !p.ended.IsZero() {
		ended = p.ended.UnixMicro()
	}
	b = binary.BigEndian.AppendUint64(b, uint64(ended))
	return base64.RawURLEncoding.EncodeToString(append(b, p.id[:]...))
}

func parsePlace(cursor string) (place, error) {
	if cursor == "" {
		return place{}, nil
	}
	b, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil || len(b) != placeSize {
		return place{}, fault.New(fault.Invalid, "cursor_invalid", "The cursor is not one of this list. Start again without it.")
	}
	p := place{until: time.UnixMicro(int64(binary.BigEndian.Uint64(b))).UTC()}
	if ended := int64(binary.BigEndian.Uint64(b[8:])); ended != 0 {
		p.ended = time.UnixMicro(ended).UTC()
	}
	copy(p.id[:], b[16:])
	// Postgres knows no time outside these.
	if p.until.Year() < 2000 || p.until.Year() > 9999 {
		return place{}, fault.New(fault.Invalid, "cursor_invalid", "The cursor is not one of this list. Start again without it.")
	}
	return p, nil
}

// ParseAttemptState reads a state's name; empty is any.
func ParseAttemptState(name string) (AttemptState, error) {
	if name == "" || slices.Contains(AttemptStates(), AttemptState(name)) {
		return AttemptState(name), nil
	}
	return "", fault.New(fault.Invalid, "state", "The state is connected, failed, waiting, abandoned or ended.")
}
