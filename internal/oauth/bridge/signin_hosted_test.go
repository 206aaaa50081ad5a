package bridge

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

var crmPassword = seal.NewSecret(standin.CRMPassword)

func ourRegistration() supabase.NewOAuthClient {
	return supabase.NewOAuthClient{Name: "Chumbo", RedirectURIs: []string{publicURL + CallbackPath}}
}

// clicked follows a mailed link, and returns what the browser brings to
// CallbackPath.
func (w *world) clicked(t testing.TB, email string) url.Values {
	t.Helper()
	return w.redirectOf(t, http.MethodGet, w.lastMail(t, email).Link, "", nil).Query()
}

func (w *world) lastMail(t testing.TB, email string) standin.Mail {
	t.Helper()
	mails := w.project.Mails(email)
	if len(mails) == 0 {
		t.Fatalf("no mail to %s", email)
	}
	return mails[len(mails)-1]
}

// returned hands a sign-in back from the project's own host.
func (w *world) returned(t testing.TB, there *SignIn, cookie seal.Secret) (*SignIn, error) {
	t.Helper()
	back, err := w.service.HandBack(t.Context(), there)
	if err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(back)
	if err != nil || !strings.HasPrefix(back, publicURL+"/connect/complete/"+there.ID.String()+"?h=") {
		t.Fatalf("back to %s", back)
	}
	return w.service.Complete(t.Context(), there.ID, cookie, u.Query().Get("h"))
}

func TestAPasswordIsTypedOnTheProjectsOwnHostOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosted())
	globex := w.member(t, "owner@globex.example.test", "Globex")
	w.surface(t, globex, w.standin(t, nil), "globex", "main", nil)
	in, cookie := w.begun(t, w.ep)
	m, err := w.service.Methods(t.Context(), in, false)
	if err != nil || m.OAuth || m.Password || !m.EmailCode || !m.SignUp || m.OwnHost != "https://"+ownHost {
		t.Fatalf("methods %+v, %v", m, err)
	}
	if m, err := w.service.Methods(t.Context(), in, true); err != nil || m.Password {
		t.Fatalf("methods without a ticket %+v, %v", m, err)
	}
	_, err = w.service.Password(t.Context(), in, "alice@example.test", crmPassword, "", visitor)
	wantFault(t, err, fault.Forbidden, "not_here")
	_, err = w.service.SignUp(t.Context(), in, "eve@example.test", crmPassword, "", visitor)
	wantFault(t, err, fault.Forbidden, "not_here")

	ticket := w.service.Ticket(in)
	for name, host := range map[string]string{
		"shared": "chumbo.example.test", "another's": "globex." + surfaceDomain, "nobody's": "initech." + surfaceDomain,
		"none": "", "port": ownHost + ":8443", "domain": surfaceDomain,
	} {
		t.Run(name, func(t *testing.T) {
			_, err := w.service.OpenTicket(t.Context(), host, ticket)
			wantStartAgain(t, err)
		})
	}
	for name, text := range map[string]string{"empty": "", "cut": ticket[:len(ticket)-2], "other": ticket + "AAAA", "id": in.ID.String(), "long": strings.Repeat("A", 2048)} {
		t.Run(name, func(t *testing.T) {
			_, err := w.service.OpenTicket(t.Context(), ownHost, text)
			wantStartAgain(t, err)
		})
	}

	there := w.onOwnHost(t, in)
	if m, err := w.service.Methods(t.Context(), there, true); err != nil || !m.Password {
		t.Fatalf("methods with a ticket %+v, %v", m, err)
	}
	out, err := w.service.Password(t.Context(), there, " alice@example.test ", crmPassword, "", visitor)
	if err != nil || out.Person == nil || out.Person.Email != "alice@example.test" {
		t.Fatalf("%+v, %v", out, err)
	}
	if w.reopened(t, in, cookie).Person != nil || w.onOwnHost(t, in).Person != nil {
		t.Fatal("signed in before the browser is back")
	}
	got, err := w.returned(t, there, cookie)
	if err != nil || got.Person == nil || got.Person.Email != "alice@example.test" {
		t.Fatalf("%+v, %v", got, err)
	}
	w.wantPerson(t, in, cookie, "alice@example.test")
	if w.onOwnHost(t, in).Person != nil {
		t.Error("a ticket tells who signed in")
	}
	w.clock.Advance(signInLifetime)
	_, err = w.service.OpenTicket(t.Context(), ownHost, ticket)
	wantStartAgain(t, err)
}

