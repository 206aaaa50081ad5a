// Package supabase owns how a project is reached: requests to its Data API,
// Edge Functions, Storage and Auth, their answers and their errors. Nothing else
// builds a request to a project.
//
// It never sends a user's token anywhere but to the project's api_origin, and
// never retries what may have had an effect. It keeps no session and verifies
// no token: package oauth does.
//
// File map: client.go sends, project.go says to whom; request.go, query.go,
// dataapi.go, error.go and catalog.go are the Data API; functions*.go calls Edge
// Functions and storage*.go reaches files; auth.go, signing.go,
// origin.go and consent.go what Auth says of itself; auth_call.go,
// auth_session.go and auth_refusal.go the calls that sign people in, their
// sessions and refusals, with auth_oauth.go (as an OAuth client),
// auth_signin.go, auth_email.go, auth_factors.go and auth_user.go the calls by
// subject, and pkce.go; ownership.go and management.go prove who owns a
// project.
package supabase
