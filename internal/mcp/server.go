package mcp

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strconv"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"golang.org/x/sync/singleflight"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// buildTimeout bounds loading and building a revision, whoever still waits.
const buildTimeout = 10 * time.Second

// revisionKey names a revision of a surface. What it names never changes.
type revisionKey struct {
	surface id.Surface
	number  int
	digest  string
}

// revision is a live revision made ready to serve: the SDK server and the
// validators. Immutable, and the same for every caller.
type revision struct {
	server *mcp.Server
	rules  *rules
	run    runner
	asking *asking
	lists  lists // digests of what is listed
	log    *slog.Logger
	tools  map[string]*tool
	order  []*tool // as declared
	bytes  int     // estimate of the memory held

	prompts     map[string]*prompt
	promptOrder []*prompt // as declared
	resources   []*resource
	plain       map[string]*resource // of those without variables, by URI
	completes   bool                 // anything suggests values
}

// tool is a declared tool, ready to serve.
type tool struct {
	capability

	spec  *surfaces.Tool
	input *jsonschema.Schema

	questions *questions // what a person is asked before; nil for nothing

	exact map[string]spelling // arguments that rules see in one spelling
	whole map[string]spelling // arguments that are integers

	headers []paramHeader // arguments that headers repeat

	modern *mcp.Tool // 2025-11-25 and later
	legacy *mcp.Tool // before: no $schema
}

// wire is the tool as clients of the version see it.
func (t *tool) wire(version string) *mcp.Tool {
	if version < version20251125 {
		return t.legacy
	}
	return t.modern
}

// revisions builds revisions on first use and keeps them within a bound of
// bytes.
type revisions struct {
	directory Directory
	run       runner
	asking    *asking
	log       *slog.Logger
	version   string
	cache     *revisionCache
	building  singleflight.Group
}

func newRevisions(cfg Config, run runner) (*revisions, error) {
	bound := cfg.CacheBytes
	if bound == 0 {
		bound = DefaultCacheBytes
	}
	cache, err := newRevisionCache(bound)
	if err != nil {
		return nil, fmt.Errorf("make revision cache: %w", err)
	}
	return &revisions{directory: cfg.Directory, run: run, asking: newAsking(cfg), log: cfg.Logger, version: cfg.Version, cache: cache}, nil
}

// of returns the endpoint's live revision. Requests that miss at the same time
// share one build; a request that gives up does not stop it.
func (s *revisions) of(ctx context.Context, ep *tenants.Endpoint) (*revision, error) {
	key := revisionKey{ep.Surface, ep.Revision, ep.Digest}
	if r, ok := s.cache.get(key); ok {
		return r, nil
	}
	flight := s.building.DoChan(fmt.Sprintf("%s %d %s", key.surface, key.number, key.digest), func() (any, error) {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), buildTimeout)
		defer cancel()
		return s.load(ctx, key, ep)
	})
	select {
	case <-ctx.Done():
		return nil, fault.Wrap(ctx.Err(), fault.Unavailable, "", "The request ended before the surface was ready.")
	case done := <-flight:
		if done.Err != nil {
			return nil, done.Err
		}
		r, _ := done.Val.(*revision)
		return r, nil
	}
}

// load runs on a goroutine of its own, where a panic over one surface would end
// the process.
func (s *revisions) load(ctx context.Context, key revisionKey, ep *tenants.Endpoint) (r *revision, err error) {
	defer func() {
		if p := recover(); p != nil {
			r, err = nil, fmt.Errorf("build revision %d of %s: panic (%T)", key.number, key.surface, p)
		}
	}()
	compiled, err := s.directory.Compiled(ctx, ep)
	if err != nil {
		return nil, fmt.Errorf("load revision: %w", err)
	}
	r = s.build(compiled, ep.Surface)
	s.cache.put(key, r)
	return r, nil
}

