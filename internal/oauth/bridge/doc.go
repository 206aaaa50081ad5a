// Package bridge is Chumbo as the authorization server of a surface (access
// authorization: bridge): OAuth 2.1 towards MCP clients, the app's own Supabase
// Auth towards the person who signs in.
//
// Towards clients, one file per endpoint or RFC:
//
//	service.go     what the package is made of
//	endpoints.go   paths of the JSON endpoints, CORS, error shape
//	metadata.go    RFC 8414 and OpenID Connect Discovery
//	register.go    RFC 7591 registration
//	document.go    client ID metadata documents
//	clients.go     looking a client up; which redirect URI is its own (RFC 8252)
//	redirects.go   which redirect URIs may be registered at all
//	clientauth.go  client authentication at the token endpoint (RFC 6749 2.3, RFC 7523)
//	resource.go    RFC 8707: what a client's resource means
//	authorize.go   the authorization request (RFC 6749 4.1.1, RFC 7636, RFC 9207)
//	token.go       the token endpoint
//	revoke.go      RFC 7009
//	signingkeys.go keys: made, published, rotated, withdrawn; jwks.json
//	accesstoken.go RFC 9068 access tokens: issued and read
//
// Towards people:
//
//	signin.go      a browser on its way: begun, opened, finished
//	signin_*.go    the ways to sign in: the project's OAuth server, password, email, provider, second factor
//	settings.go    how a project's people sign in; our OAuth client of the project
//	visit.go       a browser that signed in, one project each
//	consent.go     the question and its answer
//	apps.go        Connected apps: list, narrow, revoke; personal tokens
//	limits.go      how often anything may be tried
//
// And what stands behind both:
//
//	grants.go      grants and their tombstones
//	chains.go      codes; refresh tokens: grant, chain, generation, MAC
//	upstream.go    sessions at the project: checked, sealed, signed out
//	upstream_refresh.go  … and refreshed, under a lease
//	admit.go       a request's token becomes a caller
//	standing.go    how grants stand, from memory while that is right
//	used.go        last use and first call
//	running.go     calls under way, ended with their grant
//	steps.go       the story of attempts to connect
//	sweep.go       what the worker cleans up
//
// It never sees a tool call, never renders a page, never keeps a password, and
// never hands the project's own tokens to a client.
package bridge
