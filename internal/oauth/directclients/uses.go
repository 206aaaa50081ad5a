package directclients

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/maypok86/otter/v2"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/oauth"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

const (
	touchEvery = time.Minute     // how exact last_used_at is
	nameEvery  = time.Hour       // how often a name is written at most
	batchFor   = 2 * time.Second // how long uses are gathered before they are written
	batchMost  = 10_000          // clients gathered; what is more says itself again at its next use
	batchWait  = 5 * time.Second
	nameBytes  = 100
)

// uses gathers which clients came, and writes that in batches: a call never
// waits for it.
type uses struct {
	touched *otter.Cache[clientKey, time.Time]
	named   *otter.Cache[clientKey, time.Time]

	mu    sync.Mutex
	due   map[clientKey]use
	armed bool
}

// use is what is to be written of a client.
type use struct {
	surface id.Surface // that it came to; zero when only a name is to be written
	name    string     // empty: no news
}

func newUses() (*uses, error) {
	touched, err := otter.New(&otter.Options[clientKey, time.Time]{MaximumSize: rememberedClients})
	if err != nil {
		return nil, err
	}
	named, err := otter.New(&otter.Options[clientKey, time.Time]{MaximumSize: rememberedClients})
	if err != nil {
		return nil, err
	}
	return &uses{touched: touched, named: named, due: map[clientKey]use{}}, nil
}

// noteUse says that the client is in use at the surface now.
func (s *Service) noteUse(key clientKey, surface id.Surface) {
	s.gather(s.uses.touched, touchEvery, key, func(u *use) {
		if u.surface.IsZero() { // the first counts
			u.surface = surface
		}
	})
}

// Name keeps what a client says of itself, unverified: 100 bytes at most, once
// per client and hour. It never waits, and may be called at every call.
func (s *Service) Name(ep *tenants.Endpoint, c *oauth.Caller, name string) {
	if c.Key.Mode != oauth.ModeDirect {
		return
	}
	if name = tidy(name); name == "" {
		return
	}
	s.gather(s.uses.named, nameEvery, keyOf(ep, c), func(u *use) { u.name = name })
}

// gather changes what is to be written of a client, unless that was written
// lately.
func (s *Service) gather(last *otter.Cache[clientKey, time.Time], every time.Duration, key clientKey, change func(*use)) {
	now := s.cfg.Now()
	if at, ok := last.GetIfPresent(key); ok && now.Sub(at) < every || !recordable(key.client) {
		return
	}
	s.uses.mu.Lock()
	defer s.uses.mu.Unlock()
	u, there := s.uses.due[key]
	if !there && len(s.uses.due) >= batchMost {
		return
	}
	last.Set(key, now)
	change(&u)
	s.uses.due[key] = u
	if !s.uses.armed {
		s.uses.armed = true
		time.AfterFunc(batchFor, s.writeUses)
	}
}

// take empties what is gathered, by organization and in one order everywhere,
// so that two servers never wait for one another.
func (u *uses) take() (map[clientKey]use, map[id.Organization][]clientKey) {
	u.mu.Lock()
	due := u.due
	u.due, u.armed = map[clientKey]use{}, false
	u.mu.Unlock()
	keys := map[id.Organization][]clientKey{}
	for key := range due {
		keys[key.organization] = append(keys[key.organization], key)
	}
	for _, list := range keys {
		slices.SortFunc(list, func(a, b clientKey) int {
			return cmp.Or(strings.Compare(a.project.String(), b.project.String()), strings.Compare(a.client, b.client))
		})
	}
	return due, keys
}

// writeUses writes what is gathered. What cannot be written is forgotten: the
// next use says it again.
func (s *Service) writeUses() {
	due, keys := s.uses.take()
	for org, list := range keys {
		ctx, cancel := context.WithTimeout(context.Background(), batchWait)
		err := s.cfg.Store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
			for _, key := range list {
				if err := s.writeUse(ctx, q, key, due[key]); err != nil {
					return err
				}
			}
			return nil
		})
		cancel()
		if err != nil {
			s.cfg.Logger.LogAttrs(ctx, slog.LevelWarn, "uses of clients were not written",
				slog.String("organization", org.String()), slog.Int("clients", len(list)), slog.String("error", err.Error()))
		}
	}
}

func (s *Service) writeUse(ctx context.Context, q *db.Queries, key clientKey, u use) error {
	if !u.surface.IsZero() {
		if _, err := s.record(ctx, q, key, u.surface); err != nil {
			if errors.Is(err, errTooMany) {
				return nil // in use all the same
			}
			return err
		}
	}
	if u.name == "" {
		return nil
	}
	return q.NameDirectClient(ctx, db.NameDirectClientParams{Name: u.name, OrganizationID: key.organization, ProjectID: key.project, ClientID: key.client})
}

// tidy is a name as it is kept: one line of what can be seen, cut between
// characters.
func tidy(name string) string {
	if len(name) > 4*nameBytes {
		name = name[:4*nameBytes]
	}
	name = strings.Join(strings.FieldsFunc(strings.ToValidUTF8(name, ""), func(r rune) bool {
		return unicode.IsSpace(r) || !unicode.IsPrint(r)
	}), " ")
	if len(name) <= nameBytes {
		return name
	}
	end := nameBytes
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return strings.TrimRight(name[:end], " ")
}
