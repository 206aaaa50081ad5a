// Package standin is a stand-in Supabase project over real PostgreSQL with
// real roles and Row Level Security: Auth, the Data API, Edge Functions and
// Storage behind one gateway, faithful to the hosted platform in what Chumbo relies
// on, quirks included. What it does not know it refuses loudly (Data API: 400
// PGRST127; Storage: 501) and never answers by guess.
//
// For the demo, tests and benchmarks only. It is no Supabase: it has no
// Realtime or Studio, and what is in its files is gone when it closes.
//
// File map: project.go starts and stops one and project_people.go is what
// tests do to its people and see of them; database.go and sql/ make its
// database; gateway.go is the front door and recorder.go what tests see of it;
// keys.go, auth*.go and pages/ are Auth (auth_factors.go, auth_challenge.go and
// totp.go second factors; auth_mail.go, auth_otp.go and auth_verify.go what is
// mailed; auth_provider.go the built-in social providers; auth_off.go what is
// always switched off); dataapi*.go the Data API (request line: parse, plan,
// SQL, answer); functions.go Edge Functions; storage*.go Storage (its table is in
// sql/storage.sql, contents beside it); management.go the Management API;
// crm.go a ready-made schema with two organizations.
package standin