// Eve begins a sign-in and sends Alice the address on the project's own host:
// what Alice does there must not end in Eve's browser.
func TestATicketGivenAwayBringsItsGiverNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosted())
	secret, err := w.project.EnrollTOTP(t.Context(), "alice@example.test")
	if err != nil {
		t.Fatal(err)
	}
	eves, evesCookie := w.begun(t, w.ep)
	own, ownCookie := w.begun(t, w.ep)

	alices := w.onOwnHost(t, eves)
	out, err := w.service.Password(t.Context(), alices, "alice@example.test", crmPassword, "", visitor)
	if err != nil || !out.Factor || out.Person != nil {
		t.Fatalf("%+v, %v", out, err)
	}
	if seen := w.onOwnHost(t, eves); seen.Factor || seen.Email != "" {
		t.Fatal("the first ticket shows what another browser began")
	}
	if seen := w.reopened(t, eves, evesCookie); seen.Factor || seen.Person != nil {
		t.Fatal("the cookie shows what another browser began")
	}
	_, err = w.service.VerifyFactor(t.Context(), w.reopened(t, eves, evesCookie), standin.TOTPCode(secret, w.clock.Now()), visitor)
	wantFault(t, err, fault.Invalid, "no_factor")
	alices = w.onOwnHost(t, alices) // the next page, by the newest ticket
	if !alices.Factor {
		t.Fatal("Alice is not asked for her code")
	}
	if out, err = w.service.VerifyFactor(t.Context(), alices, standin.TOTPCode(secret, w.clock.Now()), visitor); err != nil || out.Person == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	if _, err := w.service.HandBack(t.Context(), w.onOwnHost(t, eves)); err == nil {
		t.Fatal("whoever holds a ticket is handed back")
	}
	back, err := w.service.HandBack(t.Context(), alices)
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(back)
	h := u.Query().Get("h")
	for name, try := range map[string]func() (*SignIn, error){
		"no cookie":      func() (*SignIn, error) { return w.service.Complete(t.Context(), eves.ID, seal.Secret{}, h) },
		"Alice's cookie": func() (*SignIn, error) { return w.service.Complete(t.Context(), eves.ID, ownCookie, h) },
		"Alice's own":    func() (*SignIn, error) { return w.service.Complete(t.Context(), own.ID, ownCookie, h) },
		"no secret":      func() (*SignIn, error) { return w.service.Complete(t.Context(), eves.ID, evesCookie, "") },
		"wrong secret": func() (*SignIn, error) {
			return w.service.Complete(t.Context(), eves.ID, evesCookie, newSecret().Reveal())
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := try()
			wantStartAgain(t, err)
		})
	}
	if seen := w.reopened(t, eves, evesCookie); seen.Person != nil {
		t.Fatalf("Eve's browser is signed in as %s", seen.Person.Email)
	}
	// What a mail is on its way to is not shown either.
	bobs := w.onOwnHost(t, eves)
	if _, err := w.service.SendCode(t.Context(), bobs, "bob@example.test", "", visitor); err != nil {
		t.Fatal(err)
	}
	if w.onOwnHost(t, eves).Email != "" || w.reopened(t, eves, evesCookie).Email != "" || w.onOwnHost(t, bobs).Email != "bob@example.test" {
		t.Error("an address is shown to another browser")
	}
	for name, err := range map[string]error{
		"cancel":    func() error { _, err := w.service.Cancel(t.Context(), bobs); return err }(),
		"again":     w.service.Again(t.Context(), bobs),
		"recognize": w.service.Recognize(t.Context(), bobs, &Person{Organization: w.ep.Organization, Project: w.ep.Project.ID}),
	} {
		t.Run(name, func(t *testing.T) { wantStartAgain(t, err) })
	}
}

