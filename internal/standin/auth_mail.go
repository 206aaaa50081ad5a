package standin

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/big"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// mailTokenLifetime is how long a mailed link or code works.
const mailTokenLifetime = 24 * time.Hour

// The kinds of mail, as links name them.
const (
	mailSignup    = "signup"
	mailMagicLink = "magiclink"
	mailRecovery  = "recovery"
)

var mailSubjects = map[string]string{
	mailSignup:    "Confirm your email address",
	mailMagicLink: "Your sign-in link",
	mailRecovery:  "Reset your password",
}

// sentMail is a message in the in-memory outbox.
type sentMail struct {
	To      string
	Subject string
	Link    string
	Code    string // the 6 digits; the default mail does not show them
}

// mailToken is what a mailed link and its code stand for: one thing, used up
// by either. A person has at most one to confirm the address with and one to
// sign in with.
type mailToken struct {
	userID string
	kind   string // one of the kinds of mail
	hash   string // as the link shows it: with pkce_ in the PKCE flow
	sentAt time.Time
	flow   *flowState // nil in the implicit flow
}

func (t *mailToken) confirms() bool { return t.kind == mailSignup }

// fits reports whether a token may be used as the type a caller names: sign-in
// and recovery are one, "email" fits all.
func (t *mailToken) fits(kind string) bool {
	switch kind {
	case "email":
		return true
	case mailSignup, "invite":
		return t.confirms()
	case mailMagicLink, mailRecovery:
		return !t.confirms()
	default:
		return false
	}
}

// mailsTo returns the mails sent to an address, oldest first.
func (a *authServer) mailsTo(address string) []sentMail {
	a.mu.Lock()
	defer a.mu.Unlock()
	var mails []sentMail
	for _, m := range a.state.outbox {
		if m.To == address {
			mails = append(mails, m)
		}
	}
	return mails
}

// mayMail holds the two mail limits: one per address, one for the project.
// last is when this person was last sent something, nil for never.
func (a *authServer) mayMail(address string, last *time.Time) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.cfg.now()
	if last != nil {
		if left := a.cfg.mailInterval - now.Sub(*last); left > 0 {
			return newAuthError(http.StatusTooManyRequests, "over_email_send_rate_limit",
				fmt.Sprintf("For security purposes, you can only request this after %d seconds.", int(left.Seconds())))
		}
	}
	if !a.cfg.confirmationOn || a.cfg.mailQuota == 0 {
		return nil
	}
	if now.Sub(a.state.quotaFrom) > time.Hour {
		a.state.quotaFrom, a.state.quotaUsed = now, 0
	}
	if a.state.quotaUsed >= a.cfg.mailQuota {
		return newAuthError(http.StatusTooManyRequests, "over_email_send_rate_limit", "email rate limit exceeded")
	}
	a.state.quotaUsed++
	return nil
}

func mailHash(address, code string) string {
	sum := sha256.Sum224([]byte(address + code))
	return hex.EncodeToString(sum[:])
}

// makeLink makes the token of a mail and the link it carries. flow is set in
// the PKCE flow. An older token of the same use dies.
func (a *authServer) makeLink(p *person, kind, to string, flow *flowState) (link, code, hash string) {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		n = big.NewInt(0) // crypto/rand does not fail
	}
	code = fmt.Sprintf("%06d", n)
	t := &mailToken{userID: p.ID, kind: kind, hash: mailHash(p.Email, code), sentAt: a.cfg.now(), flow: flow}
	if flow != nil {
		t.hash = pkcePrefix + t.hash
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for other, old := range a.state.mailTokens {
		if old.userID == p.ID && old.confirms() == t.confirms() {
			delete(a.state.mailTokens, other)
		}
	}
	a.state.mailTokens[t.hash] = t
	if strings.ContainsAny(to, "&=#") { // taken as it is otherwise, as Auth does
		to = url.QueryEscape(to)
	}
	return fmt.Sprintf("%s/verify?token=%s&type=%s&redirect_to=%s", a.issuer(), t.hash, kind, to), code, t.hash
}

// pkcePrefix marks a link that leads to a code, not to tokens.
const pkcePrefix = "pkce_"

func (a *authServer) sendLink(p *person, kind, to string, flow *flowState) {
	link, code, _ := a.makeLink(p, kind, to, flow)
	m := sentMail{To: p.Email, Subject: mailSubjects[kind], Link: link, Code: code}
	a.mu.Lock()
	a.state.outbox = append(a.state.outbox, m)
	a.mu.Unlock()
	if a.cfg.mailed != nil {
		a.cfg.mailed(m.To, a.shown(m))
	}
}

// mailTokenOf looks a token up without using it: by the hash of a link, or by
// a person's code, which has none of the PKCE flow. nil means that there is
// none of that type, or none any more.
func (a *authServer) mailTokenOf(kind, hash string, byCode bool) *mailToken {
	a.mu.Lock()
	defer a.mu.Unlock()
	t := a.state.mailTokens[hash]
	if t == nil && byCode {
		t = a.state.mailTokens[pkcePrefix+hash]
	}
	if t == nil || !t.fits(kind) || a.cfg.now().Sub(t.sentAt) > mailTokenLifetime {
		return nil
	}
	return t
}

// useMailToken uses a token up, and every other of the person with it. It
// reports whether this call is the one that did.
func (a *authServer) useMailToken(t *mailToken) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.state.mailTokens[t.hash] != t {
		return false
	}
	a.state.dropMailTokens(t.userID)
	return true
}

func (s *authState) dropMailTokens(userID string) {
	for hash, t := range s.mailTokens {
		if t.userID == userID {
			delete(s.mailTokens, hash)
		}
	}
}
