package supabase

import "testing"

func TestAPIOrigin(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ issuer, want string }{
		{"https://abcdefghijklmnopqrst.supabase.co/auth/v1", "https://abcdefghijklmnopqrst.supabase.co"},
		// Not the hosted form, so nothing more than its own origin.
		{"https://abcdefghijklmnopqrst.supabase.co/auth/v1/", "https://abcdefghijklmnopqrst.supabase.co"},
		{"https://abcdefghijklmnopqrs.supabase.co/auth/v1", "https://abcdefghijklmnopqrs.supabase.co"},
		{"https://abcdefghijklmnopqrst.supabase.co.evil.test/auth/v1", "https://abcdefghijklmnopqrst.supabase.co.evil.test"},
		{"https://evil.test/https://abcdefghijklmnopqrst.supabase.co/auth/v1", "https://evil.test"},
		{"https://AUTH.Example.test:443/auth/v1", "https://auth.example.test"},
		{"http://auth.example.test:80/auth/v1", "http://auth.example.test"},
		{"http://127.0.0.1:54321/auth/v1", "http://127.0.0.1:54321"},
		{"http://[::1]:54321/auth/v1", "http://[::1]:54321"},
		{"https://[::1]/auth/v1", "https://[::1]"},
		{"https://auth.example.test", "https://auth.example.test"},
		{"", ""}, {"/auth/v1", ""}, {"auth.example.test/auth/v1", ""}, {"supabase", ""},
		{"https://user:pass@auth.example.test/auth/v1", ""}, {"https://user@auth.example.test", ""},
		{"https://auth.example.test/auth/v1?x=1", ""}, {"https://auth.example.test/auth/v1?", ""},
		{"https://auth.example.test/auth/v1#", ""}, {"https://auth.example.test/auth/v1#f", ""},
		{"ftp://auth.example.test/", ""}, {"https:auth.example.test", ""}, {"https:///auth/v1", ""}, {"https://:443/auth/v1", ""},
		{"https://%zz/", ""}, {"javascript:alert(1)", ""},
	} {
		got, err := APIOrigin(test.issuer)
		if got != test.want || (err == nil) != (test.want != "") {
			t.Errorf("APIOrigin(%q) = %q, %v; want %q", test.issuer, got, err, test.want)
		}
	}
}

func TestHostedIsExact(t *testing.T) {
	t.Parallel()
	if ref, ok := Hosted("https://abcdefghijklmnopqrst.supabase.co/auth/v1"); !ok || ref != "abcdefghijklmnopqrst" {
		t.Errorf("hosted form: %q, %v", ref, ok)
	}
	for _, issuer := range []string{
		"http://abcdefghijklmnopqrst.supabase.co/auth/v1",
		"https://Abcdefghijklmnopqrst.supabase.co/auth/v1",
		"https://abcdefghijklmnopqrs1.supabase.co/auth/v1",
		"https://abcdefghijklmnopqrst.supabase.in/auth/v1",
		"https://a.b.efghijklmnopqrst.supabase.co/auth/v1",
		"https://abcdefghijklmnopqrst.supabase.co:443/auth/v1",
	} {
		if _, ok := Hosted(issuer); ok {
			t.Errorf("Hosted(%q) = true", issuer)
		}
	}
}

func TestSigningComesFromTheKeysThemselves(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		set  string
		kind SigningKind
		algs string
	}{
		{`{"keys":[]}`, SigningHS256, ""},
		{`{"keys":[{"kty":"EC","crv":"P-256","alg":"ES256"},{"kty":"RSA"},{"kty":"EC","crv":"P-256"}]}`, SigningAsymmetric, "ES256 RS256 "},
		{`{"keys":[{"kty":"OKP","crv":"Ed25519"}]}`, SigningAsymmetric, "EdDSA "},
		{`{"keys":[{"kty":"oct","alg":"HS256"}]}`, SigningHS256, ""},
		{`{}`, SigningUnknown, ""},
		{`<html>`, SigningUnknown, ""},
	} {
		s, err := SigningOf([]byte(test.set))
		algs := ""
		for _, a := range s.Algorithms {
			algs += a + " "
		}
		if s.Kind != test.kind || algs != test.algs || (err != nil) != (test.kind == SigningUnknown) {
			t.Errorf("%s: %+v, %v", test.set, s, err)
		}
	}
}