// build makes the SDK server of a compiled revision. A capability that cannot
// be built is left out and logged; the others serve. Where what the surface
// says of all of them cannot be built, none serves.
func (s *revisions) build(compiled *surfaces.Compiled, surface id.Surface) *revision {
	compiler := ruleCompiler{}
	all, broken := compiler.rulesOf(compiled)
	r := newRevision(compiled, all)
	r.run, r.asking, r.log = s.run, s.asking, s.log
	options := &mcp.ServerOptions{
		Instructions:              compiled.Instructions,
		Logger:                    sdkLogger(s.log),
		Capabilities:              declaredKinds(compiled),
		SetCacheable:              setPrivate,
		SupportedProtocolVersions: versions(),
	}
	if r.completes {
		options.CompletionHandler = r.complete
	}
	r.server = mcp.NewServer(
		&mcp.Implementation{Name: "chumbo", Title: compiled.Title, Version: s.version}, options)
	leftOut := func(kind capabilityKind, name string, err error) {
		s.log.Error(kind.String()+" left out", slog.String("surface", surface.String()), slog.String(kind.String(), name), slog.Any("error", err))
	}
	for i := range compiled.Tools {
		spec := &compiled.Tools[i]
		t, err := (*tool)(nil), broken
		if err == nil {
			t, err = built(aTool, func() (*tool, error) { return r.addTool(compiler, spec) })
		}
		if err != nil {
			leftOut(aTool, spec.Name, err)
			continue
		}
		r.tools[spec.Name] = t
		r.order = append(r.order, t)
		r.bytes += toolBytes(spec) + t.questions.bytes()
	}
	for i := range compiled.Resources {
		spec := &compiled.Resources[i]
		one, err := (*resource)(nil), broken
		if err == nil {
			one, err = built(aResource, func() (*resource, error) { return r.addResource(compiler, spec) })
		}
		if err != nil {
			leftOut(aResource, spec.Name, err)
			continue
		}
		r.keepResource(one)
		r.bytes += resourceBytes(spec)
	}
	for i := range compiled.Prompts {
		spec := &compiled.Prompts[i]
		p, err := (*prompt)(nil), broken
		if err == nil {
			p, err = built(aPrompt, func() (*prompt, error) { return r.addPrompt(compiler, spec) })
		}
		if err != nil {
			leftOut(aPrompt, spec.Name, err)
			continue
		}
		r.prompts[spec.Name] = p
		r.promptOrder = append(r.promptOrder, p)
		r.bytes += promptBytes(spec)
	}
	r.bytes += compiler.bytes()
	// The first one is the outermost.
	r.server.AddReceivingMiddleware(guard(s.log), decides(r), asks(r), dispatches)
	return r
}

// newRevision is a revision that serves nothing yet.
func newRevision(compiled *surfaces.Compiled, all *rules) *revision {
	return &revision{
		rules: all, lists: listsOf(compiled), completes: completes(compiled), tools: make(map[string]*tool, len(compiled.Tools)), prompts: make(map[string]*prompt, len(compiled.Prompts)),
		plain: make(map[string]*resource, len(compiled.Resources)), bytes: baseBytes + len(compiled.Instructions),
	}
}

// declaredKinds are the capabilities told to clients: of the kinds that the
// revision has, whoever may use them.
func declaredKinds(compiled *surfaces.Compiled) *mcp.ServerCapabilities {
	kinds := &mcp.ServerCapabilities{}
	if len(compiled.Tools) > 0 {
		kinds.Tools = &mcp.ToolCapabilities{ListChanged: true}
	}
	if slices.ContainsFunc(compiled.Tools, func(t surfaces.Tool) bool { return t.Function != nil && t.Function.Stream }) {
		kinds.Logging = &mcp.LoggingCapabilities{} //nolint:staticcheck // for versions that have it
	}
	if len(compiled.Resources) > 0 {
		kinds.Resources = &mcp.ResourceCapabilities{ListChanged: true}
	}
	if len(compiled.Prompts) > 0 {
		kinds.Prompts = &mcp.PromptCapabilities{ListChanged: true}
	}
	return kinds
}

