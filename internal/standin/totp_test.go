package standin

import (
	"strings"
	"testing"
	"time"
)

// TestTOTPCodesAreThoseOfTheRFC are the SHA1 vectors of RFC 6238 appendix B, of
// which six digits are shown.
func TestTOTPCodesAreThoseOfTheRFC(t *testing.T) {
	t.Parallel()
	const secret = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ" // 12345678901234567890
	for at, want := range map[int64]string{59: "287082", 1111111109: "081804", 1111111111: "050471",
		1234567890: "005924", 2000000000: "279037", 20000000000: "353130"} {
		if got := TOTPCode(secret, time.Unix(at, 0)); got != want {
			t.Errorf("at %d: %s, want %s", at, got, want)
		}
	}
	if got := TOTPCode(strings.ToLower(secret), time.Unix(59, 0)); got != "287082" {
		t.Errorf("a secret in lower case: %s", got)
	}
	if got := TOTPCode("not base32!", time.Unix(59, 0)); got != "" {
		t.Errorf("no secret gives %q", got)
	}
	now := time.Unix(1_000_000_020, 0)
	for name, c := range map[string]struct {
		code string
		want bool
	}{
		"now":          {TOTPCode(secret, now), true},
		"a step ago":   {TOTPCode(secret, now.Add(-totpStep)), true},
		"a step ahead": {TOTPCode(secret, now.Add(totpStep)), true},
		"two ago":      {TOTPCode(secret, now.Add(-2*totpStep)), false},
		"two ahead":    {TOTPCode(secret, now.Add(2*totpStep)), false},
		"nothing":      {"", false},
	} {
		if got := totpMatches(secret, c.code, now); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
