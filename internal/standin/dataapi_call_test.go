package standin

import (
	"testing"
)

// TestCalls pins how functions are found, run and rendered.
func TestCalls(t *testing.T) {
	t.Parallel()
	c := as(t, startOdd(t, nil), AliceEmail)
	cases := []struct {
		name, method, path, body string
		accept                   string
		status                   int
		contentRange, want       string
	}{
		{"scalar", "POST", "rpc/add", `{"a":1,"b":2}`, "", 200, "0-0/*", "3"},
		{"default", "POST", "rpc/add", `{"a":1}`, "", 200, "0-0/*", "11"},
		{"by GET", "GET", "rpc/add?a=1&b=5", "", "", 200, "0-0/*", "6"},
		{"first object of an array", "POST", "rpc/add", `[{"a":1},{"a":5}]`, "", 200, "0-0/*", "11"},
		{"by argument names", "POST", "rpc/by_names", `{"a":1}`, "", 200, "0-0/*", `"a"`},
		{"by more argument names", "POST", "rpc/by_names", `{"a":1,"b":1}`, "", 200, "0-0/*", `"ab"`},
		{"null scalar", "POST", "rpc/nil", "", "", 200, "0-0/*", "null"},
		{"json is itself", "POST", "rpc/as_json", "{}", "", 200, "0-0/*", `{"z":1,"a":[true,null]}`},
		{"whole body", "POST", "rpc/whole", `{"any":"thing"}`, "", 200, "0-0/*", `{"any":"thing"}`},
		{"set of scalars", "POST", "rpc/numbers", "{}", "", 200, "0-2/*", "[1,2,3]"},
		{"out parameters", "POST", "rpc/outs", `{"a":2}`, "", 200, "0-0/*", `{"twice":4,"thrice":6}`},
		{"null composite", "POST", "rpc/no_person", "{}", "", 200, "0-0/*", `{"id":null,"name":null,"boss_id":null,"home_id":null,"work_id":null,"made":null}`},
		{"rows, selected", "POST", "rpc/all_people?select=name&id=gt.1&order=id.desc&limit=1", "{}", "", 200, "0-0/*", `[{"name":"Cleo"}]`},
		{"rows with an embed", "GET", "rpc/all_people?select=id,people_home(town)&id=eq.1", "", "", 200, "0-0/*", `[{"id":1,"people_home":{"town":"Porto"}}]`},
		{"one object of rows", "POST", "rpc/all_people?select=id&id=eq.2", "{}", "application/vnd.pgrst.object+json", 200, "0-0/*", `{"id":2}`},
		{"array argument", "POST", "rpc/shout", `{"words":["a","b c"]}`, "", 200, "0-0/*", `"A B C"`},
		{"array argument by GET", "GET", "rpc/shout?words={a,b}", "", "", 200, "0-0/*", `"A B"`},
		{"volatile by POST writes", "POST", "rpc/write_slot", `{"id":7}`, "", 200, "0-0/*", "7"},
		{"SQL shapes the answer", "POST", "rpc/shape_answer", "", "", 299, "0-0/*", `"shaped"`},
	}
	for _, tc := range cases {
		got := c.do(tc.method, tc.path, tc.body, "Accept", tc.accept)
		if got.status != tc.status || got.header.Get("Content-Range") != tc.contentRange {
			t.Errorf("%s: %d %q %s, want %d %q", tc.name, got.status, got.header.Get("Content-Range"), got.body, tc.status, tc.contentRange)
			continue
		}
		if compact(t, got.body) != tc.want {
			t.Errorf("%s: %s, want %s", tc.name, got.body, tc.want)
		}
	}
	got := c.do("POST", "rpc/nothing", `{"id":7}`)
	if got.status != 204 || got.body != "" || got.header.Get("Content-Type") != "" {
		t.Errorf("void: %d %q Content-Type %q, want 204, nothing, none", got.status, got.body, got.header.Get("Content-Type"))
	}
	if note := compact(t, c.get("slots?select=note&id=eq.7").body); note != `[{"note":"touched"}]` {
		t.Errorf("the void function left %s", note)
	}
	if got := c.get("rpc/add?a=is.null"); got.status != 404 || got.code() != "PGRST202" {
		t.Errorf("a GET argument that reads like a filter: %d %s, want 404 PGRST202", got.status, got.body)
	}
}

// TestRequestReachesSQL pins what a request tells SQL.
func TestRequestReachesSQL(t *testing.T) {
	t.Parallel()
	p := startOdd(t, nil)
	cases := []struct {
		name, who, method string
		want              string
	}{
		{"Alice", AliceEmail, "POST", `{"role":"authenticated","uid":"` + AliceID + `","claims_role":"authenticated","method":"POST","path":"/rpc/whoami","agent":"test","cookie":null,"timeout":"8s","search_path":"\"public\", \"public\", \"extensions\""}`},
		{"anon", "", "GET", `{"role":"anon","uid":null,"claims_role":"anon","method":"GET","path":"/rpc/whoami","agent":"test","cookie":null,"timeout":"3s","search_path":"\"public\", \"public\", \"extensions\""}`},
	}
	for _, tc := range cases {
		got := as(t, p, tc.who).do(tc.method, "rpc/whoami", "", "User-Agent", "test", "Cookie", "a=b")
		if got.status != 200 || compact(t, got.body) != tc.want {
			t.Errorf("%s: %d %s, want %s", tc.name, got.status, got.body, tc.want)
		}
	}
}
