package issuers

import "time"

// readAnswer reads what an issuer answers about a token (RFC 7662 section 2.2).
// It is good only if active is true and the answer says whose the token is and
// until when. Errors are denials, and errUnclear for an answer that says
// neither yes nor no.
func readAnswer(body []byte, issuer string, now time.Time) (*claims, error) {
	o, err := parseObject(body)
	if err != nil {
		return nil, errUnclear
	}
	active, ok := o.Members["active"].(bool)
	switch {
	case !ok:
		return nil, errUnclear
	case !active:
		return nil, denyInactive
	}
	c, _, err := readClaims(body)
	if err != nil {
		return nil, err
	}
	if c.issuer == "" {
		c.issuer = issuer // who was asked
	}
	if !now.Before(c.expires) {
		return nil, denyExpired
	}
	return c, c.judge(issuer, now)
}
