package events

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// Actor is who does something in an organization: a builder by a browser
// session or by an API token, or, with neither, the instance itself.
type Actor struct {
	Organization id.Organization
	Builder      id.Builder
	Token        id.Token // zero for a browser session
	Address      string   // of the request; empty for the instance itself
}

// String is the actor as the audit log names it: tok_…, bld_… or system.
func (a Actor) String() string {
	switch {
	case !a.Token.IsZero():
		return a.Token.String()
	case !a.Builder.IsZero():
		return a.Builder.String()
	}
	return "system"
}

// The outcomes of an audited act.
const (
	AuditOK      = "ok"
	AuditRefused = "refused"
)

// AuditEntry is one act for the audit log. It holds ids, names and digests,
// never secrets, and nothing an end user typed.
type AuditEntry struct {
	Action  string // noun.verb, such as project.create
	Target  string // prj_…, srf_… or a name
	Outcome string // AuditOK or AuditRefused
	Detail  map[string]any
}

// Audit writes one row of the audit log as part of the transaction of q.
func Audit(ctx context.Context, q *db.Queries, now time.Time, by Actor, e AuditEntry) error {
	detail := json.RawMessage("{}")
	if len(e.Detail) > 0 {
		var err error
		if detail, err = json.Marshal(e.Detail); err != nil {
			return fmt.Errorf("encode audit detail: %w", err)
		}
	}
	err := q.InsertAuditEvent(ctx, db.InsertAuditEventParams{
		OrganizationID: by.Organization, ID: id.New[id.AuditKind](), Now: now, Actor: by.String(), Address: by.Address,
		Action: e.Action, Target: e.Target, Outcome: e.Outcome, Detail: detail,
	})
	if err != nil {
		return fmt.Errorf("record audit event: %w", err)
	}
	return nil
}
