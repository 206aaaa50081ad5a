package surfaces

import (
	"slices"
	"testing"
)

// TestDiffTellsWhatRelatedRowsAre where no output schema does, because the
// result is text.
func TestDiffTellsWhatRelatedRowsAre(t *testing.T) {
	t.Parallel()
	const file = `version: 1
title: Club
access: { mode: oauth, authorization: bridge }
tools:
  - table: teams
    operations: [list]
    columns: [id, name]
    search: [name]
    result: text
    template: "{{#items}}{{name}}{{/items}}"
    embed:
      badge: { table: team_badges, columns: [code] }
`
	before := mustBuild(t, file, loadSnapshot(t))
	for name, c := range map[string]struct {
		edits []string
		want  string
	}{
		"more comes":    {[]string{"      badge:", "      home: { table: matches, via: home_team, columns: [id] }\n      badge:"}, "behaviour teams_list: home comes with a row now: id of matches"},
		"another table": {[]string{"badge: { table: team_badges, columns: [code] }", "badge: { table: matches, via: home_team, columns: [id] }"}, "behaviour teams_list: badge is of matches now, it was of team_badges"},
		"many, not one": {[]string{"badge: { table: team_badges, columns: [code] }", "badge: { table: teams, kind: one, columns: [id] }"}, "behaviour teams_list: badge is of teams now, it was of team_badges"},
		"searched":      {[]string{"search: [name]", "search: { columns: [name], mode: web, config: simple }"}, "behaviour teams_list: search looks for its text in another way"},
	} {
		if got := lines(Diff(before, mustBuild(t, edited(t, file, c.edits...), loadSnapshot(t)))); !slices.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
	snap := loadSnapshot(t)
	relationOf(t, snap, "team_badges").PrimaryKey = []string{"code"}
	if got := lines(Diff(before, mustBuild(t, file, snap))); !slices.Contains(got, "behaviour teams_list: badge is a list of rows now") {
		t.Errorf("many, not one: %q", got)
	}
	one := mustBuild(t, edited(t, file, "search: [name]", "search: { columns: [name], hidden_ok: true }"), loadSnapshot(t))
	if got := lines(Diff(before, one)); len(got) != 0 {
		t.Errorf("the same search: %q", got)
	}
}
