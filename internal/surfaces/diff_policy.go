package surfaces

import (
	"fmt"
	"slices"
	"strings"
)

// doors compares what single ways in ask for.
func (d *differ) doors(before, after Access) {
	d.issuer(before.Issuer, after.Issuer)
	d.keys(before, after)
	d.publicRate(before, after)
	switch was, is := before.Isolation == IsolationClient, after.Isolation == IsolationClient; {
	case !was && is:
		d.add(ChangeBreaks, "a client's token works at the first surface it is used at only (isolation)")
	case was && !is:
		d.add(ChangeSafe, "a client's token is accepted whatever other surface it was used at (isolation is gone)")
	}
	if before.SessionCheck != after.SessionCheck {
		if after.SessionCheck == 0 {
			d.add(ChangeSafe, "sessions that end at the project are no longer noticed before their token does")
		} else {
			d.add(ChangeBehaviour, "sessions that end at the project are refused within %s", shortTime(after.SessionCheck))
		}
	}
	if !sameJSON(before.ScopesFrom, after.ScopesFrom) {
		class := ChangeBreaks
		if before.ScopesFrom == nil {
			class = ChangeSafe
		}
		d.add(class, "scopes beyond the token's own come from %s now, it was %s", sourceOf(after.ScopesFrom), sourceOf(before.ScopesFrom))
	}
	d.requiredRoles(before.RequiredRoles, after.RequiredRoles)
	d.aal(before.AAL, after.AAL)
	if before.Documentation != after.Documentation {
		d.add(ChangeSafe, "the link to documentation is %s now", wordOr(after.Documentation, "gone"))
	}
}

// issuer compares two issuers; a new or gone one is told by the authorization.
func (d *differ) issuer(before, after *ExternalIssuer) {
	if before == nil || after == nil {
		return
	}
	if before.URL != after.URL {
		d.add(ChangeBreaks, "the issuer is %s now, it was %s: every client must sign in again", word(after.URL), word(before.URL))
	}
	d.admits("tokens for the audience", before.Audience, after.Audience)
	d.admits("the client", before.Clients, after.Clients)
	switch {
	case before.Introspection != nil && after.Introspection == nil:
		d.add(ChangeBreaks, "tokens that are no JWT are refused now")
	case before.Introspection == nil && after.Introspection != nil:
		d.add(ChangeSafe, "tokens that are no JWT are checked at the issuer now")
	case !sameJSON(before.Introspection, after.Introspection):
		d.add(ChangeBehaviour, "tokens that are no JWT are checked in another way")
	}
}

// admits compares lists of which one must match; an empty one admits all.
func (d *differ) admits(what string, before, after []string) {
	gone, added := without(before, after), without(after, before)
	switch {
	case len(before) == 0 && len(after) > 0:
		d.add(ChangeBreaks, "only %s %s may call now; it was any", what, wordList(after))
	case len(before) > 0 && len(after) == 0:
		d.add(ChangeSafe, "any may call now, not only %s %s", what, wordList(before))
	default:
		if len(gone) > 0 {
			d.add(ChangeBreaks, "%s %s may not call any more", what, wordList(gone))
		}
		if len(added) > 0 {
			d.add(ChangeSafe, "%s %s may call now", what, wordList(added))
		}
	}
}

func (d *differ) keys(before, after Access) {
	switch {
	case before.Keys != nil && after.Keys == nil:
		d.add(ChangeBreaks, "the app's own keys are refused now")
	case before.Keys == nil && after.Keys != nil:
		d.add(ChangeSafe, "the app's own keys are checked by %s now", after.Keys.Function.shown())
	case before.Keys != nil && !sameJSON(before.Keys, after.Keys):
		d.add(ChangeBehaviour, "the app's own keys are checked by %s now, it was %s", after.Keys.Function.shown(), before.Keys.Function.shown())
	}
}

// publicRate compares how often callers without a token may call. That the
// mode came or went is told by the modes.
func (d *differ) publicRate(before, after Access) {
	if !before.Has(ModePublic) || !after.Has(ModePublic) || sameJSON(before.Public, after.Public) {
		return
	}
	d.add(ChangeBehaviour, "callers without a token may call %s, it was %s", rateWords(after.Public), rateWords(before.Public))
}

func rateWords(p *PublicRate) string {
	if p == nil {
		return "without a bound"
	}
	words := fmt.Sprintf("%d times in %s from one address", p.Calls, shortTime(p.Seconds))
	if p.Total > 0 {
		words += fmt.Sprintf(" and %d times in all", p.Total)
	}
	return words
}

