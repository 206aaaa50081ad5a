package supabase

import (
	"net/http"
	"strings"
	"testing"
)

// TestErrorCodeOfAHostileProjectIsNone: codes are logged, shown and stored in
// notices.
func TestErrorCodeOfAHostileProjectIsNone(t *testing.T) {
	t.Parallel()
	header := http.Header{"Proxy-Status": {"PostgREST; error=x"}}
	for code, taken := range map[string]bool{
		"PGRST202": true, "42501": true, "PT403": true, "P0001": true, "XX000": true,
		`4250\u0000`: false, `\u001b[2J42501`: false, `sb secret`: false, strings.Repeat("A", 100_000): false,
	} {
		e := errorOf(reply{status: 400, header: header, body: []byte(`{"code":"` + code + `","message":"m","details":null,"hint":null}`)})
		if e.Gateway || taken != (e.Code == code) || !taken && e.Code != "unnamed" {
			t.Errorf("%.20q: %.100s", code, e)
		}
	}
}
