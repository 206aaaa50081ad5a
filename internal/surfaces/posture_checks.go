package surfaces

import (
	"fmt"
	"slices"
	"strings"
)

// inspection collects findings.
type inspection struct {
	ix       *index
	uses     map[string]use
	found    map[string]bool // by id
	findings []Finding
}

func (p *inspection) add(f Finding, detail string) {
	f.ID = f.Kind + ":" + f.Object
	if detail != "" {
		f.ID += ":" + detail
	}
	if p.found[f.ID] {
		return
	}
	p.found[f.ID] = true
	p.findings = append(p.findings, f)
}

// commands are in the order they are told in: the gravest last.
var commands = []string{CommandSelect, CommandInsert, CommandUpdate, CommandDelete}

// may reports whether a role can use a command on some of the relation. A
// right on what stands in a schema that is closed to the role is none.
func (p *inspection) may(r *RelationSchema, role, command string) bool {
	if !slices.Contains(p.ix.usage[r.Schema], role) {
		return false
	}
	if command == CommandDelete {
		return slices.Contains(r.Delete, role)
	}
	return slices.ContainsFunc(r.Columns, func(c ColumnSchema) bool {
		return slices.Contains(map[string][]string{CommandSelect: c.Select, CommandInsert: c.Insert, CommandUpdate: c.Update}[command], role)
	})
}

// reached names the roles that can use any command on the relation.
func (p *inspection) reached(r *RelationSchema) []string {
	var roles []string
	for _, role := range p.ix.snap.Roles {
		if slices.ContainsFunc(commands, func(command string) bool { return p.may(r, role.Name, command) }) {
			roles = append(roles, role.Name)
		}
	}
	return roles
}

func (p *inspection) relation(r *RelationSchema) {
	object := r.Schema + "." + r.Name
	used, name := p.uses[object], qualified(r.Schema, r.Name)
	roles := p.reached(r)
	severity := FindingWarning
	if used.any || len(roles) > 0 {
		severity = FindingSerious
	}
	switch {
	case r.Kind == KindTable && !r.RLS:
		p.add(Finding{
			Kind: FindingTableWithoutRLS, Severity: severity, Object: object, Used: used.any,
			Summary: fmt.Sprintf("Row Level Security is off on %s: %s.", name, everyRow(roles)),
			SQL:     fmt.Sprintf("alter table %s enable row level security;\n-- Until a policy lets them, nobody sees a row of it. Such as:\n-- %s", name, policySketch(r)),
		}, "")
	case r.Kind == KindView && !r.SecurityInvoker:
		p.add(Finding{
			Kind: FindingViewDefiner, Severity: severity, Object: object, Used: used.any,
			Summary: fmt.Sprintf("The view %s runs with its owner's rights, so Row Level Security of the tables below does not apply: %s.", name, everyRow(roles)),
			SQL:     fmt.Sprintf("alter view %s set (security_invoker = true);\n-- Callers then need rights of their own on the tables below it.", name),
		}, "")
	}
	p.grantToAnon(r, used)
}

func everyRow(roles []string) string {
	if len(roles) == 0 {
		return "whoever is let in later reaches every row"
	}
	return "every caller with the role " + strings.Join(roles, " or ") + " reaches every row"
}

// policySketch is a policy as it might be, for a comment.
func policySketch(r *RelationSchema) string {
	column := "user_id"
	for _, name := range []string{"user_id", "owner_id", "author_id", "created_by"} {
		if c := r.column(name); c != nil {
			column = name
			break
		}
	}
	return fmt.Sprintf("create policy \"own rows\" on %s for select to authenticated using (%s = (select auth.uid()));", qualified(r.Schema, r.Name), column)
}

// grantToAnon finds what everybody with the publishable key may do, where
// nothing says that it is meant.
func (p *inspection) grantToAnon(r *RelationSchema, used use) {
	const anon = "anon"
	var meant []string
	if i := slices.IndexFunc(r.PolicyRoles, func(x PolicyRole) bool { return x.Role == anon }); i >= 0 && r.RLS {
		meant = r.PolicyRoles[i].Commands
	}
	meant = slices.Concat(meant, used.public)
	var granted []string
	for _, command := range commands {
		if p.may(r, anon, command) && !slices.Contains(meant, command) {
			granted = append(granted, command)
		}
	}
	if len(granted) == 0 {
		return
	}
	name := qualified(r.Schema, r.Name)
	what := "may " + sentenceList(granted)
	if granted[len(granted)-1] != CommandSelect {
		what += ", not only read"
	}
	guard := "nothing else stands before its rows"
	switch {
	case r.Kind == KindTable && r.RLS:
		guard = "only Row Level Security stands before its rows, and no policy names anon for it"
	case r.Kind == KindView && r.SecurityInvoker:
		guard = "only the tables below stand before its rows"
	}
	p.add(Finding{
		Kind: FindingGrantToAnon, Severity: FindingWarning, Object: r.Schema + "." + r.Name, Used: used.any,
		Summary: fmt.Sprintf("Callers who are not signed in (anon) %s in %s; %s.", what, name, guard),
		SQL:     p.revokeFromAnon(r, granted),
	}, strings.Join(granted, ","))
}

// revokeFromAnon takes rights of anon away. Where everybody has them, the
// other roles keep theirs by name.
func (p *inspection) revokeFromAnon(r *RelationSchema, granted []string) string {
	name := qualified(r.Schema, r.Name)
	var everybody []string
	for _, command := range granted {
		if slices.Contains(r.Public, command) {
			everybody = append(everybody, command)
		}
	}
	sql := fmt.Sprintf("revoke %s on %s from anon;", strings.Join(granted, ", "), name)
	if len(everybody) == 0 {
		return sql
	}
	sql += fmt.Sprintf("\nrevoke %s on %s from public;", strings.Join(everybody, ", "), name)
	for _, role := range p.ix.snap.Roles {
		if role.Name == "anon" {
			continue
		}
		for _, command := range everybody {
			if right := rightOf(r, role.Name, command); right != "" {
				sql += fmt.Sprintf("\ngrant %s on %s to %s;", right, name, ident(role.Name))
			}
		}
	}
	return sql
}

// rightOf writes what a role may, by column where it may not all.
func rightOf(r *RelationSchema, role, command string) string {
	if command == CommandDelete {
		if slices.Contains(r.Delete, role) {
			return command
		}
		return ""
	}
	var columns []string
	for _, c := range r.Columns {
		if slices.Contains(map[string][]string{CommandSelect: c.Select, CommandInsert: c.Insert, CommandUpdate: c.Update}[command], role) {
			columns = append(columns, c.Name)
		}
	}
	switch len(columns) {
	case 0:
		return ""
	case len(r.Columns):
		return command
	}
	return command + " (" + identList(columns) + ")"
}

func sentenceList(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:len(words)-1], ", ") + " and " + words[len(words)-1]
}
