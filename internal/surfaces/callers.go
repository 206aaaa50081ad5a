package surfaces

// users reports whether some callers run with a token of the project.
func (a Access) users() bool {
	return a.Has(ModeBearer) || a.Has(ModeOAuth) && a.Authorization != AuthorizationExternal
}

// anon reports whether some callers run the tool as anon.
func (a Access) anon(t *Tool) bool {
	return a.Has(ModeAPIKey) || a.Has(ModeOAuth) && a.Authorization == AuthorizationExternal || t.Public && a.Has(ModePublic)
}

// called are the functions that Chumbo itself calls for a surface.
func called(c *Compiled) []*Function {
	if c == nil {
		return nil
	}
	var list []*Function
	add := func(f *Function) {
		if f != nil {
			list = append(list, f)
		}
	}
	if c.Access.Keys != nil {
		add(&c.Access.Keys.Function)
	}
	if c.Access.ScopesFrom != nil {
		add(c.Access.ScopesFrom.Function)
	}
	add(c.Policy.Context)
	add(c.Policy.Authorizer)
	return list
}
