package mcp

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

// rpcFault is a refusal with a JSON-RPC code of its own, which a fault kind
// does not tell.
type rpcFault struct {
	code    int64
	status  int
	message string
	data    any
	id      json.RawMessage // nil where the request's id could not be read
}

func (e *rpcFault) Error() string { return e.message }

// refuse makes a refusal answered with HTTP 400. The message is public.
func refuse(code int64, format string, args ...any) *rpcFault {
	return &rpcFault{code: code, status: http.StatusBadRequest, message: fmt.Sprintf(format, args...)}
}

func (e *rpcFault) of(id json.RawMessage) *rpcFault {
	e.id = id
	return e
}

func (e *rpcFault) with(status int) *rpcFault {
	e.status = status
	return e
}

// answer is what one message is answered with: an HTTP status, and a JSON-RPC
// response. An empty body is 202.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// rpcAnswer renders a refusal.
func rpcAnswer(e *rpcFault) answer {
	return answer{status: e.status, body: fault.RPCBody(e.id, fault.RPC{Code: e.code, Message: e.message, Data: e.data})}
}

// faultAnswer renders any error as the answer of a message. Older protocol
// versions carry JSON-RPC errors in HTTP 200, so only what is no answer to the
// message itself (a neighbour away, our own failure to begin) has a status.
func faultAnswer(err error, id json.RawMessage, requestID string) answer {
	var refusal *rpcFault
	if errors.As(err, &refusal) {
		own := *refusal
		if own.id == nil {
			own.id = id
		}
		return rpcAnswer(&own)
	}
	e := fault.From(err)
	rpc := fault.RPCOf(e, requestID)
	a := rpcAnswer(&rpcFault{code: rpc.Code, status: e.Kind.Status(), message: rpc.Message, data: rpc.Data, id: id})
	if e.RetryAfter > 0 {
		a.header = http.Header{}
		fault.SetRetryAfter(a.header, e.RetryAfter)
	}
	return a
}

// write sends the answer.
func (a answer) write(w http.ResponseWriter) {
	h := w.Header()
	for name, values := range a.header {
		h[name] = values
	}
	h.Set("Cache-Control", "no-store")
	if len(a.body) == 0 {
		w.WriteHeader(a.status)
		return
	}
	h.Set("Content-Type", "application/json")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Content-Length", strconv.Itoa(len(a.body)))
	w.WriteHeader(a.status)
	_, _ = w.Write(a.body)
}

// wireError turns any error into the only kind the SDK sends as it is. What
// the SDK itself refuses already is one.
func wireError(err error, requestID string) *jsonrpc.Error {
	var e *jsonrpc.Error
	if errors.As(err, &e) {
		return e
	}
	rpc := fault.RPCOf(err, requestID)
	data, marshalErr := json.Marshal(rpc.Data)
	if marshalErr != nil {
		data = nil
	}
	return &jsonrpc.Error{Code: rpc.Code, Message: rpc.Message, Data: data}
}
