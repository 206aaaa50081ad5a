// Package apikeys owns keys of applications (access mode api-key): those made
// here (chk_…), of which only a hash is kept, and those that a function of the
// app checks. A key stands for an application: its calls run as anon, with a
// stable subject, and never as a made-up user.
//
// File map: service.go wires it; keys.go makes, lists and ends keys, newkey.go
// says what one may be; admit.go admits them, and standing.go remembers how they
// stand. checked.go admits the app's own keys, verdicts.go remembers what was
// said of them, and answer.go reads the function's answer.
//
// It never keeps or logs a key, and never takes an answer about a key at one
// surface for an answer about it at another.
package apikeys
