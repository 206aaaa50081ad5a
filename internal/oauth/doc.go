// Package oauth owns who calls: it turns a request's Authorization into a
// Caller or a challenge, keeps the key sets of projects and the memo of
// verified tokens, and serves protected-resource metadata.
//
//	caller.go      Caller and CallerKey, the identity of one request
//	authenticate.go  which mode takes a request, admission (design section 5)
//	direct.go      tokens of the project's Supabase Auth (RFC 7519, RFC 9068 where it applies)
//	keyset.go      JWKS per project (RFC 7517), refetch and cooldown
//	memo.go        verified tokens, remembered by hash
//	challenge.go   WWW-Authenticate (RFC 6750, RFC 9728 section 5.1)
//	wellknown.go   protected-resource metadata (RFC 9728)
//
// It never forwards a token, never stores one, and never answers a tool call.
package oauth