func TestAHandOverCountsOnceAndNotForLong(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosted())
	in, cookie := w.begun(t, w.ep)
	there := w.onOwnHost(t, in)
	if _, err := w.service.Password(t.Context(), there, "alice@example.test", crmPassword, "", visitor); err != nil {
		t.Fatal(err)
	}
	back, err := w.service.HandBack(t.Context(), there)
	if err != nil {
		t.Fatal(err)
	}
	u, _ := url.Parse(back)
	w.clock.Advance(handBackFor)
	_, err = w.service.Complete(t.Context(), in.ID, cookie, u.Query().Get("h"))
	wantStartAgain(t, err)
	if back, err = w.service.HandBack(t.Context(), there); err != nil {
		t.Fatal(err)
	}
	u, _ = url.Parse(back)
	if _, err = w.service.Complete(t.Context(), in.ID, cookie, u.Query().Get("h")); err != nil {
		t.Fatal(err)
	}
	_, err = w.service.Complete(t.Context(), in.ID, cookie, u.Query().Get("h"))
	wantStartAgain(t, err)
	w.wantPerson(t, in, cookie, "alice@example.test")
}

func TestPeopleSignInWithAMailedCode(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosted())
	in, cookie := w.begun(t, w.ep)
	out, err := w.service.SendCode(t.Context(), in, "alice@example.test", "", visitor)
	if err != nil || !out.Mailed || out.Person != nil {
		t.Fatalf("%+v, %v", out, err)
	}
	in = w.reopened(t, in, cookie)
	if in.Email != "alice@example.test" {
		t.Fatalf("mail to %q", in.Email)
	}
	_, err = w.service.SendCode(t.Context(), in, "Alice@example.test", "", visitor)
	wantFault(t, err, fault.RateLimited, "too_many_tries")
	if f := fault.From(err); f.RetryAfter != time.Minute || !strings.Contains(f.Message, "60 s") {
		t.Errorf("told %q, %s", f.Message, f.RetryAfter)
	}
	code := w.lastMail(t, "alice@example.test").Code
	wrong := "000000"
	if code == wrong {
		wrong = "111111"
	}
	for _, text := range []string{wrong, "", "12345", "abcdef", strings.Repeat("1", 40)} {
		_, err = w.service.VerifyEmailCode(t.Context(), in, text, visitor)
		wantFault(t, err, fault.Invalid, "code_wrong")
	}
	if out, err = w.service.VerifyEmailCode(t.Context(), in, " "+code[:3]+" "+code[3:], visitor); err != nil || out.Person == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	w.wantPerson(t, in, cookie, "alice@example.test")
	other, _ := w.begun(t, w.ep)
	_, err = w.service.VerifyEmailCode(t.Context(), other, code, visitor)
	wantFault(t, err, fault.Invalid, "no_code_sent")
}

func TestAMailedLinkWorksInItsOwnBrowserOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosted())
	in, cookie := w.begun(t, w.ep)
	other, otherCookie := w.begun(t, w.ep)
	if _, err := w.service.SendCode(t.Context(), in, "alice@example.test", "", visitor); err != nil {
		t.Fatal(err)
	}
	query := w.clicked(t, "alice@example.test")
	w.project.ForgetRequests()
	_, _, err := w.service.Callback(t.Context(), query, noCookie, visitor)
	wantStartAgain(t, err)
	_, _, err = w.service.Callback(t.Context(), query, has(other, otherCookie), visitor)
	wantStartAgain(t, err)
	moved := url.Values{"state": query["sign_in"], "code": query["code"]}
	_, _, err = w.service.Callback(t.Context(), moved, has(in, cookie), visitor)
	wantStartAgain(t, err)
	if n := len(w.project.Requests()); n != 0 {
		t.Fatal("the code was spent")
	}
	if _, out, err := w.service.Callback(t.Context(), query, has(in, cookie), visitor); err != nil || out.Person == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	w.wantPerson(t, in, cookie, "alice@example.test")

	// A link that was used, say by a scanner of mails.
	if _, err := w.service.SendCode(t.Context(), other, "bob@example.test", "", visitor); err != nil {
		t.Fatal(err)
	}
	w.clicked(t, "bob@example.test")
	used := w.clicked(t, "bob@example.test")
	got, _, err := w.service.Callback(t.Context(), used, has(other, otherCookie), visitor)
	wantFault(t, err, fault.Invalid, "link_expired")
	if got == nil || got.ID != other.ID {
		t.Error("nothing leads back to the sign-in")
	}
}

