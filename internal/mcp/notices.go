package mcp

// notices takes what a tool tells while it runs, for a client that listens. It
// decides by itself what of it the client asked for. Safe for use from one
// goroutine at a time.
type notices interface {
	// progress is told in any unit; total 0 means unknown.
	progress(done, total float64, message string)
	// log is a message for the client, its data JSON.
	log(level, logger string, data []byte)
}
