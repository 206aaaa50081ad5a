package tenants

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

// throttleWindow is how long tries count, and how long the one that reached
// the bound blocks those after it.
const throttleWindow = 15 * time.Minute

// tried is whom a try counts against. What is stored of it is a keyed hash.
type tried struct {
	kind    string
	who     string
	bound   int32
	forgive bool // a right try forgets the wrong ones before it
}

func byEmail(email string) tried {
	return tried{kind: "email", who: strings.ToLower(email), bound: 10, forgive: true}
}

func byBuilder(b Builder) tried { return tried{kind: "builder", who: b.ID.String(), bound: 10} }

// byAddress counts an IPv6 network of 64 bits as one: that much is given to
// one household. An address nobody could tell is counted with its like.
func byAddress(kind, address string) tried {
	t := tried{kind: kind + " address", bound: 30}
	a, err := netip.ParseAddr(strings.TrimSpace(address))
	if err != nil {
		return t
	}
	a = a.Unmap().WithZone("")
	t.who = a.String()
	if a.Is6() {
		if network, err := a.Prefix(64); err == nil {
			t.who = network.String()
		}
	}
	return t
}

func (s *Service) throttleKey(t tried) []byte {
	return s.keys.MAC(seal.AddressHash, seal.AD("throttle", t.kind, t.who))
}

// try counts one try against each, before its outcome is known: many at once
// are counted too. Over a bound it is fault.RateLimited, and nothing is
// counted. The order of the arguments is the order of locks: emails and
// builders before addresses.
func (s *Service) try(ctx context.Context, by ...tried) error {
	return s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		for _, t := range by {
			if err := s.countTry(ctx, q, t); err != nil {
				return err
			}
		}
		if err := q.DeleteStaleThrottles(ctx, s.now().Add(-24*time.Hour)); err != nil {
			return fmt.Errorf("forget old tries: %w", err)
		}
		return nil
	})
}

func (s *Service) countTry(ctx context.Context, q *db.Queries, t tried) error {
	now, key := s.now(), s.throttleKey(t)
	n, err := q.CountTry(ctx, db.CountTryParams{
		Key: key, Now: now, WindowFloor: now.Add(-throttleWindow), Bound: t.bound, BlockUntil: now.Add(throttleWindow),
	})
	if err != nil {
		return fmt.Errorf("count try: %w", err)
	}
	if n == 1 {
		return nil
	}
	until, err := q.BlockedUntil(ctx, key)
	if err != nil {
		return fmt.Errorf("load throttle: %w", err)
	}
	wait := throttleWindow
	if until != nil {
		wait = max(until.Sub(now), time.Second)
	}
	minutes := int(wait.Minutes()) + 1
	return fault.New(fault.RateLimited, "too_many_tries", "There were too many tries. Wait %d minutes, then try again.", minutes).WithRetryAfter(wait)
}

// right takes a try back that was right after all.
func (s *Service) right(ctx context.Context, q *db.Queries, by ...tried) error {
	for _, t := range by {
		undo := q.UncountTry
		if t.forgive {
			undo = q.ForgetTries
		}
		if err := undo(ctx, s.throttleKey(t)); err != nil {
			return fmt.Errorf("take back try: %w", err)
		}
	}
	return nil
}
