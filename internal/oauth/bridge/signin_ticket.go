package bridge

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"time"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
)

const (
	maxTicket    = 1024            // bytes
	handBackFor  = 5 * time.Minute // and no longer than the sign-in
	completePath = "/connect/complete/"
)

// ticket is what a browser carries on the project's own host, where it has no
// transaction cookie. Anybody can be given a ticket of somebody else's sign-in;
// so what a browser there has begun is known by the key that only it was
// given, and who signed in there counts only once the browser with the cookie
// brings the secret of HandBack.
type ticket struct {
	SignIn  id.SignIn `json:"s"`
	Expires int64     `json:"e"` // Unix seconds
	Key     string    `json:"k,omitempty"`
}

// ticketAD binds a ticket to its use.
func ticketAD() []byte { return seal.AD("sign_ins", "ticket") }

// Ticket takes a sign-in to the project's own host and back: sealed, good for
// this sign-in only. It lets its holder sign in, and nothing else. After every
// call that began something there the sign-in has another ticket: the next
// page needs the new one.
func (s *Service) Ticket(in *SignIn) string {
	plain, err := json.Marshal(ticket{SignIn: in.ID, Expires: in.ExpiresAt.Unix(), Key: in.ticketKey.Reveal()})
	if err != nil {
		panic("bridge: ticket does not encode: " + err.Error()) // strings and numbers only
	}
	return base64.RawURLEncoding.EncodeToString(s.cfg.Keys.Sealer(seal.SignInState).Seal(plain, ticketAD()))
}

// newTicketKey makes what is begun next visible to this browser only. Nil for
// one with the transaction cookie.
func (in *SignIn) newTicketKey() []byte {
	if !in.byTicket {
		return nil
	}
	in.ticketKey = newSecret()
	return hashOf(in.ticketKey)
}

// OpenTicket finds a sign-in by its ticket, on the project's own host (host as
// Hosts.EffectiveHost gives it), where there is no transaction cookie. On
// every other host it is start_again. The Person is never told there.
func (s *Service) OpenTicket(ctx context.Context, host, text string) (*SignIn, error) {
	t, ok := s.readTicket(text)
	if !ok || s.cfg.Now().Unix() >= t.Expires {
		return nil, startAgain()
	}
	in, _, err := s.open(ctx, t.SignIn, byTicket(seal.NewSecret(t.Key)))
	if err != nil {
		return nil, err
	}
	if !s.isOwnHost(in.Endpoint, host) {
		return nil, startAgain()
	}
	in.Person, in.Factor = nil, len(in.pending) > 0
	return in, nil
}

func (s *Service) readTicket(text string) (ticket, bool) {
	if len(text) > maxTicket {
		return ticket{}, false
	}
	sealed, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return ticket{}, false
	}
	plain, err := s.cfg.Keys.Sealer(seal.SignInState).Open(sealed, ticketAD())
	if err != nil {
		return ticket{}, false
	}
	var t ticket
	return t, json.Unmarshal(plain, &t) == nil
}

// byTicket is the proof of a browser on the project's own host. It sees only
// what it began itself.
func byTicket(key seal.Secret) proof {
	return func(row *db.GetSignInRow, in *SignIn) error {
		in.byTicket = true
		if hashes(row.TicketKey, key) {
			in.ticketKey = key
			in.show(row)
		}
		return nil
	}
}

// HandBack is where the browser goes when it has signed in on the project's
// own host: /connect/complete with a secret that only this browser was given.
// It takes the sign-in as the call left it that signed the person in.
func (s *Service) HandBack(ctx context.Context, in *SignIn) (string, error) {
	if !in.byTicket || in.Person == nil {
		return "", startAgain()
	}
	ep, secret, until := in.Endpoint, newSecret(), s.cfg.Now().Add(handBackFor)
	err := s.change(ctx, in, "hand sign-in back", func(q *db.Queries) (int64, error) {
		return q.SetSignInHandOver(ctx, db.SetSignInHandOverParams{
			OrganizationID: ep.Organization, ID: in.ID, ProjectID: ep.Project.ID, HandOver: hashOf(secret),
			Until: &until, SessionID: &in.Person.Upstream, Now: s.cfg.Now(),
		})
	})
	if err != nil {
		return "", err
	}
	return s.cfg.PagesURL + completePath + in.ID.String() + "?" + url.Values{"h": {secret.Reveal()}}.Encode(), nil
}

// Complete takes a sign-in back on our own pages: with the transaction cookie
// and the secret of HandBack, once.
func (s *Service) Complete(ctx context.Context, signIn id.SignIn, cookie seal.Secret, secret string) (*SignIn, error) {
	in, err := s.Open(ctx, signIn, cookie)
	if err != nil {
		return nil, err
	}
	if secret == "" {
		return nil, startAgain()
	}
	ep, before := in.Endpoint, in.signedIn
	err = s.change(ctx, in, "take sign-in back", func(q *db.Queries) (int64, error) {
		now := s.cfg.Now()
		return q.TakeSignInHandOver(ctx, db.TakeSignInHandOverParams{
			OrganizationID: ep.Organization, ID: in.ID, ProjectID: ep.Project.ID, HandOver: hashOf(seal.NewSecret(secret)), Now: &now,
		})
	})
	if err != nil {
		return nil, err
	}
	in, err = s.Open(ctx, signIn, cookie)
	if err == nil && !before.IsZero() && before != in.signedIn {
		s.releaseUpstream(ctx, &ep.Project, ep.Organization, before)
	}
	return in, err
}
