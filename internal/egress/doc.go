// Package egress owns the one way out: every request Chumbo makes to an
// address somebody else chose goes through Client.Do.
//
//	policy.go     which addresses may be reached
//	dialer.go     resolve, check, then dial the checked address
//	client.go     one request: checks, deadline, size limit, errors
//	document.go   an answer read whole
//	form.go       a form posted as an OAuth client
//	httpclient.go the same way out for libraries that want an http.Client
//	body.go       the answer's body, which holds the lane until it ends
//	errors.go     what a failure is called outside
//	lane.go       one breaker and one bulkhead per lane, in a bounded table
//
// It never follows a redirect, never reads proxy settings from the
// environment, never repeats a request that may have had an effect, and never
// puts an address, a header or a query into a public text.
package egress