func TestWhetherAnAddressIsKnownIsNotTold(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosted(func(o *standin.Options) { o.SignupOff = true }))
	for _, email := range []string{"alice@example.test", "nobody@example.test"} {
		in, cookie := w.begun(t, w.ep)
		if m, err := w.service.Methods(t.Context(), in, false); err != nil || m.SignUp {
			t.Fatalf("methods %+v, %v", m, err)
		}
		out, err := w.service.SendCode(t.Context(), in, email, "", visitor)
		if err != nil || !out.Mailed || w.reopened(t, in, cookie).Email != email {
			t.Errorf("%s: %+v, %v", email, out, err)
		}
		_, err = w.service.SendCode(t.Context(), in, email, "", visitor)
		wantFault(t, err, fault.RateLimited, "too_many_tries")
		_, err = w.service.VerifyEmailCode(t.Context(), w.reopened(t, in, cookie), "000000", visitor)
		wantFault(t, err, fault.Invalid, "code_wrong")
	}
	in, _ := w.begun(t, w.ep)
	_, err := w.service.SignUp(t.Context(), w.onOwnHost(t, in), "eve@example.test", crmPassword, "", visitor)
	wantFault(t, err, fault.Invalid, "not_offered")
}

func TestPeopleSignInWithAProvider(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosted(func(o *standin.Options) { o.Providers = []string{"github", "google"} }))
	in, cookie := w.begun(t, w.ep)
	m, err := w.service.Methods(t.Context(), in, false)
	if err != nil || strings.Join(m.Providers, " ") != "github google" {
		t.Fatalf("methods %+v, %v", m, err)
	}
	for _, name := range []string{"gitlab", "", "email", "github&scopes=repo"} {
		_, err := w.service.StartProvider(t.Context(), in, name)
		wantFault(t, err, fault.Invalid, "not_offered")
	}
	query := w.provided(t, in, "alice@example.test")
	_, _, err = w.service.Callback(t.Context(), query, noCookie, visitor)
	wantStartAgain(t, err)
	if _, out, err := w.service.Callback(t.Context(), query, has(in, cookie), visitor); err != nil || out.Person == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	w.wantPerson(t, in, cookie, "alice@example.test")

	refused, refusedCookie := w.begun(t, w.ep)
	_, _, err = w.service.Callback(t.Context(), w.provided(t, refused, ""), has(refused, refusedCookie), visitor)
	wantFault(t, err, fault.Forbidden, "access_denied")
	w.reopened(t, refused, refusedCookie) // another way is still open
}

// provided signs in at github as somebody; nobody says no.
func (w *world) provided(t testing.TB, in *SignIn, email string) url.Values {
	t.Helper()
	to, err := w.service.StartProvider(t.Context(), in, "github")
	if err != nil {
		t.Fatal(err)
	}
	page := w.redirectOf(t, http.MethodGet, to, "", nil)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, page.Scheme+"://"+page.Host+page.Path,
		strings.NewReader(url.Values{"state": page.Query()["state"], "email": {email}}.Encode()))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	browser := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return w.redirectOf(t, http.MethodGet, res.Header.Get("Location"), "", nil).Query()
}

func TestASecondFactorIsAskedFor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosted())
	secret, err := w.project.EnrollTOTP(t.Context(), "alice@example.test")
	if err != nil {
		t.Fatal(err)
	}
	in, cookie := w.begun(t, w.ep)
	bob := w.signedIn(t, w.ep, "bob@example.test")
	if err := w.service.Recognize(t.Context(), in, bob); err != nil {
		t.Fatal(err)
	}
	in = w.reopened(t, in, cookie)
	if _, err := w.service.SendCode(t.Context(), in, "alice@example.test", "", visitor); err != nil {
		t.Fatal(err)
	}
	out, err := w.service.VerifyEmailCode(t.Context(), in, w.lastMail(t, "alice@example.test").Code, visitor)
	if err != nil || !out.Factor || out.Person != nil {
		t.Fatalf("%+v, %v", out, err)
	}
	in = w.reopened(t, in, cookie)
	if !in.Factor || in.Person != nil {
		t.Fatalf("sign-in %+v", in)
	}
	var pending []byte
	w.query(t, &pending, "select pending from sign_ins where id = $1", in.ID.UUID())
	if strings.Contains(string(pending), "access") {
		t.Error("the pending session is not sealed")
	}
	right := standin.TOTPCode(secret, w.clock.Now())
	wrong := "000000"
	if right == wrong {
		wrong = "111111"
	}
	for _, text := range []string{wrong, "", "12345", "1234567"} {
		_, err = w.service.VerifyFactor(t.Context(), in, text, visitor)
		wantFault(t, err, fault.Invalid, "factor_wrong")
	}
	// A pending session of one sign-in is of no use to another.
	other, otherCookie := w.begun(t, w.ep)
	w.Exec(t, "update sign_ins set pending = $1 where id = $2", pending, other.ID.UUID())
	if _, err := w.service.VerifyFactor(t.Context(), w.reopened(t, other, otherCookie), right, visitor); err == nil {
		t.Fatal("a pending session went to another sign-in")
	}
	if out, err = w.service.VerifyFactor(t.Context(), in, right, visitor); err != nil || out.Person == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	w.wantPerson(t, in, cookie, "alice@example.test")
	_, err = w.service.VerifyFactor(t.Context(), w.reopened(t, in, cookie), right, visitor)
	wantFault(t, err, fault.Invalid, "no_factor")
}

