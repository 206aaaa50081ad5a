package ratelimit

import (
	"fmt"
	"time"
)

// Fill makes a Limiter hold leases of that many other bounds.
func Fill(l *Limiter, until time.Time, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for i := range n {
		l.leases.Add(Bound{Name: "filled", Key: fmt.Sprint(i), Rate: Rate{1, time.Minute}}, &lease{full: true, until: until})
	}
}

// Held is how many leases a Limiter holds.
func Held(l *Limiter) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.leases.Len()
}
