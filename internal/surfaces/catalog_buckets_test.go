package surfaces

import (
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"
)

func TestBucketsAreImportedByEveryWay(t *testing.T) {
	t.Parallel()
	conn := fixture(t)
	snap := importFixture(t, conn)
	want := []BucketInfo{
		{Name: "a <b>&\"odd\"'\nbucket", MIMETypes: []string{}},
		{Name: "avatars", Public: true, FileSizeLimit: 1 << 20, MIMETypes: []string{"image/*", "image/png"}},
		{Name: "documents", MIMETypes: []string{}},
	}
	if !reflect.DeepEqual(snap.Buckets, want) {
		t.Errorf("from the database: %+v", snap.Buckets)
	}
	install(t, conn, CatalogOptions{Relations: []string{"public.customers"}})
	raw, err := askAsAnon(t, conn, testToken)
	if err != nil {
		t.Fatal(err)
	}
	asked, err := ReadCatalog(raw)
	if err != nil || !reflect.DeepEqual(asked.Buckets, want) {
		t.Errorf("by chumbo_catalog: %+v %v", asked, err)
	}
	query, err := CatalogQuery(ImportOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var answer []byte
	if err := conn.QueryRow(t.Context(), query).Scan(&answer); err != nil {
		t.Fatal(err)
	}
	queried, err := ReadCatalog(fmt.Appendf(nil, `[{"catalog":%s}]`, answer))
	if err != nil || !reflect.DeepEqual(queried.Buckets, want) {
		t.Errorf("by query: %+v %v", queried, err)
	}
}

// TestBucketsThatCannotBeReadAreNotKnown: that is said by leaving them out, and
// the rest is imported all the same.
func TestBucketsThatCannotBeReadAreNotKnown(t *testing.T) {
	t.Parallel()
	conn := fixture(t)
	imported := func(what string, known bool, statements ...string) {
		t.Helper()
		for _, s := range statements {
			if _, err := conn.Exec(t.Context(), s); err != nil {
				t.Fatal(err)
			}
		}
		snap := importFixture(t, conn)
		raw, err := marshal(snap)
		if err != nil {
			t.Fatal(err)
		}
		if (snap.Buckets != nil) != known || strings.Contains(string(raw), `"buckets"`) != known {
			t.Errorf("%s: %+v", what, snap.Buckets)
		}
		if len(snap.Relations) == 0 {
			t.Errorf("%s: nothing else is imported", what)
		}
	}
	imported("no bucket", true, "delete from storage.buckets")
	imported("an older table", true, "alter table storage.buckets drop column type, drop column allowed_mime_types, drop column file_size_limit, drop column public",
		"insert into storage.buckets (id, name) values ('x', 'x')")
	imported("under Row Level Security", false, "alter table storage.buckets enable row level security", "set role authenticated")
	imported("without the right to read it", false, "reset role", "alter table storage.buckets disable row level security", "revoke select on storage.buckets from authenticated", "set role authenticated")
	imported("without its schema", false, "reset role", "grant select on storage.buckets to authenticated", "revoke usage on schema storage from authenticated", "set role authenticated")
	imported("no Storage", false, "reset role", "drop schema storage cascade")
}

func TestManyBucketsAreNotKnown(t *testing.T) {
	t.Parallel()
	conn := fixture(t)
	insert := func(conn *pgx.Conn, n int) []BucketInfo {
		if _, err := conn.Exec(t.Context(), "delete from storage.buckets; insert into storage.buckets (id, name) select 'b' || i, i from generate_series(1, "+fmt.Sprint(n)+") i"); err != nil {
			t.Fatal(err)
		}
		return importFixture(t, conn).Buckets
	}
	if n := len(insert(conn, maxBuckets)); n != maxBuckets {
		t.Errorf("of %d, %d", maxBuckets, n)
	}
	if got := insert(conn, maxBuckets+1); got != nil {
		t.Errorf("of more, %d", len(got))
	}
}

func TestBucketsOfACatalogAreNotTrusted(t *testing.T) {
	t.Parallel()
	read := func(buckets string) ([]BucketInfo, error) {
		c := &catalogReader{doc: &catalogDoc{Buckets: []byte(buckets)}}
		return c.buckets()
	}
	for _, buckets := range []string{"", "null"} {
		if got, err := read(buckets); got != nil || err != nil {
			t.Errorf("%s: %v %v", buckets, got, err)
		}
	}
	for _, buckets := range []string{`{}`, `[{"name": 1}]`, `["documents"]`, `[{"name": "a", "file_size_limit": "many"}]`} {
		if got, err := read(buckets); err == nil {
			t.Errorf("%s: %v", buckets, got)
		}
	}
	twice := loadSnapshot(t)
	twice.Buckets = []BucketInfo{{Name: "a"}, {Name: "a"}, {Name: ""}}
	if err := twice.Validate(); err == nil {
		t.Error("a bucket twice, and one without a name, are accepted")
	}
}
