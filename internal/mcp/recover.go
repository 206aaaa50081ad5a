package mcp

import (
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// recovered, deferred, turns a panic of the edge into a 500 and a line in the
// log; where an answer has begun, the connection is cut. The value of a panic
// may hold what a user typed.
func (x *exchange) recovered() {
	p := recover()
	if p == nil {
		return
	}
	if p == http.ErrAbortHandler { //nolint:errorlint // net/http compares it so
		panic(p)
	}
	x.h.cfg.Logger.Error("panic in the edge", slog.String("request", x.requestID),
		slog.String("panic", fmt.Sprintf("%T", p)), slog.String("stack", string(debug.Stack())))
	if x.w.begun {
		panic(http.ErrAbortHandler)
	}
	fault.WriteProblem(x.w, fault.New(fault.Internal, "", "Something went wrong on our side. Try again; if it stays, send us the request id."), x.requestID)
}
