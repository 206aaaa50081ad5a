package surfaces

import "strings"

// access compares who may call the surface.
func (d *differ) access(before, after Access) {
	told := len(d.changes)
	d.modes(before, after)
	if both := before.Has(ModeOAuth) && after.Has(ModeOAuth); both {
		if before.Authorization != after.Authorization {
			d.add(ChangeBreaks, "access.authorization is %s now, it was %s: every client must sign in again", after.Authorization, before.Authorization)
		}
		d.scopes(before, after)
	}
	if before.users() && after.users() {
		d.roles(before, after)
	}
	switch {
	case before.AnonymousUsers && !after.AnonymousUsers:
		d.add(ChangeBreaks, "anonymous users are refused now")
	case !before.AnonymousUsers && after.AnonymousUsers:
		d.add(ChangeSafe, "anonymous users are admitted now")
	}
	switch {
	case before.ApprovalPage && !after.ApprovalPage:
		d.add(ChangeBreaks, "clients that cannot ask a person get no page to approve on any more")
	case !before.ApprovalPage && after.ApprovalPage:
		d.add(ChangeSafe, "clients that cannot ask a person get the link of a page to approve on now")
	}
	d.origins(before.Origins, after.Origins)
	d.doors(before, after)
	before.Scopes, after.Scopes = nil, nil // told by advertise, require and the tools
	if len(d.changes) == told && !sameJSON(before, after) {
		d.add(ChangeSafe, "access is written in another order")
	}
}

var modeLoses = map[Mode]string{
	ModeOAuth:  "nobody can sign in any more",
	ModeBearer: "sessions of the app are refused",
	ModeAPIKey: "keys of applications are refused",
	ModePublic: "callers without a token are refused",
}

func (d *differ) modes(before, after Access) {
	for _, m := range before.Modes {
		if !after.Has(m) {
			d.add(ChangeBreaks, "access mode %s is gone: %s", m, modeLoses[m])
		}
	}
	for _, m := range after.Modes {
		if !before.Has(m) {
			d.add(ChangeSafe, "access mode %s is new", m)
		}
	}
}

func (d *differ) scopes(before, after Access) {
	if added := without(after.Require, before.Require); len(added) > 0 {
		d.add(ChangeBreaks, "every token needs the scope %s now", strings.Join(added, " "))
	}
	if gone := without(before.Require, after.Require); len(gone) > 0 {
		d.add(ChangeSafe, "tokens no longer need the scope %s", strings.Join(gone, " "))
	}
	if added := without(after.Advertise, before.Advertise); len(added) > 0 {
		d.add(ChangeBehaviour, "clients are told to ask for the scope %s", strings.Join(added, " "))
	}
	if gone := without(before.Advertise, after.Advertise); len(gone) > 0 {
		d.add(ChangeBehaviour, "clients are no longer told to ask for the scope %s", strings.Join(gone, " "))
	}
}

func (d *differ) roles(before, after Access) {
	was, is := admitted(before), admitted(after)
	if gone := without(was, is); len(gone) > 0 {
		d.add(ChangeBreaks, "users with the role %s are refused now", strings.Join(gone, ", "))
	}
	if added := without(is, was); len(added) > 0 {
		d.add(ChangeSafe, "users with the role %s are admitted now", strings.Join(added, ", "))
	}
}

func admitted(a Access) []string {
	if len(a.Roles) == 0 {
		return []string{"authenticated"}
	}
	return a.Roles
}

// origins compares the browser origins; none listed admits all.
func (d *differ) origins(before, after []string) {
	switch {
	case len(before) == 0 && len(after) > 0:
		d.add(ChangeBreaks, "only browsers at %s may call now; it was any", strings.Join(after, ", "))
	case len(before) > 0 && len(after) == 0:
		d.add(ChangeSafe, "browsers at any origin may call now")
	default:
		if gone := without(before, after); len(gone) > 0 {
			d.add(ChangeBreaks, "browsers at %s are refused now", strings.Join(gone, ", "))
		}
		if added := without(after, before); len(added) > 0 {
			d.add(ChangeSafe, "browsers at %s may call now", strings.Join(added, ", "))
		}
	}
}
