package mcp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"sync/atomic"
	"time"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/oauth"
)

const (
	maxBody  = 1 << 20          // of a request
	maxWrite = 30 * time.Second // for a client to take its answer
)

// exchange is one HTTP request on its way through the edge.
type exchange struct {
	h         *Handler
	w         *timedWriter
	r         *http.Request
	requestID string
	started   time.Time
	project   time.Duration // waited for the project, told in Server-Timing

	alone  bool        // its body is one message, no batch
	stream *callStream // the answer, where it may become a stream

	revoked atomic.Bool // the caller's grant was taken away meanwhile
	over    func() bool // see underGrant
}

// post serves an admitted request: size, method, media type, body. The call is
// the pattern for the calls of its messages.
func (x *exchange) post(c *call) {
	switch {
	case x.r.ContentLength > maxBody:
		x.tooLarge()
		return
	case x.r.Method != http.MethodPost:
		x.w.Header().Set("Allow", "POST, OPTIONS")
		x.refuse(refuse(fault.CodeInvalidRequest, "This endpoint takes POST. It keeps no session and opens no stream for GET.").with(http.StatusMethodNotAllowed))
		return
	case mediaType(x.r.Header) != "application/json":
		x.refuse(refuse(fault.CodeInvalidRequest, "Content-Type is application/json.").with(http.StatusUnsupportedMediaType))
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(x.w, x.r.Body, maxBody))
	if err != nil {
		x.unreadable(err)
		return
	}
	version, stated, err := headerVersion(x.r.Header)
	if err != nil {
		x.refuseAll(err, body)
		return
	}
	list, batch, err := parseEnvelope(body, version == version20250326)
	if err != nil {
		x.refuseAll(err, nil)
		return
	}
	c.protocol = version
	if err := x.countPublic(c, list); err != nil {
		x.problem(err)
		return
	}
	x.messages(c, list, batch, stated)
}

func (x *exchange) tooLarge() {
	x.refuse(refuse(fault.CodeInvalidRequest, "The body is larger than %d bytes. Send less in one request.", maxBody).with(http.StatusRequestEntityTooLarge))
}

func (x *exchange) unreadable(err error) {
	var tooLarge *http.MaxBytesError
	if errors.As(err, &tooLarge) {
		x.tooLarge()
		return
	}
	x.refuse(refuse(fault.CodeParse, "The body could not be read."))
}

func (x *exchange) refuse(e *rpcFault) { rpcAnswer(e).write(x.w) }

// refuseAll answers for the whole body. Where the id of a single message can
// be read, it is in the answer.
func (x *exchange) refuseAll(err error, body []byte) {
	a := faultAnswer(err, nil, x.requestID)
	if body != nil {
		if list, _, parseErr := parseEnvelope(body, false); parseErr == nil {
			a = faultAnswer(err, list[0].id, x.requestID)
		}
	}
	a.write(x.w)
}

// messages answers the messages of the body one after the other, each with a
// call of its own.
func (x *exchange) messages(pattern *call, list []message, batch, stated bool) {
	for i := range list {
		if err := x.check(&list[i], pattern, stated); err != nil {
			faultAnswer(err, list[i].id, x.requestID).write(x.w)
			return
		}
	}
	if len(list) == 1 && list[0].method == methodListen && list[0].isCall() {
		x.listen(pattern, &list[0])
		return
	}
	x.alone = !batch && len(list) == 1
	var answers [][]byte
	last := answer{status: http.StatusAccepted}
	for i := range list {
		c := *pattern
		a, challenge := x.message(&c, &list[i])
		x.project += c.projectTime
		if x.stream.hasBegun() && x.over() {
			challenge = revokedChallenge(c.endpoint)
		}
		if x.stream.end(a, challenge) {
			return
		}
		if challenge != nil && len(answers) == 0 {
			x.challenge(c.endpoint, challenge)
			return
		}
		if challenge != nil { // what ran before it must not be asked to run again
			a = rpcAnswer(refuse(fault.CodeInvalidRequest, "This message needs another credential. Send it alone.").of(list[i].id))
		}
		if len(a.body) > 0 {
			answers = append(answers, a.body)
			last = a
		}
	}
	if batch && len(answers) > 0 {
		body := append(append([]byte("["), bytes.Join(answers, []byte(","))...), ']')
		last = answer{status: http.StatusOK, body: body}
	}
	if x.over() {
		x.challenge(pattern.endpoint, revokedChallenge(pattern.endpoint))
		return
	}
	if x.r.Context().Err() != nil {
		return // nobody is there to read it
	}
	last.write(x.w)
}

