package tenants

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
)

// directoryChannel is where the triggers notify: those on projects, surfaces,
// surface_urls and domains, and those on what a Watch is for.
const directoryChannel = "chumbo_directory"

// Run keeps the listening connection until ctx ends, connecting again whenever
// it is lost. It returns ctx's error.
func (d *Directory) Run(ctx context.Context) error {
	for pause := time.Duration(0); ; {
		began := time.Now()
		err := d.listenOnce(ctx)
		d.fresh.lost()
		if ctx.Err() != nil {
			return ctx.Err()
		}
		d.log.LogAttrs(ctx, slog.LevelWarn, "directory stopped listening, connecting again", slog.String("error", err.Error()))
		if pause = min(2*pause+50*time.Millisecond, 2*time.Second); time.Since(began) > silenceBound {
			pause = 50 * time.Millisecond
		}
		timer := time.NewTimer(pause)
		select {
		case <-ctx.Done():
			timer.Stop()
			return ctx.Err()
		case <-timer.C:
		}
	}
}

// listenOnce listens on one connection until it breaks or falls silent.
func (d *Directory) listenOnce(ctx context.Context) error {
	connecting, cancel := context.WithTimeout(ctx, silenceBound)
	defer cancel()
	conn, err := pgx.ConnectConfig(connecting, d.listen.Copy())
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() {
		closing, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_ = conn.Close(closing)
	}()
	began := d.now()
	beats := fmt.Sprintf("chumbo_beat_%d_%d", os.Getpid(), conn.PgConn().PID())
	if _, err := conn.Exec(connecting, "listen "+directoryChannel+"; listen "+beats); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	d.fresh.connected(began)
	d.watch.tell(scopeAll)
	return d.hear(ctx, conn, beats)
}

// hear alternates between a beat to ourselves and what comes in. Every notice
// committed before a beat is delivered before it, so a beat that comes back
// vouches for the moment it was sent.
func (d *Directory) hear(ctx context.Context, conn *pgx.Conn, beats string) error {
	for {
		sent := d.now()
		deadline := time.Now().Add(silenceBound)
		sending, cancel := context.WithDeadline(ctx, deadline)
		_, err := conn.Exec(sending, "select pg_notify($1, '')", pgx.QueryExecModeSimpleProtocol, beats)
		cancel()
		if err != nil {
			return fmt.Errorf("send beat: %w", err)
		}
		nextBeat := time.Now().Add(beatEvery)
		if err := d.receive(ctx, conn, deadline, func(channel, payload string) bool {
			if channel == beats {
				if d.fresh.beat(sent, d.now()) {
					d.watch.tell(scopeAll)
				}
				return true
			}
			d.notified(payload)
			return false
		}); err != nil {
			return fmt.Errorf("wait for beat: %w", err)
		}
		err = d.receive(ctx, conn, nextBeat, func(_, payload string) bool {
			d.notified(payload)
			return false
		})
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return fmt.Errorf("wait for notice: %w", err)
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
	}
}

// receive hands notices to fn until fn is content or the deadline passes.
func (d *Directory) receive(ctx context.Context, conn *pgx.Conn, deadline time.Time, fn func(channel, payload string) bool) error {
	ctx, cancel := context.WithDeadline(ctx, deadline)
	defer cancel()
	for {
		notice, err := conn.WaitForNotification(ctx)
		if err != nil {
			return err
		}
		if fn(notice.Channel, notice.Payload) {
			return nil
		}
	}
}

// notified notes what a payload names, and tells those who watch for it: only
// then, so that what they read next is no longer answered from memory.
func (d *Directory) notified(payload string) {
	scope := scopeOf(payload)
	d.fresh.invalidate(scope)
	d.watch.tell(scope)
}

// scopeOf is the scope a payload names. What we do not understand, from a
// newer server's trigger perhaps, is taken as everything.
func scopeOf(payload string) string {
	for _, kind := range []string{scopeURL, scopeHost, scopeSurface, scopeProject, ScopeGrant, ScopeUpstream, ScopeKey, ScopeClient, ScopeIntrospection} {
		if strings.HasPrefix(payload, kind) {
			return payload
		}
	}
	return scopeAll
}
