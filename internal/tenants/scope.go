package tenants

import "github.com/chumbo-dev/chumbo/internal/fault"

// scopeOrder: each scope includes those before it.
var scopeOrder = map[Scope]int{ScopeRead: 1, ScopeWrite: 2, ScopeAdmin: 3}

func checkScope(scope Scope) error {
	if scopeOrder[scope] == 0 {
		return fault.New(fault.Invalid, "scope_invalid", "A token's scope is read, write or admin.").
			WithIssues(fault.Issue{Path: "scope", Message: "want read, write or admin"})
	}
	return nil
}

// atMost is the smaller of two scopes.
func (s Scope) atMost(bound Scope) Scope {
	if scopeOrder[s] > scopeOrder[bound] {
		return bound
	}
	return s
}

// scope is the widest scope that is of use to a role.
func (r Role) scope() Scope {
	switch r {
	case RoleOwner, RoleAdmin:
		return ScopeAdmin
	case RoleDeveloper:
		return ScopeWrite
	}
	return ScopeRead
}