// check refuses what the protocol refuses before any method runs.
func (x *exchange) check(m *message, c *call, stated bool) error {
	if m.response {
		return nil
	}
	if err := checkVersion(m, c.protocol, stated); err != nil {
		return err
	}
	if err := checkHeaders(m, c.protocol, x.r.Header); err != nil {
		return err
	}
	if err := checkRound(m, c.protocol); err != nil {
		return err
	}
	if !m.isCall() || serves(m.method, c.protocol) {
		return nil
	}
	e := refuse(fault.CodeMethodNotFound, "This method is not served.")
	if c.protocol < version20260728 {
		return e.with(http.StatusOK)
	}
	return e.with(http.StatusNotFound)
}

// message answers one message. Notifications and responses change nothing
// where no session is kept.
func (x *exchange) message(c *call, m *message) (answer, *oauth.Challenge) {
	if !m.isCall() {
		return answer{status: http.StatusAccepted}, nil
	}
	started := x.h.cfg.Now()
	c.client, c.brought = m.can, m.round
	c.trace = m.trace
	capability := ""
	a, challenge := func() (answer, *oauth.Challenge) {
		revision, err := x.h.revisions.of(x.r.Context(), c.endpoint)
		if err != nil {
			x.logInternal(err)
			c.outcome.errorKind = fault.From(err).Kind.String()
			return faultAnswer(err, m.id, x.requestID), nil
		}
		if a, challenge, stop := x.refuses(c, m, revision, &capability); stop {
			return a, challenge
		}
		if err := x.repeated(c, m, revision); err != nil {
			return faultAnswer(err, m.id, x.requestID), nil
		}
		a := x.run(c, m, revision)
		return a, x.late401(c)
	}()
	x.record(c, m, capability, a, challenge, x.h.cfg.Now().Sub(started))
	x.used(c, m, challenge)
	return a, challenge
}

// refuses answers what policy refuses before the SDK: its status and its header
// are not the SDK's to choose. capability becomes the name of what is used, if
// there is such a thing.
func (x *exchange) refuses(c *call, m *message, r *revision, capability *string) (answer, *oauth.Challenge, bool) {
	lists, uses := isList(m.method), isUse(m.method)
	if !lists && !uses || m.method == methodComplete && !r.completes {
		return answer{}, nil, false
	}
	ctx := x.r.Context()
	if err := r.required(ctx, c); err != nil {
		return x.failed(c, m, err)
	}
	if lists {
		return answer{}, nil, false
	}
	used, t := r.used(m)
	if used == nil {
		return x.unknown(c, m)
	}
	*capability = used.name
	j := r.judge(ctx, c, used)
	if j.err != nil {
		return x.failed(c, m, j.err)
	}
	if a, challenge, stop := x.stop(c, m, used, j.verdict); stop {
		return a, challenge, stop
	}
	if m.method == methodSubscribe || m.method == methodUnsubscribe {
		return x.subscribed(ctx, c, m, r, t)
	}
	return answer{}, nil, false
}

// isList reports whether the method lists capabilities.
func isList(method string) bool {
	switch method {
	case methodListTools, methodListPrompts, methodListResources, methodListTemplates:
		return true
	}
	return false
}

// isUse reports whether the method is about one capability.
func isUse(method string) bool {
	switch method {
	case methodCallTool, methodGetPrompt, methodReadResource, methodComplete, methodSubscribe, methodUnsubscribe:
		return true
	}
	return false
}

// failed answers a message that policy could not decide, or that fails what
// the surface asks of every token.
func (x *exchange) failed(c *call, m *message, err error) (answer, *oauth.Challenge, bool) {
	x.logInternal(err)
	c.outcome.errorKind = fault.From(err).Kind.String()
	if challenge := x.late401(c); challenge != nil {
		return answer{}, challenge, true
	}
	c.outcome.refused = fault.Is(err, fault.Forbidden)
	var challenge *oauth.Challenge
	if errors.As(err, &challenge) {
		return answer{}, challenge, true
	}
	return faultAnswer(err, m.id, x.requestID), nil, true
}

// required asks for access.require of callers whose scopes are said by a
// function of the app: all others were asked when they were admitted.
func (r *revision) required(ctx context.Context, c *call) error {
	if r.rules == nil || r.rules.scopes == nil || c.caller.Key.Mode != oauth.ModeDirect || len(c.endpoint.Access.Require) == 0 {
		return nil
	}
	if err := r.needScopes(ctx, c); err != nil {
		return err
	}
	return oauth.RequireScopes(c.endpoint, c.facts.caller)
}

// stop answers the use of a capability by its verdict. What is told of a refusal
// goes through the SDK.
func (x *exchange) stop(c *call, m *message, k *capability, v verdict) (answer, *oauth.Challenge, bool) {
	switch v {
	case allowed:
		return answer{}, nil, false
	case forbidden:
		if m.method == methodCallTool || m.method == methodGetPrompt || m.method == methodReadResource {
			return answer{}, nil, false
		}
	case needsLogin:
		c.outcome.refused = true
		return answer{}, oauth.SignIn(c.endpoint), true
	case needsScope:
		c.outcome.refused = true
		return answer{}, oauth.InsufficientScope(c.endpoint, wholeScopes(c, k.gate)), true
	}
	return x.unknown(c, m)
}