func TestAFactorThatCannotBeCheckedHasAWayOut(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosted(func(o *standin.Options) { o.TOTPVerifyOff = true }))
	secret, err := w.project.EnrollTOTP(t.Context(), "alice@example.test")
	if err != nil {
		t.Fatal(err)
	}
	in, cookie := w.begun(t, w.ep)
	if _, err := w.service.SendCode(t.Context(), in, "alice@example.test", "", visitor); err != nil {
		t.Fatal(err)
	}
	if out, err := w.service.VerifyEmailCode(t.Context(), in, w.lastMail(t, "alice@example.test").Code, visitor); err != nil || !out.Factor {
		t.Fatalf("%+v, %v", out, err)
	}
	_, err = w.service.VerifyFactor(t.Context(), w.reopened(t, in, cookie), standin.TOTPCode(secret, w.clock.Now()), visitor)
	wantFault(t, err, fault.Forbidden, "factor_off")
	if got := w.reopened(t, in, cookie); got.Factor || got.Person != nil {
		t.Errorf("sign-in %+v", got)
	}
	if n := w.project.Sessions("alice@example.test"); n != 0 {
		t.Errorf("%d sessions are left behind", n)
	}
}

func TestACaptchaIsLearntOf(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosted(func(o *standin.Options) {
		o.Captcha = func(token string) bool { return strings.HasPrefix(token, "good") }
	}))
	in, _ := w.begun(t, w.ep)
	if m, err := w.service.Methods(t.Context(), in, false); err != nil || m.Captcha != (Captcha{}) {
		t.Fatalf("methods %+v, %v", m, err)
	}
	_, err := w.service.SendCode(t.Context(), in, "alice@example.test", "", visitor)
	wantFault(t, err, fault.Unavailable, "captcha_not_set_up")
	provider, key := "turnstile", "0x4AAA-site"
	if _, err := w.service.ChangeSignIn(t.Context(), w.builder, w.ep.Project.ID, SignInChange{CaptchaProvider: &provider, CaptchaSiteKey: &key}); err != nil {
		t.Fatal(err)
	}
	if m, err := w.service.Methods(t.Context(), in, false); err != nil || m.Captcha != (Captcha{"turnstile", key, true}) {
		t.Fatalf("methods %+v, %v", m, err)
	}
	_, err = w.service.SendCode(t.Context(), in, "alice@example.test", "bad", visitor)
	wantFault(t, err, fault.Invalid, "captcha_failed")
	if out, err := w.service.SendCode(t.Context(), in, "alice@example.test", "good 1", visitor); err != nil || !out.Mailed {
		t.Fatalf("%+v, %v", out, err)
	}
	there := w.onOwnHost(t, in)
	_, err = w.service.Password(t.Context(), there, "alice@example.test", crmPassword, "", visitor)
	wantFault(t, err, fault.Invalid, "captcha_failed")
	if out, err := w.service.Password(t.Context(), there, "alice@example.test", crmPassword, "good 2", visitor); err != nil || out.Person == nil {
		t.Fatalf("%+v, %v", out, err)
	}
}

