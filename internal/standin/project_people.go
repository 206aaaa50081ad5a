package standin

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Mail is a message that the project sent.
type Mail struct {
	Subject string
	Link    string // of Auth's /verify; a GET uses it up
	Code    string // the six digits; empty with Options.NoMailCodes
}

// Mails are the mails sent to an address, oldest first.
func (p *Project) Mails(address string) []Mail {
	var mails []Mail
	for _, m := range p.auth.mailsTo(address) {
		mails = append(mails, p.auth.shown(m))
	}
	return mails
}

// shown is a message as its reader has it: with a code where the project's
// templates show one.
func (a *authServer) shown(m sentMail) Mail {
	mail := Mail{Subject: m.Subject, Link: m.Link, Code: m.Code}
	if a.cfg.noMailCodes {
		mail.Code = ""
	}
	return mail
}

// EnrollTOTP gives the user of that email a verified second factor, as they
// would do it in the app, and returns its secret for TOTPCode. As at Auth, it
// ends the user's sessions that had no second factor, other apps' included.
func (p *Project) EnrollTOTP(ctx context.Context, email string) (secret string, err error) {
	return p.auth.giveFactor(ctx, email)
}

// EndSessions signs the user of that email out everywhere, as the app's own
// sign-out does by default. OAuth clients' sessions end too.
func (p *Project) EndSessions(ctx context.Context, email string) error {
	who, err := p.auth.people.byEmail(ctx, email)
	if err != nil {
		return fmt.Errorf("find %s: %w", email, err)
	}
	p.auth.mu.Lock()
	defer p.auth.mu.Unlock()
	p.auth.state.dropSessions(who.ID, anySession)
	return nil
}

// DeleteClient deletes an OAuth client as the project's owner would in the
// dashboard: its access tokens live on, refreshing fails.
func (p *Project) DeleteClient(_ context.Context, clientID string) error {
	p.auth.mu.Lock()
	defer p.auth.mu.Unlock()
	c := p.auth.state.clients[clientID]
	if c == nil || c.deleted {
		return fmt.Errorf("delete client: there is no client %q", clientID)
	}
	c.deleted = true
	return nil
}

// Sessions counts the live sessions of the user of that email, those of OAuth
// clients and of tokens made with AccessToken included; 0 for nobody.
func (p *Project) Sessions(email string) int {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	who, err := p.auth.people.byEmail(ctx, email)
	if err != nil {
		if !errors.Is(err, errNoPerson) {
			p.auth.cfg.log.ErrorContext(ctx, "count sessions", "error", err)
		}
		return 0
	}
	p.auth.mu.Lock()
	defer p.auth.mu.Unlock()
	n := 0
	for _, s := range p.auth.state.sessions {
		if s.userID == who.ID {
			n++
		}
	}
	return n
}

// Refreshes counts the refresh calls that reached Auth since the start, at
// /token and at /oauth/token, whether or not they succeeded.
func (p *Project) Refreshes() int { return int(p.auth.refreshes.Load()) }
