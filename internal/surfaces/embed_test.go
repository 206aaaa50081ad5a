package surfaces

import (
	"slices"
	"strings"
	"testing"
)

const embedFile = `version: 1
title: Club
access: { mode: oauth, authorization: bridge }
tools:
  - table: teams
    columns: [id, name]
    search: [name]
    order: [id]
    embed:
      parent: { table: teams, kind: one, columns: [id, name] }
      children: { table: teams, kind: many, columns: [id], limit: 3 }
      badge: { table: team_badges, columns: [code] }
      home: { table: matches, via: home_team, columns: [id, played_on], order: [-played_on] }
  - table: articles
    columns: [id, journey]
`

// relationOf is a relation of a snapshot that is being edited.
func relationOf(t *testing.T, s *Snapshot, name string) *RelationSchema {
	t.Helper()
	for i := range s.Relations {
		if s.Relations[i].Name == name {
			return &s.Relations[i]
		}
	}
	t.Fatalf("no relation %s", name)
	return nil
}

func embedNamed(t *testing.T, c *Compiled, name string) Embed {
	t.Helper()
	for _, e := range c.Tools[0].List.Embeds {
		if e.Name == name {
			return e
		}
	}
	t.Fatalf("no embed %s", name)
	return Embed{}
}

func TestEmbedsGoOverExactlyOneForeignKey(t *testing.T) {
	t.Parallel()
	c := mustBuild(t, embedFile, loadSnapshot(t))
	for name, want := range map[string]struct {
		target, hint string
		many         bool
	}{
		"parent": {"parent_id", "", false}, "children": {"teams", "parent_id", true},
		"badge": {"team_badges", "team_badges_team_id_fkey", false}, "home": {"matches", "matches_home_team_fkey", true},
	} {
		e := embedNamed(t, c, name)
		if e.Target != want.target || e.Hint != want.hint || e.Many != want.many {
			t.Errorf("%s: %s by %q, many %t; want %+v", name, e.Target, e.Hint, e.Many, want)
		}
		if e.Many != (e.Limit > 0) || e.Many != (len(e.Order) > 0) {
			t.Errorf("%s: limit %d, order %v", name, e.Limit, e.Order)
		}
		for _, column := range e.Columns {
			if !column.Nullable {
				t.Errorf("%s.%s is promised never to be null", name, column.Name)
			}
		}
	}
	if !sameJSON(c.Tools[0].List.Embeds, c.Tools[1].Get.Embeds) {
		t.Error("list and get embed different rows")
	}
}

// The Data API knows no way over a foreign key to its own table that is unique.
func TestAUniqueReferenceToItselfIsNotEmbedded(t *testing.T) {
	t.Parallel()
	snap := loadSnapshot(t)
	teams := relationOf(t, snap, "teams")
	teams.Unique = append(teams.Unique, UniqueKey{Name: "teams_parent_key", Columns: []string{"parent_id"}})
	b := Build([]byte(embedFile), snap, known())
	if b.Compiled != nil || !mentions(b.Problems, 10, "one to one") || !mentions(b.Problems, 11, "one to one") {
		t.Errorf("problems %v", b.Problems)
	}
}

func TestEmbedsStayBelowTheSilentCap(t *testing.T) {
	t.Parallel()
	snap := loadSnapshot(t)
	snap.MaxRows = 3
	b := Build([]byte(embedFile), snap, known())
	if b.Compiled == nil || embedNamed(t, b.Compiled, "children").Limit != 2 || embedNamed(t, b.Compiled, "home").Limit != 2 || !mentions(b.Problems, 11, "lowered to 2") {
		t.Errorf("%v", b.Problems)
	}
	snap.MaxRows = 1
	if c, problems := Compile([]byte(embedFile), snap, known()); c != nil || !mentions(problems, 11, "no room") {
		t.Errorf("%v", problems)
	}
}