func TestACaptchaThatIsNeededNoMoreIsForgotten(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosted())
	in, _ := w.begun(t, w.ep)
	w.service.captchaNeeded(t.Context(), w.ep, true)
	if m, err := w.service.Methods(t.Context(), in, false); err != nil || !m.Captcha.Needed {
		t.Fatalf("methods %+v, %v", m, err)
	}
	if _, err := w.service.SendCode(t.Context(), in, "alice@example.test", "", visitor); err != nil {
		t.Fatal(err)
	}
	if m, err := w.service.Methods(t.Context(), in, false); err != nil || m.Captcha.Needed {
		t.Errorf("methods %+v, %v", m, err)
	}
}

func TestPeopleMakeAnAccount(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosted(func(o *standin.Options) { o.ConfirmationOn = true }))
	in, cookie := w.begun(t, w.ep)
	there := w.onOwnHost(t, in)
	for name, email := range map[string]string{"new": "carol@example.test", "known": "alice@example.test"} {
		t.Run(name, func(t *testing.T) {
			begun, _ := w.begun(t, w.ep)
			out, err := w.service.SignUp(t.Context(), w.onOwnHost(t, begun), email, crmPassword, "", visitor)
			if err != nil || !out.Mailed || out.Person != nil {
				t.Fatalf("%+v, %v", out, err)
			}
		})
	}
	_, err := w.service.SignUp(t.Context(), there, "dave@example.test", seal.NewSecret("x"), "", visitor)
	wantFault(t, err, fault.Invalid, "weak_password")
	if out, err := w.service.SignUp(t.Context(), there, "dave@example.test", crmPassword, "", visitor); err != nil || !out.Mailed {
		t.Fatalf("%+v, %v", out, err)
	}
	_, err = w.service.Password(t.Context(), w.onOwnHost(t, in), "dave@example.test", crmPassword, "", visitor)
	wantFault(t, err, fault.Invalid, "not_confirmed")
	there = w.onOwnHost(t, there)
	if there.Email != "dave@example.test" {
		t.Fatalf("mail to %q", there.Email)
	}
	if out, err := w.service.VerifyEmailCode(t.Context(), there, w.lastMail(t, "dave@example.test").Code, visitor); err != nil || out.Person == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	if _, err := w.returned(t, there, cookie); err != nil {
		t.Fatal(err)
	}
	w.wantPerson(t, in, cookie, "dave@example.test")
}

func TestAnAccountCanBeUsedAtOnceWhereMailsAreNotConfirmed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosted())
	in, cookie := w.begun(t, w.ep)
	there := w.onOwnHost(t, in)
	_, err := w.service.SignUp(t.Context(), there, "alice@example.test", crmPassword, "", visitor)
	wantFault(t, err, fault.Invalid, "sign_up_refused")
	for _, email := range []string{"", "nobody", "Carol <carol@example.test>", "a@b\nc.test", strings.Repeat("a", 400) + "@example.test"} {
		_, err := w.service.SignUp(t.Context(), there, email, crmPassword, "", visitor)
		wantFault(t, err, fault.Invalid, "email_invalid")
	}
	for _, password := range []string{"", strings.Repeat("a", 2000)} {
		_, err := w.service.SignUp(t.Context(), there, "carol@example.test", seal.NewSecret(password), "", visitor)
		wantFault(t, err, fault.Invalid, "password_missing")
	}
	if out, err := w.service.SignUp(t.Context(), there, "carol@example.test", crmPassword, "", visitor); err != nil || out.Person == nil {
		t.Fatalf("%+v, %v", out, err)
	}
	if _, err := w.returned(t, there, cookie); err != nil {
		t.Fatal(err)
	}
	w.wantPerson(t, in, cookie, "carol@example.test")
}

func TestAProjectWithoutAWayInSaysSo(t *testing.T) {
	t.Parallel()
	w := newWorld(t, hosted(func(o *standin.Options) { o.EmailOff = true }))
	in, _ := w.begun(t, w.ep)
	_, err := w.service.Methods(t.Context(), in, false)
	wantFault(t, err, fault.Unavailable, "no_way_in")
}

func TestOnlySocialProvidersAreListed(t *testing.T) {
	t.Parallel()
	got := providersOf(map[string]bool{"email": true, "phone": true, "anonymous_users": true, "saml": true, "web3_solana": true,
		"github": true, "google": false, "slack_oidc": true, "apple": true, "<b>": true, "": true})
	if strings.Join(got, " ") != "apple github slack_oidc" {
		t.Errorf("providers %v", got)
	}
}
