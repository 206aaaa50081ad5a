package surfaces

import (
	"slices"
	"strings"
	"testing"
)

const driftFile = `version: 1
title: CRM
access: { mode: oauth, authorization: direct }
tools:
  - table: customers
    columns: [id, name, status, visits]
    order: [name]
  - { table: customer_names, columns: [id, name], key: [id], operations: [list] }
  - { rpc: summary, description: Counts. }
`

func (w *world) drift(b builders) Drift {
	w.t.Helper()
	d, err := w.service.Drift(w.t.Context(), b.org, b.project, b.surface, known())
	if err != nil {
		w.t.Fatalf("drift: %v", err)
	}
	return d
}

func TestDriftTellsWhatMovedUnderTheLiveRevision(t *testing.T) {
	t.Parallel()
	relation := func(s *Snapshot, name string) *RelationSchema {
		for i := range s.Relations {
			if s.Relations[i].Name == name {
				return &s.Relations[i]
			}
		}
		t.Fatalf("no relation %s", name)
		return nil
	}
	before := loadSnapshot(t)
	compiled := mustBuild(t, driftFile, before)
	for name, c := range map[string]struct {
		edit func(*Snapshot)
		want []string
	}{
		"nothing": {func(*Snapshot) {}, nil},
		"a type": {func(s *Snapshot) {
			relation(s, "customers").column("visits").Type = TypeRef{Schema: "pg_catalog", Name: "int8", Array: true}
		}, []string{"customers.visits: type int4 became int8[]"}},
		"another column's type": {func(s *Snapshot) { relation(s, "customers").column("score").Type.Name = "float4" }, nil},
		"nullability":           {func(s *Snapshot) { relation(s, "customers").column("name").NotNull = false }, []string{"customers.name: may be null now"}},
		"a column goes":         {func(s *Snapshot) { relation(s, "customers").column("visits").Name = "calls" }, []string{"customers.visits: is gone"}},
		"a table goes":          {func(s *Snapshot) { relation(s, "customers").Name = "clients" }, []string{"customers: is gone"}},
		"another table goes":    {func(s *Snapshot) { relation(s, "logs").Name = "gone" }, nil},
		"a primary key":         {func(s *Snapshot) { relation(s, "customers").PrimaryKey = []string{"organization_id", "id"} }, []string{"customers: primary key (id) became (organization_id, id)"}},
		"comments": {func(s *Snapshot) {
			relation(s, "customers").Comment, relation(s, "customers").column("status").Comment = "x", "y"
		}, []string{"customers: its comment changed", "customers.status: its comment changed"}},
		"Row Level Security is off":  {func(s *Snapshot) { relation(s, "customers").RLS = false }, []string{"customers: Row Level Security is off now"}},
		"a view runs as its owner":   {func(s *Snapshot) { relation(s, "customer_names").SecurityInvoker = false }, []string{"customer_names: runs with the rights of its owner now"}},
		"a right goes":               {func(s *Snapshot) { relation(s, "customers").column("name").Select = nil }, []string{"customers.name: authenticated may not read it any more"}},
		"a right of another role":    {func(s *Snapshot) { c := relation(s, "customers").column("name"); c.Select = append(c.Select, "anon") }, nil},
		"labels":                     {func(s *Snapshot) { s.Enums[0].Labels = []string{"lead", "active", "lost"} }, []string{"customer_status: no longer has archived", "customer_status: also has lost"}},
		"labels in another order":    {func(s *Snapshot) { slices.Reverse(s.Enums[0].Labels) }, []string{"customer_status: its labels are in another order"}},
		"arguments":                  {func(s *Snapshot) { fn(s, "summary").Arguments[0].HasDefault = false }, []string{"summary(): arguments (since timestamptz default, states customer_status[] default) became (since timestamptz, states customer_status[] default)"}},
		"what a function returns":    {func(s *Snapshot) { fn(s, "summary").Returns.Columns[1].Type.Name = "int4" }, []string{"summary(): returns record (status customer_status, customers int8, balance numeric) became setof"}},
		"volatility":                 {func(s *Snapshot) { fn(s, "summary").Volatility = VolatilityVolatile }, []string{"summary(): stable became volatile"}},
		"a function runs as owner":   {func(s *Snapshot) { fn(s, "summary").SecurityDefiner = true }, []string{"summary(): runs with the rights of its owner now"}},
		"a function may not be run":  {func(s *Snapshot) { fn(s, "summary").Execute = nil }, []string{"summary(): authenticated may not execute it any more"}},
		"a function goes":            {func(s *Snapshot) { fn(s, "summary").Name = "totals" }, []string{"summary(): is gone"}},
		"a function has an overload": {func(s *Snapshot) { s.Functions = append(s.Functions, *fn(s, "summary")) }, []string{"summary(): there are 2 functions of that name now"}},
		"a lower cap on rows":        {func(s *Snapshot) { s.MaxRows = 40 }, []string{"max_rows: 1000 became 40"}},
		"another cap of functions":   {func(s *Snapshot) { s.MaxRows = 5000 }, []string{"max_rows: 1000 became 5000"}},
	} {
		after := loadSnapshot(t)
		c.edit(after)
		got := moves(before, after, compiled)
		if name == "what a function returns" {
			if len(got) != 1 || !strings.Contains(got[0], "customers int8") || !strings.Contains(got[0], "customers int4") || !strings.HasPrefix(got[0], "summary(): returns ") {
				t.Errorf("%s: %q", name, got)
			}
			continue
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestDriftOfALiveRevision(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if d := w.drift(w.alice); d.Known || d.Drifted || d.Why != "Nothing is published." {
		t.Errorf("of nothing: %+v", d)
	}
	w.snapshot(w.alice)
	w.publish(w.alice, driftFile)
	if d := w.drift(w.alice); !d.Known || d.Drifted || d.Why != "" || len(d.Broken) != 0 {
		t.Errorf("of what was just published: %+v", d)
	}
	w.snapshotWith(w.alice, func(s *Snapshot) { s.Postgres, s.Relations[0].Indexes = "18.1", nil })
	if d := w.drift(w.alice); !d.Known || d.Drifted {
		t.Errorf("of a newer snapshot that changes nothing used: %+v", d)
	}
	w.snapshotWith(w.alice, func(s *Snapshot) {
		for i := range s.Relations {
			if s.Relations[i].Name == "customers" {
				s.Relations[i].column("visits").Name = "calls"
			}
		}
	})
	d := w.drift(w.alice)
	if !d.Known || !d.Drifted || !slices.Equal(d.Objects, []string{"customers.visits: is gone"}) || !mentions(d.Broken, 6, "visits") {
		t.Errorf("of a column that is gone: %+v", d)
	}
	if w.live(w.alice) != 1 {
		t.Error("drift changed what is live")
	}
	facts := known()
	facts.OAuthOff = true
	if d, err := w.service.Drift(t.Context(), w.alice.org, w.alice.project, w.alice.surface, facts); err != nil || len(d.Broken) < 2 {
		t.Errorf("with sign-in off: %+v, %v", d, err)
	}
}

func TestDriftIsUnknownWithoutTheSnapshotOfThen(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	first := w.snapshot(w.alice)
	w.publish(w.alice, driftFile)
	w.snapshotWith(w.alice, func(s *Snapshot) { s.Postgres = "18.1" })
	w.db.Exec(t, "delete from schema_snapshots where digest = decode($1, 'hex')", first.Digest)
	if d := w.drift(w.alice); d.Known || d.Drifted || !strings.Contains(d.Why, "not kept any more") || len(d.Broken) != 0 {
		t.Errorf("drift: %+v", d)
	}
	w.db.Exec(t, "delete from schema_snapshots")
	if d := w.drift(w.alice); d.Known || !strings.Contains(d.Why, "chumbo import") {
		t.Errorf("without any: %+v", d)
	}
}

func TestDriftTellsWhatMovedUnderWrites(t *testing.T) {
	t.Parallel()
	before := loadSnapshot(t)
	compiled := mustBuild(t, diffWrites, before)
	for name, c := range map[string]struct {
		edit func(r *RelationSchema)
		want []string
	}{
		"nothing":                          {func(*RelationSchema) {}, nil},
		"a right to insert":                {func(r *RelationSchema) { r.column("author_id").Insert = nil }, []string{"notes.author_id: authenticated may not insert into it any more"}},
		"a right to update":                {func(r *RelationSchema) { r.column("body").Update = nil }, []string{"notes.body: authenticated may not update it any more"}},
		"a right to update what is not":    {func(r *RelationSchema) { r.column("author_id").Update = nil }, nil},
		"a right to delete":                {func(r *RelationSchema) { r.Delete = nil }, []string{"notes: authenticated may not delete from it any more"}},
		"a right to read what is written":  {func(r *RelationSchema) { r.column("author_id").Select = nil }, nil},
		"a right to read what dedupe does": {func(r *RelationSchema) { r.column("request_id").Select = nil }, []string{"notes.request_id: authenticated may not read it any more"}},
		"a written column is generated":    {func(r *RelationSchema) { r.column("author_id").Generated = true }, []string{"notes.author_id: is generated by the database now, it was without a default"}},
		"a key is not unique any more":     {func(r *RelationSchema) { r.Unique, r.Indexes = nil, nil }, []string{"notes.request_id: is not unique any more"}},
		"a set column goes":                {func(r *RelationSchema) { r.column("author_id").Name = "writer_id" }, []string{"notes.author_id: is gone", "notes.writer_id: every new row needs a value there now"}},
		"a new column that rows need": {func(r *RelationSchema) {
			r.Columns = append(r.Columns, ColumnSchema{Name: "region", Type: TypeRef{Schema: "pg_catalog", Name: "text"}, NotNull: true})
		}, []string{"notes.region: every new row needs a value there now"}},
	} {
		after := loadSnapshot(t)
		c.edit(relationOf(t, after, "notes"))
		if got := moves(before, after, compiled); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