// unknown answers for what is not there and for what is hidden from the caller.
func (x *exchange) unknown(c *call, m *message) (answer, *oauth.Challenge, bool) {
	c.outcome.refused = true
	wire := unknownOf(m.method, m.name, c.protocol)
	e := refuse(wire.Code, "%s", wire.Message).of(m.id)
	if len(wire.Data) > 0 {
		e.data = wire.Data
	}
	if c.protocol < version20260728 {
		e = e.with(http.StatusOK)
	}
	return rpcAnswer(e), nil, true
}

// used is what the message is about, and of a resource what its URI says; nil
// for what is not there. A name that is not the builder's is never recorded.
func (r *revision) used(m *message) (*capability, *target) {
	if !m.named {
		return nil, nil
	}
	switch {
	case m.method == methodCallTool:
		if t := r.tools[m.name]; t != nil {
			return &t.capability, nil
		}
	case m.method == methodGetPrompt, m.ref == refPrompt:
		if p := r.prompts[m.name]; p != nil {
			return &p.capability, nil
		}
	case m.ref == refResource:
		if one := r.declared(m.name); one != nil {
			return &one.capability, nil
		}
	case m.method != methodComplete:
		if t := r.resolve(m.name); t != nil {
			return &t.res.capability, t
		}
	}
	return nil, nil
}

func (x *exchange) logInternal(err error) {
	if fault.From(err).Kind == fault.Internal {
		x.h.cfg.Logger.Error("request failed", slog.String("request", x.requestID), slog.Any("error", err))
	}
}

// record keeps one invocation of a capability call or a list.
func (x *exchange) record(c *call, m *message, capability string, a answer, challenge *oauth.Challenge, took time.Duration) {
	switch m.method {
	case methodCallTool, methodListTools, methodGetPrompt, methodListPrompts, methodReadResource, methodListResources, methodListTemplates:
	default:
		return
	}
	inv := events.Invocation{
		Organization: c.endpoint.Organization, Surface: c.endpoint.Surface, Revision: c.endpoint.Revision, At: x.started,
		Method: m.method, Capability: capability, Mode: string(c.caller.Key.Mode), Client: c.caller.Key.Client,
		Protocol: c.protocol, ErrorKind: c.outcome.errorKind, Duration: took, Project: c.projectTime,
		ResultBytes: c.outcome.resultBytes, RequestID: x.requestID, Upstream: c.upstream, Actor: c.caller.Actor,
	}
	if inv.ResultBytes == 0 && challenge == nil {
		inv.ResultBytes = len(a.body)
	}
	inv.Outcome = outcomeOf(c, challenge)
	if inv.Outcome == events.OutcomeOK {
		inv.ErrorKind = ""
	}
	x.h.cfg.Recorder.Record(inv)
}

func outcomeOf(c *call, challenge *oauth.Challenge) events.Outcome {
	switch {
	case c.outcome.refused:
		return events.OutcomeRefused
	case challenge != nil:
		return events.OutcomeError
	case c.outcome.toolError:
		return events.OutcomeToolError
	case c.outcome.errorKind != "":
		return events.OutcomeError
	}
	return events.OutcomeOK
}

// timedWriter adds Server-Timing when the answer begins: by then it is known
// how long the project took.
type timedWriter struct {
	http.ResponseWriter
	x     *exchange
	begun bool
}

// WriteHeader implements http.ResponseWriter.
func (w *timedWriter) WriteHeader(status int) {
	if !w.begun {
		w.begun = true
		w.Header().Set("Server-Timing", w.x.timing())
		// Writers without deadlines (tests) are fine. A stream sets its own.
		_ = http.NewResponseController(w.ResponseWriter).SetWriteDeadline(time.Now().Add(maxWrite))
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *timedWriter) Write(b []byte) (int, error) {
	if !w.begun {
		w.WriteHeader(http.StatusOK)
	}
	return w.ResponseWriter.Write(b)
}

// Unwrap is for http.ResponseController.
func (w *timedWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// timing is the time spent here and the time waited for the project, in
// milliseconds.
func (x *exchange) timing() string {
	own := x.h.cfg.Now().Sub(x.started) - x.project
	return fmt.Sprintf("chumbo;dur=%.1f, project;dur=%.1f", milliseconds(own), milliseconds(x.project))
}

func milliseconds(d time.Duration) float64 {
	return max(0, float64(d)/float64(time.Millisecond))
}
