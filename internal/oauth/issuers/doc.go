// Package issuers owns tokens of another issuer than the project's
// (authorization: external): OpenID Connect discovery, key sets and signatures
// (go-oidc), and introspection of opaque tokens (RFC 7662). Its callers run as
// anon: a project knows nothing of such users.
//
//	service.go    what it stands on
//	admit.go      a JWT: signature, and the memo of verified tokens
//	opaque.go     another string: the issuer is asked (RFC 7662)
//	answer.go     what the issuer may answer
//	rules.go      what a surface asks of every such token
//	token.go      the token's header, strictly read (RFC 7515)
//	claims.go     its claims, strictly read (RFC 7519, RFC 9068)
//	documents.go  the issuer's metadata and key set, as they are now
//	keptpages.go  what was read elsewhere: its age, and floors between readings
//	keys.go       which keys of a key set are used (RFC 7517)
//	denial.go     why a token was not let in, and the fixed texts for it
//	secrets.go    the secret that a surface introspects with
//
// It never sends a token anywhere but to the issuer's own introspection
// endpoint, and never shares what it learnt between surfaces.
package issuers