func TestEmbedNeedsRightsOnBothSidesOfTheJoin(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		table, column string
		line          int
	}{
		"a column that is returned":         {"team_badges", "code", 12},
		"the column that refers":            {"matches", "home_team", 13},
		"the column that is referred to":    {"teams", "id", 6},
		"the column of the order":           {"matches", "played_on", 13},
		"the column that refers to a table": {"teams", "parent_id", 11},
	} {
		snap := loadSnapshot(t)
		relationOf(t, snap, c.table).column(c.column).Select = nil
		got, problems := Compile([]byte(embedFile), snap, known())
		if got != nil || !mentions(problems, c.line, "grant select ("+c.column+") on public."+c.table+" to authenticated;") {
			t.Errorf("%s: %v", name, problems)
		}
	}
}

func TestEmbedNeedsTheRightToReadTheColumnThatRefers(t *testing.T) {
	t.Parallel()
	const file = "version: 1\ntitle: T\naccess: { mode: oauth, authorization: bridge }\ntools:\n  - table: articles\n    columns: [id]\n    embed:\n      team: { table: teams, columns: [name] }\n"
	snap := loadSnapshot(t)
	mustBuild(t, file, snap)
	relationOf(t, snap, "articles").column("team_id").Select = []string{"anon"}
	if c, problems := Compile([]byte(file), snap, known()); c != nil || !mentions(problems, 8, "grant select (team_id) on public.articles to authenticated;") {
		t.Errorf("%v", problems)
	}
}

func TestEmbedsAreFoundRiskyAsTheirTableIs(t *testing.T) {
	t.Parallel()
	snap := loadSnapshot(t)
	relationOf(t, snap, "matches").RLS = false
	relationOf(t, snap, "team_badges").Policies = 0
	b := Build([]byte(embedFile), snap, known())
	if b.Compiled == nil || !mentions(b.Problems, 13, "Row Level Security is off on matches") || !mentions(b.Problems, 12, "no policy") {
		t.Errorf("%v", b.Problems)
	}
	_, blocking := risks(snap, b.Compiled)
	if len(blocking) != 1 || blocking[0].ID != "table_without_rls:public.matches" {
		t.Errorf("what stops publishing: %+v", blocking)
	}
	relationOf(t, snap, "matches").Indexes = nil
	var found []string
	for _, f := range Posture(snap, []*Compiled{b.Compiled}) {
		if f.Kind == FindingMissingIndex {
			found = append(found, f.SQL)
		}
	}
	for _, sql := range []string{"create index on public.matches (home_team);", "create index on public.teams (parent_id);", "create index on public.teams using gin (name extensions.gin_trgm_ops);"} {
		if !slices.ContainsFunc(found, func(f string) bool { return strings.HasSuffix(f, sql) }) {
			t.Errorf("not found: %s; found %q", sql, found)
		}
	}
}

