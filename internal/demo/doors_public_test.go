package demo

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/standin"
)

const greetYou = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"greet","arguments":{"name":"you"}}}`

// publicFile is a public surface with a rate.
func publicFile(rate string) string {
	return doorsFile("mode: public, public: { confirm: true, " + rate + " }")
}

// TestThePublicRateHoldsOverTwoServers: two servers on one database let through
// no more than the rate, and no less than what they may have leased in vain.
func TestThePublicRateHoldsOverTwoServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.tenant(t, "Acme builders", "crm", standin.Options{Schema: doorsSchema})
	p.importSchema()
	const rate, block = 50, 5
	target := p.publish(publicFile(fmt.Sprintf("calls: %d, per: 1h", rate)))
	hosts := []string{strings.TrimPrefix(w.url, "http://"), w.another(t)}
	round := func() (through int) {
		var mu sync.Mutex
		var group sync.WaitGroup
		for lane := range 8 {
			group.Go(func() {
				for range 20 {
					r := sendRaw(t, http.MethodPost, "http://"+hosts[lane%2]+strings.TrimPrefix(target, w.url), "", headers("Host", hosts[0]), greetYou)
					wait, err := strconv.Atoi(r.header.Get("Retry-After"))
					switch {
					case r.status == http.StatusOK:
						mu.Lock()
						through++
						mu.Unlock()
					case r.status != http.StatusTooManyRequests || err != nil || wait < 1 || wait > 3600 || r.header.Get("WWW-Authenticate") != "":
						t.Errorf("refused with %d %v %s", r.status, r.header, r.body)
					}
				}
			})
		}
		group.Wait()
		return through
	}
	for range 2 {
		if n := round(); n > rate || n < rate-len(hosts)*block {
			t.Errorf("%d calls of %d got through, blocks of %d", n, rate, block)
		}
		w.advance(p, time.Hour)
	}
}

// TestThePublicRateCountsAnIPv6NetworkAsOne, and no other with it.
func TestThePublicRateCountsAnIPv6NetworkAsOne(t *testing.T) {
	t.Parallel()
	w := newWorldWith(t, "CHUMBO_REQUIRE_OWNERSHIP=false", "CHUMBO_TRUSTED_PROXIES=127.0.0.1/32")
	p := w.tenant(t, "Acme builders", "crm", standin.Options{Schema: doorsSchema})
	p.importSchema()
	target := p.publish(publicFile("calls: 4, per: 1h"))
	other := p.publishAs("other", publicFile("calls: 4, per: 1h, total: 6"))
	from := func(target, address string) int {
		return sendRaw(t, http.MethodPost, target, "", headers("X-Forwarded-For", address), greetYou).status
	}
	for i := range 4 {
		if s := from(target, fmt.Sprintf("2001:db8:1:2::%d", i+1)); s != http.StatusOK {
			t.Fatalf("call %d: %d", i, s)
		}
	}
	if s := from(target, "2001:db8:1:2:ffff::1"); s != http.StatusTooManyRequests {
		t.Errorf("the fifth of one network: %d", s)
	}
	for name, address := range map[string]string{"the next network": "2001:db8:1:3::1", "an IPv4 address": "192.0.2.7"} {
		if s := from(target, address); s != http.StatusOK {
			t.Errorf("%s pays for it: %d", name, s)
		}
	}
	// At the other surface nothing is used up, until everybody together is.
	for i := range 6 {
		if s := from(other, fmt.Sprintf("2001:db8:1:%d::1", i+2)); s != http.StatusOK {
			t.Fatalf("call %d of all: %d", i, s)
		}
	}
	if s := from(other, "198.51.100.9"); s != http.StatusTooManyRequests {
		t.Errorf("beyond the total: %d", s)
	}
}

// TestEveryMessageOfABatchCounts against the rate.
func TestEveryMessageOfABatchCounts(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	p := w.tenant(t, "Acme builders", "crm", standin.Options{Schema: doorsSchema})
	p.importSchema()
	target := p.publish(publicFile("calls: 10, per: 1h"))
	one := `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`
	var list []string
	for i := range 8 {
		list = append(list, fmt.Sprintf(one, i+1))
	}
	batch := "[" + strings.Join(list, ",") + "]"
	if r := sendRaw(t, http.MethodPost, target, "", headers("Mcp-Protocol-Version", "2025-03-26"), batch); r.status != http.StatusOK {
		t.Fatalf("the first eight: %d %s", r.status, r.body)
	}
	if r := sendRaw(t, http.MethodPost, target, "", headers("Mcp-Protocol-Version", "2025-03-26"), batch); r.status != http.StatusTooManyRequests {
		t.Errorf("sixteen of ten: %d %s", r.status, r.body)
	}
}
