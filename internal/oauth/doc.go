// Package oauth owns who calls: it turns a request's Authorization into a
// Caller or a challenge, keeps the key sets of projects and the memo of
// verified tokens, and serves protected-resource metadata.
//
//	caller.go        Caller and CallerKey, the identity of one request
//	authenticate.go  a request becomes a caller
//	bearer.go        the Authorization header (RFC 6750 section 2.1)
//	kinds.go         what a credential is, and so who judges it
//	doors.go         those who judge elsewhere: bridge, keys, other issuers
//	direct.go        tokens of the project's Supabase Auth: verification and admission
//	scopes.go        access.require and access.scopes_from
//	project_token.go tokens that the project handed to us (the bridge's sessions)
//	jwt.go           the token's header and claims, strictly read (RFC 7515, RFC 7519)
//	claims.go        claims for policy; words of one; who acts (RFC 8693 section 4.1)
//	keyset.go        key sets per project: age, refetch, cooldown
//	jwks.go          which keys of a key set document are used (RFC 7517)
//	publickeys.go    the same keys for those who verify other signatures
//	memo.go          verified and rejected tokens, remembered by hash
//	reason.go        why a request was not let in, and the fixed texts for it
//	challenge.go     WWW-Authenticate (RFC 6750 section 3, RFC 9728 section 5.1)
//	wellknown.go     protected-resource metadata (RFC 9728)
//	cors.go          preflights of what goes by no cookie
//
// It never forwards a token, never stores one, and never answers a tool call.
package oauth
