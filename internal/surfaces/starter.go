package surfaces

import (
	"fmt"
	"slices"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// maxStarterTables is how many tables a file has room for: two tools each.
const maxStarterTables = MaxCapabilities / 2

// Starter writes a surface file that a builder can begin with: read-only tools
// over the named tables (schema.name, or name in the default schema), with the
// filters and orders that their indexes serve, and comments that explain. It
// compiles against snap without errors. An unknown table, or one that cannot
// be offered (see Offerable), is fault.Invalid.
func Starter(snap *Snapshot, title string, tables []string) ([]byte, error) {
	title = oneLine(title, ruleTitle.max)
	if title == "" {
		return nil, fault.New(fault.Invalid, "no_title", "Give the surface a title: it is what people connect to.")
	}
	if len(tables) == 0 || len(tables) > maxStarterTables {
		return nil, fault.New(fault.Invalid, "tables", "Choose 1 to %d tables.", maxStarterTables)
	}
	ix := newIndex(snap)
	var chosen []*starterTable
	var issues []fault.Issue
	for i, name := range tables {
		t, why := ix.starterTable(name)
		switch {
		case why != "":
			issues = append(issues, fault.Issue{Path: fmt.Sprintf("tables[%d]", i), Message: quoteName(name) + " " + why})
		case !slices.ContainsFunc(chosen, func(c *starterTable) bool { return c.rel == t.rel }):
			chosen = append(chosen, t)
		}
	}
	if len(issues) > 0 {
		return nil, fault.New(fault.Invalid, "tables", "%s of these cannot be offered.", plural(len(issues), "table")).WithIssues(issues...)
	}
	var b strings.Builder
	fmt.Fprintf(&b, `# What agents may do here, as the person who signed in: Row Level Security
# decides every row. Nothing is exposed until this file names it.
version: 1
title: %s
# Tell models what this is about, and where to begin:
# instructions: Customers of the signed-in user's organization. Start with customers_list.
# Chumbo signs people in through the app's own Supabase Auth, and each client
# gets what its user allows. (direct: the app's OAuth server does it instead.)
access: { mode: oauth, authorization: bridge }
tools:
`, yamlText(title))
	for i, t := range chosen {
		t.write(&b, i == 0)
	}
	b.WriteString(`  # A function of the database is a tool as well. What changes rows says so:
  # - rpc: archive_customer
  #   description: Archive a customer. It stays readable.
  #   annotations: { destructive: true, idempotent: true }
`)
	if b.Len() > MaxFileBytes {
		return nil, fault.New(fault.Invalid, "tables", "These tables have more columns than a surface file has room for. Choose fewer.")
	}
	return []byte(b.String()), nil
}

// Offerable lists the tables and views of a snapshot that Starter can offer to
// signed-in users: those that authenticated may read and whose rows have a
// key. A view has one when it has a column id, and is listed only when it runs
// with the caller's rights.
func Offerable(snap *Snapshot) []string {
	if snap == nil {
		return nil
	}
	ix := newIndex(snap)
	var names []string
	for i := range snap.Relations {
		r := &snap.Relations[i]
		name := ix.shown(r.Schema, r.Name)
		if t, why := ix.starterTable(name); why == "" && t.rel == r {
			names = append(names, name)
		}
	}
	return names
}

// write writes the entry of one table; the first explains itself.
func (t *starterTable) write(b *strings.Builder, explain bool) {
	note := func(text string) {
		if explain {
			fmt.Fprintf(b, "    # %s\n", text)
		}
	}
	fmt.Fprintf(b, "  - table: %s\n", yamlText(t.name))
	if t.rel.Comment == "" {
		b.WriteString("    # description: Say what a row is. Models choose a tool by this.\n")
	}
	note("list pages through rows, get reads one by its key.")
	fmt.Fprintf(b, "    operations: [%s]\n", strings.Join(t.operations, ", "))
	if len(t.declaredKey) > 0 {
		if t.rel.Kind == KindView {
			b.WriteString("    # The database cannot tell what identifies a row of a view: see that this does.\n")
		}
		fmt.Fprintf(b, "    key: %s\n", yamlList(t.declaredKey))
	}
	note("Take out what agents have no need to see.")
	fmt.Fprintf(b, "    columns: %s\n", yamlList(t.columns))
	if len(t.filters) > 0 {
		note("Each is an optional argument. These columns have an index that serves it.")
		b.WriteString("    filters:\n")
		for _, f := range t.filters {
			fmt.Fprintf(b, "      %s: [%s]\n", yamlText(f.column), strings.Join(f.operators, ", "))
		}
	}
	if len(t.orders) > 0 {
		note("The first is the default; - means descending.")
		fmt.Fprintf(b, "    order: %s\n", yamlList(t.orders))
	}
}
