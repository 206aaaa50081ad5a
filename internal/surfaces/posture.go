package surfaces

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// FindingSeverity grades a posture finding.
type FindingSeverity string

// The severities of posture findings. A serious one about something a surface
// file uses stops its publishing, unless it is overridden.
const (
	FindingSerious FindingSeverity = "serious"
	FindingWarning FindingSeverity = "warning"
)

// The kinds of posture findings.
const (
	FindingTableWithoutRLS = "table_without_rls"
	FindingViewDefiner     = "view_without_security_invoker"
	FindingFunctionDefiner = "security_definer_function"
	FindingGrantToAnon     = "grant_to_anon"
	FindingMissingIndex    = "missing_index"
	FindingOverloaded      = "overloaded_function"
)

// findingKinds are in the order in which an object's findings are told and
// fixed: overloads are renamed last, since the SQL of the others names them.
var findingKinds = []string{
	FindingTableWithoutRLS, FindingViewDefiner, FindingFunctionDefiner, FindingGrantToAnon, FindingMissingIndex, FindingOverloaded,
}

// Finding is one thing about the project's database that its builder should
// know.
type Finding struct {
	ID       string          `json:"id"` // stable: kind:schema.object[:detail]
	Kind     string          `json:"kind"`
	Severity FindingSeverity `json:"severity"`
	Object   string          `json:"object"`  // schema.name
	Summary  string          `json:"summary"` // what, and what it means for callers
	SQL      string          `json:"sql"`     // that fixes it
	Used     bool            `json:"used"`    // a surface uses the object
}

// Posture finds what is risky in a snapshot: the serious first, then by
// object. used are the compiled surfaces over it; indexes are looked at for
// their orders and filters only.
//
// A table without Row Level Security, and a view that runs with its owner's
// rights, are serious when a surface uses them or a role of the Data API
// reaches them; a SECURITY DEFINER function that a role may call, when a
// surface uses it and does not mark it privileged. Everything else is a warning. A right of anon that a policy
// names anon for, or that a public tool needs, is meant and no finding.
func Posture(snap *Snapshot, used []*Compiled) []Finding {
	if snap == nil {
		return nil
	}
	p := &inspection{ix: newIndex(snap), uses: usesOf(used), found: map[string]bool{}}
	for i := range snap.Relations {
		p.relation(&snap.Relations[i])
	}
	for i := range snap.Functions {
		p.definer(&snap.Functions[i])
		p.overloads(&snap.Functions[i])
	}
	for _, c := range used {
		p.indexes(c)
	}
	slices.SortStableFunc(p.findings, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Severity, b.Severity), cmp.Compare(a.Object, b.Object), cmp.Compare(slices.Index(findingKinds, a.Kind), slices.Index(findingKinds, b.Kind)), cmp.Compare(a.ID, b.ID))
	})
	return p.findings
}

// Posture is Posture of the project's latest snapshot and live revisions, or
// fault.NotFound without a snapshot.
func (s *Service) Posture(ctx context.Context, org id.Organization, project id.Project) ([]Finding, error) {
	var stored StoredSnapshot
	var live []*Compiled
	err := s.store.AsOrganization(ctx, org, func(q *db.Queries, _ pgx.Tx) error {
		if err := mustHaveProject(ctx, q, org, project); err != nil {
			return err
		}
		var err error
		if stored, err = latest(ctx, q, org, project); err != nil {
			return err
		}
		rows, err := q.ListLiveCompiled(ctx, db.ListLiveCompiledParams{OrganizationID: org, ProjectID: project})
		if err != nil {
			return fmt.Errorf("list live revisions: %w", err)
		}
		for _, row := range rows {
			if !KnownFormat(int(row.Format)) {
				continue // a newer server's
			}
			var c Compiled
			if err := json.Unmarshal(row.Compiled, &c); err != nil {
				return fmt.Errorf("read compiled revision: %w", err)
			}
			live = append(live, &c)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return Posture(stored.Snapshot, live), nil
}

// use is what surfaces do with an object.
type use struct {
	any    bool
	public []string // commands of calls as anon
	owner  bool     // only what runs with its owner's rights on purpose uses it
}

// with is the use of what another tool does, too.
func (u use) with(owner, anon bool, commands ...string) use {
	next := use{any: true, public: u.public, owner: owner && (!u.any || u.owner)}
	if anon {
		next.public = slices.Concat(u.public, commands)
	}
	return next
}

// commands are the rights that a tool needs on its relation.
func (t *Tool) commands() []string {
	w := t.writing()
	switch {
	case w == nil:
		return []string{CommandSelect}
	case len(w.read()) == 0:
		return []string{commandOf(t.Operation())}
	}
	return []string{CommandSelect, commandOf(t.Operation())}
}

// usesOf are the relations and functions that surfaces use, by schema.name.
// The two share no names in one map: a function is marked by parentheses.
func usesOf(compiled []*Compiled) map[string]use {
	uses := map[string]use{}
	for _, c := range compiled {
		for _, t := range readersOf(c) {
			if !t.onDatabase() {
				continue // nothing of the database
			}
			on := t.Relation()
			key := on.Schema + "." + on.Name
			if t.RPC != nil {
				key += "()"
			}
			uses[key] = uses[key].with(t.Privileged, c.Access.anon(&t), t.commands()...)
			for _, e := range t.embeds() {
				key := e.Relation.Schema + "." + e.Relation.Name
				uses[key] = uses[key].with(false, c.Access.anon(&t), CommandSelect)
			}
		}
		for _, f := range called(c) {
			key := f.Schema + "." + f.Name + "()"
			uses[key] = uses[key].with(true, false)
		}
	}
	return uses
}

func toolsOf(c *Compiled) []Tool {
	if c == nil {
		return nil
	}
	return c.Tools
}