func sourceOf(s *ScopesFrom) string {
	switch {
	case s == nil:
		return "nowhere"
	case s.Function != nil:
		return "the function " + s.Function.shown()
	}
	return "the claim " + word(strings.Join(s.Claim, "."))
}

func (d *differ) requiredRoles(before, after *RequiredRoles) {
	switch {
	case before == nil && after == nil:
	case before == nil:
		d.add(ChangeBreaks, "only callers whose %s is %s are admitted now", word(strings.Join(after.Claim, ".")), strings.Join(after.Roles, " or "))
	case after == nil:
		d.add(ChangeSafe, "callers are admitted whatever their %s is", word(strings.Join(before.Claim, ".")))
	case !slices.Equal(before.Claim, after.Claim):
		d.add(ChangeBreaks, "the roles of callers are read from %s now, it was %s", word(strings.Join(after.Claim, ".")), word(strings.Join(before.Claim, ".")))
	default:
		if gone := without(before.Roles, after.Roles); len(gone) > 0 {
			d.add(ChangeBreaks, "callers with the app's role %s are refused now", strings.Join(gone, ", "))
		}
		if added := without(after.Roles, before.Roles); len(added) > 0 {
			d.add(ChangeSafe, "callers with the app's role %s are admitted now", strings.Join(added, ", "))
		}
	}
}

func (d *differ) aal(before, after string) {
	switch before {
	case after:
	case "":
		d.add(ChangeBreaks, "only sessions with a second factor (%s) are admitted now", after)
	default:
		d.add(ChangeSafe, "sessions without a second factor are admitted now")
	}
}

// policy compares the rules of the surface itself.
func (d *differ) policy(before, after Policy) {
	d.visible(before.Visible, after.Visible, "tools are shown")
	d.allow(before.Allow, after.Allow)
	d.functionOf("context", before.Context, after.Context)
	d.functionOf("authorizer", before.Authorizer, after.Authorizer)
}

// toolPolicy compares the rules of one tool.
func (d *differ) toolPolicy(before, after *Tool) {
	d.visible(before.Visible, after.Visible, "it is shown")
	d.allow(before.Allow, after.Allow)
	switch {
	case before.Permission == after.Permission:
	case before.Permission == "":
		d.add(ChangeBreaks, "the app is asked for the permission %s before it runs", word(after.Permission))
	case after.Permission == "":
		d.add(ChangeSafe, "the app is no longer asked for a permission")
	default:
		d.add(ChangeBehaviour, "the app is asked for the permission %s now, it was %s", word(after.Permission), word(before.Permission))
	}
	d.aal(before.AAL, after.AAL)
	if !sameJSON(before.Meta, after.Meta) {
		d.add(ChangeBehaviour, "its meta changed, which rules and the authorizer read")
	}
	if before.Privileged != after.Privileged {
		d.add(ChangeBehaviour, "runs with the rights of its function's %s now", map[bool]string{true: "owner", false: "caller"}[after.Privileged])
	}
}

func (d *differ) visible(before, after, what string) {
	switch {
	case before == after:
	case before == "":
		d.add(ChangeBreaks, "%s only where a rule holds (visible)", what)
	case after == "":
		d.add(ChangeSafe, "%s to everybody: the rule visible is gone", what)
	default:
		d.add(ChangeBehaviour, "%s by another rule (visible)", what)
	}
}

func (d *differ) allow(before, after *Allow) {
	switch {
	case before == nil && after == nil:
	case before == nil:
		d.add(ChangeBreaks, "calls are refused where a rule does not hold (allow)")
	case after == nil:
		d.add(ChangeSafe, "calls need no rule any more: allow is gone")
	case before.Rule != after.Rule:
		d.add(ChangeBehaviour, "calls are refused by another rule (allow)")
	case before.Reason != after.Reason:
		d.add(ChangeSafe, "the reason of a refusal is in other words (allow)")
	}
}

func (d *differ) functionOf(key string, before, after *Function) {
	if sameJSON(before, after) {
		return
	}
	name := func(f *Function) string {
		if f == nil {
			return "no function"
		}
		return f.shown()
	}
	d.add(ChangeBehaviour, "%s comes from %s now, it was %s", key, name(after), name(before))
}

func wordOr(s, none string) string {
	if s == "" {
		return none
	}
	return word(s)
}
