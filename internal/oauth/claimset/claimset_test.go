package claimset

import (
	"slices"
	"testing"
	"time"
)

func TestParseTakesOneObjectWithoutRepeatedNames(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "null", "[]", `"a"`, `{"a":1} {}`, `{"a":1,"a":2}`, `{"a":{"b":1,"b":2}}`, `{"a":1}x`} {
		if _, err := Parse([]byte(text)); err == nil {
			t.Errorf("%s is read", text)
		}
	}
	if _, err := Parse([]byte(`{"a":1,"A":2}`)); err != nil {
		t.Errorf("names differ by case: %v", err)
	}
}

func TestAMemberOfAnotherTypeIsWrongAndNeverAbsent(t *testing.T) {
	t.Parallel()
	o, err := Parse([]byte(`{"text":"a","flag":true,"list":["a","b"],"one":"a","at":1700000000.9,"nothing":null}`))
	if err != nil {
		t.Fatal(err)
	}
	if o.Text("text") != "a" || !o.Flag("flag") || !slices.Equal(o.Texts("list"), []string{"a", "b"}) || !slices.Equal(o.Texts("one"), []string{"a"}) ||
		!o.Moment("at").Equal(time.Unix(1700000000, 0)) || o.Text("nothing") != "" || o.Has("nothing") || !o.Moment("nothing").IsZero() || o.Wrong {
		t.Fatalf("%+v", o)
	}
	for name, read := range map[string]func(*Object){
		"text": func(o *Object) { o.Flag("text") }, "flag": func(o *Object) { o.Text("flag") }, "list": func(o *Object) { o.Moment("list") },
		"at": func(o *Object) { o.Texts("at") },
	} {
		again := &Object{Members: o.Members}
		if read(again); !again.Wrong {
			t.Errorf("%s is read as another type", name)
		}
	}
	for _, text := range []string{`{"l":["a",1]}`, `{"l":[null]}`} {
		if o, err := Parse([]byte(text)); err != nil || o.Texts("l") == nil || !o.Wrong {
			t.Errorf("%s: %v", text, err)
		}
	}
	for _, text := range []string{`{"at":0}`, `{"at":-1}`, `{"at":1e300}`, `{"at":"1700000000"}`} {
		if o, err := Parse([]byte(text)); err != nil || !o.Moment("at").IsZero() || !o.Wrong {
			t.Errorf("%s: %v", text, err)
		}
	}
}
