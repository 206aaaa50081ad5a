package surfaces

// FunctionSpec names a function of the project that Chumbo itself calls.
type FunctionSpec struct {
	Function Text `json:"rpc"`
}

// IntrospectionSpec is access.introspection as written.
type IntrospectionSpec struct {
	ClientID Text `json:"client_id"`
	Endpoint Text `json:"endpoint,omitzero"`
}

// PublicSpec is access.public as written.
type PublicSpec struct {
	Confirm bool `json:"confirm"`
	Calls   int  `json:"calls"`
	Per     int  `json:"per"` // seconds
	Total   int  `json:"total"`
	at      place
}

// ScopesFromSpec is access.scopes_from as written: one of the two.
type ScopesFromSpec struct {
	Claim    claimPath     `json:"claim,omitempty"`
	Function *FunctionSpec `json:"function,omitempty"`
	at       place
}

// RequiredRolesSpec is access.required_roles as written.
type RequiredRolesSpec struct {
	Claim claimPath `json:"claim"`
	Roles []Text    `json:"roles"`
	at    place
}

// AllowSpec is an allow rule as written.
type AllowSpec struct {
	Rule   Text `json:"rule"`
	Reason Text `json:"reason,omitzero"`
}

// claimPath are the names that lead to a claim.
type claimPath []string