// addTool registers one tool.
func (r *revision) addTool(compiler ruleCompiler, spec *surfaces.Tool) (*tool, error) {
	schema, err := compileSchema(spec.Input)
	if err != nil {
		return nil, err
	}
	t := &tool{capability: toolCapability(spec), spec: spec, input: schema, exact: exactArguments(spec), whole: wholeArguments(spec), headers: paramHeaders(spec.Input), modern: wireTool(spec)}
	t.legacy = legacyTool(spec, t.modern)
	if t.questions, err = questionsOf(spec); err != nil {
		return nil, err
	}
	if err := compiler.toolRules(t, r.rules); err != nil {
		return nil, err
	}
	r.server.AddTool(t.modern, r.handler(t))
	return t, nil
}

// handler runs a declared tool for the caller of the request, when policy has
// nothing against the arguments.
func (r *revision) handler(t *tool) mcp.ToolHandler {
	return func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		c := callOf(ctx)
		if c == nil {
			return nil, fault.New(fault.Internal, "", "The call has no caller.")
		}
		given := []byte(req.Params.Arguments)
		arguments := given
		if len(arguments) == 0 || string(arguments) == "null" {
			arguments = []byte("{}")
		}
		arguments, err := t.fitting(arguments)
		if err != nil {
			e := fault.From(err)
			if e.Kind != fault.Invalid {
				return nil, err
			}
			c.outcome.errorKind = e.Kind.String()
			return (&toolError{kind: e.Kind.String(), detail: e.Message, issues: e.Issues}).result(c.requestID), nil
		}
		arguments, spelt, told := t.spelled(arguments)
		if told != nil {
			c.outcome.errorKind = told.kind
			return told.result(c.requestID), nil
		}
		told, err = r.permits(ctx, c, &t.capability, spelt)
		if told == nil && err == nil {
			told, err = r.needSet(ctx, c, t.spec)
		}
		switch {
		case err != nil:
			return nil, err
		case told != nil:
			return c.refused(told), nil
		}
		return r.withAsking(ctx, c, t, given, arguments)
	}
}

// spelled writes valid arguments as the tool gets them, and as rules see them.
// What the model is told is of a value that cannot be written so.
func (t *tool) spelled(arguments []byte) (whole, spelt []byte, told *toolError) {
	whole, unread := canonical(arguments, t.whole)
	spelt = whole
	if unread == "" {
		spelt, unread = canonical(whole, t.exact)
	}
	if unread != "" {
		return nil, nil, invalid(unread, "holds a value that cannot be read: write numbers plainly, with at most "+strconv.Itoa(maxDigits)+" digits")
	}
	return whole, spelt, nil
}

func wireTool(spec *surfaces.Tool) *mcp.Tool {
	t := &mcp.Tool{
		Name: spec.Name, Title: spec.Title, Description: spec.Description, InputSchema: spec.Input,
		Annotations: &mcp.ToolAnnotations{
			Title: spec.Title, ReadOnlyHint: spec.Annotations.ReadOnly, DestructiveHint: &spec.Annotations.Destructive,
			IdempotentHint: spec.Annotations.Idempotent, OpenWorldHint: &spec.Annotations.OpenWorld,
		},
	}
	if len(spec.Output) > 0 {
		t.OutputSchema = spec.Output
	}
	return t
}

// legacyTool is the tool for versions before 2025-11-25. Their clients may not
// read a schema as its author wrote it, so they see none; the arguments are
// checked all the same.
func legacyTool(spec *surfaces.Tool, modern *mcp.Tool) *mcp.Tool {
	t := withoutDialect(modern)
	if spec.Function != nil && spec.Function.Authored {
		t.InputSchema = json.RawMessage(`{"type":"object"}`)
	}
	return t
}

// withoutDialect is the tool for versions before 2025-11-25, whose clients
// refuse a $schema they do not know.
func withoutDialect(t *mcp.Tool) *mcp.Tool {
	lowered := *t
	lowered.InputSchema = dropDialect(t.InputSchema)
	lowered.OutputSchema = dropDialect(t.OutputSchema)
	return &lowered
}

