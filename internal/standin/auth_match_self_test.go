package standin

import "testing"

func TestComparisonNoticesWhatDiffers(t *testing.T) {
	t.Parallel()
	const id1, id2, live1, live2 = "00000000-0000-4000-8000-000000000001", "00000000-0000-4000-8000-000000000002",
		"6a1c2f0e-3f6d-4d0b-9a53-0b8e6a6d6b11", "b4b3b1de-4f3a-4f53-8d0f-35a3a4f0c9d2"
	type object = map[string]any
	for name, c := range map[string]struct {
		want, got any
		agree     bool
	}{
		"same":                       {object{"a": "x"}, object{"a": "x"}, true},
		"other text":                 {object{"a": "x"}, object{"a": "y"}, false},
		"other type":                 {object{"a": "1"}, object{"a": 1.0}, false},
		"missing member":             {object{"a": "x", "b": nil}, object{"a": "x"}, false},
		"member too many":            {object{"a": "x"}, object{"a": "x", "b": nil}, false},
		"null is not empty":          {object{"a": nil}, object{"a": ""}, false},
		"other count":                {[]any{"x"}, []any{"x", "x"}, false},
		"other number":               {object{"n": 3600.0}, object{"n": 3599.0}, false},
		"unix times may differ":      {object{"n": 1795999803.0}, object{"n": 1796999999.0}, true},
		"a time is no count":         {object{"n": 1795999803.0}, object{"n": 12.0}, false},
		"timestamps may differ":      {"2026-11-30T00:50:00.01Z", "2027-01-01T10:00:00Z", true},
		"a timestamp is no word":     {"2026-11-30T00:50:00.01Z", "tomorrow!", false},
		"an id for an id":            {"a/" + id1, "a/" + live1, true},
		"no id for an id":            {id1, "6a1c2f0e", false},
		"one id stays one":           {[]any{id1, id1}, []any{live1, live1}, true},
		"one id became two":          {[]any{id1, id1}, []any{live1, live2}, false},
		"two ids became one":         {[]any{id1, id2}, []any{live1, live1}, false},
		"a longer refresh token":     {"rtoken000001", "abcdefghijklmnop", false},
		"text around a placeholder":  {"https://a.example.test/cb?code=" + id1 + "&state=s", "https://a.example.test/cb?code=" + live1 + "&state=t", false},
		"a scope more than recorded": {object{"scope": "openid email"}, object{"scope": "openid email profile"}, false},
	} {
		rp := &replay{vars: map[string]string{}}
		if problems := rp.match("body", c.want, c.got); (len(problems) == 0) != c.agree {
			t.Errorf("%s: agree should be %v: %v", name, c.agree, problems)
		}
	}
}
