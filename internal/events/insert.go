package events

import (
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// maxText bounds what a record says of things others named.
const maxText = 200

// insert writes a batch in one statement.
func insert(ctx context.Context, store *db.Store, batch []Invocation) error {
	var p db.InsertInvocationsParams
	for _, inv := range batch {
		if inv.Organization.IsZero() || inv.Surface.IsZero() {
			continue // belongs to nobody
		}
		p.OrganizationID = append(p.OrganizationID, inv.Organization.UUID())
		p.ID = append(p.ID, id.New[id.InvocationKind]().UUID())
		p.At = append(p.At, inv.At)
		p.SurfaceID = append(p.SurfaceID, inv.Surface.UUID())
		p.Revision = append(p.Revision, int32(inv.Revision))
		p.Method = append(p.Method, clean(inv.Method))
		p.Capability = append(p.Capability, clean(inv.Capability))
		p.Mode = append(p.Mode, clean(inv.Mode))
		p.ClientID = append(p.ClientID, clean(inv.Client))
		p.Protocol = append(p.Protocol, clean(inv.Protocol))
		p.Outcome = append(p.Outcome, string(inv.Outcome))
		p.ErrorKind = append(p.ErrorKind, clean(inv.ErrorKind))
		p.DurationUs = append(p.DurationUs, inv.Duration.Microseconds())
		p.ProjectUs = append(p.ProjectUs, inv.Project.Microseconds())
		p.ResultBytes = append(p.ResultBytes, int64(inv.ResultBytes))
		p.RequestID = append(p.RequestID, clean(inv.RequestID))
		p.UpstreamID = append(p.UpstreamID, clean(inv.Upstream))
		p.Actor = append(p.Actor, clean(inv.Actor))
	}
	if len(p.ID) == 0 {
		return nil
	}
	err := store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error { return q.InsertInvocations(ctx, p) })
	if err != nil {
		return fmt.Errorf("insert invocations: %w", err)
	}
	return nil
}

// clean makes text storable: one strange name must not lose a whole batch.
func clean(s string) string { return cleanTo(s, maxText) }

// cleanTo is clean for text of at most that many bytes.
func cleanTo(s string, most int) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, ""), "\x00", "")
	if len(s) <= most {
		return s
	}
	cut := most
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return s[:cut]
}