func dropDialect(schema any) any {
	raw, ok := schema.(json.RawMessage)
	if !ok || !bytes.Contains(raw, []byte(`"$schema"`)) {
		return schema
	}
	for _, field := range members(raw, 0) {
		if field.key != "$schema" {
			continue
		}
		// Cut from the key to the end of its value, and one comma.
		start := bytes.LastIndexByte(raw[:field.start], '"')
		start = bytes.LastIndexByte(raw[:start], '"')
		rest := bytes.TrimLeft(raw[field.end:], " \t\r\n")
		if after, cut := bytes.CutPrefix(rest, []byte(",")); cut {
			return splice(raw, start, len(raw)-len(after))
		}
		before := bytes.TrimSuffix(bytes.TrimRight(raw[:start], " \t\r\n"), []byte(","))
		return splice(raw, len(before), len(raw)-len(rest))
	}
	return schema
}

func splice(data []byte, start, end int) json.RawMessage {
	out := make([]byte, 0, len(data)-(end-start))
	out = append(out, data[:start]...)
	return append(out, data[end:]...)
}

// Estimates of the memory an entry holds, measured with this SDK and this
// validator and kept on the large side (see TestCacheWeighsHonestly).
const (
	baseBytes      = 8 << 10
	perTool        = 4 << 10
	perSchemaBytes = 18
)

func toolBytes(spec *surfaces.Tool) int {
	return perTool + perSchemaBytes*len(spec.Input) + 2*len(spec.Output) + len(spec.Description) + len(spec.Template) + 8*len(spec.Meta)
}

// resourceBytes counts what is shared with the compiled form, too: that is kept
// because of the revision.
func resourceBytes(spec *surfaces.Resource) int {
	n := perTool + 4*len(spec.URI) + len(spec.Description) + len(spec.Blob) + 8*len(spec.Meta)
	if spec.Text != nil {
		n += len(*spec.Text)
	}
	for _, v := range spec.Variables {
		n += completionBytes(v.Complete)
	}
	return n
}

func promptBytes(spec *surfaces.Prompt) int {
	n := perTool + len(spec.Description) + 8*len(spec.Meta)
	for _, a := range spec.Arguments {
		n += perTool + perSchemaBytes*len(a.Schema) + len(a.Description) + completionBytes(a.Complete)
	}
	for _, m := range spec.Messages {
		n += 256 + 2*len(m.Text) + 2*len(m.Resource)
		if m.Image != nil {
			n += len(m.Image.Data)
		}
	}
	return n
}

func completionBytes(from *surfaces.Completion) int {
	n := 0
	if from != nil {
		for _, v := range from.Values {
			n += 16 + len(v)
		}
	}
	return n
}

// sdkLogger lets the SDK report its own trouble only. It logs several lines
// per request below Warn, and what clients do wrong as Error.
func sdkLogger(log *slog.Logger) *slog.Logger {
	return slog.New(sdkLogHandler{log.Handler()})
}

type sdkLogHandler struct{ slog.Handler }

// Enabled implements slog.Handler.
func (h sdkLogHandler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && h.Handler.Enabled(ctx, level)
}

// WithAttrs implements slog.Handler: attributes are dropped.
func (h sdkLogHandler) WithAttrs([]slog.Attr) slog.Handler { return h }

// WithGroup implements slog.Handler.
func (h sdkLogHandler) WithGroup(string) slog.Handler { return h }

// Handle implements slog.Handler.
func (h sdkLogHandler) Handle(ctx context.Context, record slog.Record) error {
	switch record.Message {
	case "method removed in the new protocol", "method invalid during initialization", "duplicate initialize request":
		return nil // mistakes of clients
	}
	// The SDK's texts and attributes may quote what a client sent.
	clean := slog.NewRecord(record.Time, record.Level, "sdk trouble", record.PC)
	return h.Handler.Handle(ctx, clean)
}
