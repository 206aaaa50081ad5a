// Package supabase owns how a project is reached: requests to its Data API and
// to its Auth's public documents, their answers and their errors. Nothing else
// builds a request to a project.
//
// It never sends a user's token anywhere but to the project's api_origin, and
// never retries what may have had an effect.
package supabase