func TestDriftAndDigestKnowForeignKeysAndComposites(t *testing.T) {
	t.Parallel()
	before := loadSnapshot(t)
	compiled, digest := mustBuild(t, embedFile, before), digestOf(t, embedFile, before)
	composite := func(s *Snapshot, name string) *CompositeType {
		return &s.Composites[slices.IndexFunc(s.Composites, func(c CompositeType) bool { return c.Name == name })]
	}
	for name, c := range map[string]struct {
		edit    func(*Snapshot)
		want    string // of what moved; empty: nothing
		refused bool
		changes bool // the digest
	}{
		"nothing":                 {func(*Snapshot) {}, "", false, false},
		"a foreign key goes":      {func(s *Snapshot) { relationOf(t, s, "team_badges").ForeignKeys = nil }, "teams: the foreign key team_badges_team_id_fkey, which says what badge is, is gone", true, true},
		"a foreign key is named":  {func(s *Snapshot) { relationOf(t, s, "team_badges").ForeignKeys[0].Name = "badge" }, "teams: the foreign key team_badges_team_id_fkey, which says what badge is, is gone", false, true},
		"one becomes many":        {func(s *Snapshot) { relationOf(t, s, "team_badges").PrimaryKey = []string{"code"} }, "teams: the foreign key team_badges_team_id_fkey (id to one by team_id) became (id to many by team_id)", false, true},
		"an embedded column":      {func(s *Snapshot) { relationOf(t, s, "matches").column("played_on").Type.Name = "text" }, "matches.played_on: type date became text", false, true},
		"a right on a join":       {func(s *Snapshot) { relationOf(t, s, "matches").column("home_team").Select = nil }, "matches.home_team: authenticated may not read it any more", true, false},
		"a column not embedded":   {func(s *Snapshot) { relationOf(t, s, "matches").column("away_team").Type.Name = "int8" }, "", false, false},
		"an attribute, deep down": {func(s *Snapshot) { composite(s, "stop").Attributes[0].Name = "label" }, "stop: its attributes (name text, spot point_on_map, reached date, steps int8, fare numeric) became (label text, spot point_on_map, reached date, steps int8, fare numeric)", false, true},
		"another composite":       {func(s *Snapshot) { composite(s, "address").Attributes[0].Name = "way" }, "", false, false},
	} {
		after := loadSnapshot(t)
		c.edit(after)
		got := moves(before, after, compiled)
		if c.want == "" && len(got) > 0 || c.want != "" && !slices.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
		b := Build([]byte(embedFile), after, known())
		if (b.Compiled == nil) != c.refused {
			t.Errorf("%s: refused %t, %v", name, b.Compiled == nil, b.Problems)
		}
		if !c.refused && (b.Digest != digest) != c.changes {
			t.Errorf("%s: the digest changes %t", name, b.Digest != digest)
		}
	}
}

func TestDiffTellsWhatComesWithRows(t *testing.T) {
	t.Parallel()
	before := mustBuild(t, embedFile, loadSnapshot(t))
	for name, c := range map[string]struct {
		edits []string
		want  string
	}{
		"an embed goes":        {[]string{"      badge: { table: team_badges, columns: [code] }\n", ""}, "breaks teams_list: items[].badge is gone from the result"},
		"a column of an embed": {[]string{"columns: [id, played_on]", "columns: [id]"}, "breaks teams_get: home.items[].played_on is gone from the result"},
		"another foreign key":  {[]string{"via: home_team", "via: away_team"}, "behaviour teams_list: home goes over another foreign key now"},
		"another order":        {[]string{"-played_on", "played_on"}, "behaviour teams_get: the rows of home come in another order"},
		"another limit":        {[]string{"limit: 3", "limit: 4"}, "behaviour teams_list: children has at most 4 rows now, it was 3"},
		"another search":       {[]string{"search: [name]", "search: { columns: [name], mode: web, config: english }"}, "behaviour teams_list: search looks for its text in another way"},
		"a search goes":        {[]string{"    search: [name]\n", ""}, "breaks teams_list: argument search is gone; calls that send it are refused"},
	} {
		after := mustBuild(t, edited(t, embedFile, c.edits...), loadSnapshot(t))
		if got := lines(Diff(before, after)); !slices.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	const text = "    order: [id]\n    result: text\n    template: { list: x, get: y }\n"
	plain, more := edited(t, embedFile, "    order: [id]\n", text), edited(t, embedFile, "    order: [id]\n", text, "      badge: { table: team_badges, columns: [code] }\n", "", "[id], limit: 3", "[name], limit: 3")
	got := lines(Diff(mustBuild(t, plain, loadSnapshot(t)), mustBuild(t, more, loadSnapshot(t))))
	for _, want := range []string{"behaviour teams_list: badge does not come with a row any more", "behaviour teams_list: children has name now, it had id"} {
		if !slices.Contains(got, want) {
			t.Errorf("with text alone: %q, want %q", got, want)
		}
	}
}
