package standin

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
)

// apiRequest is a request as read from the wire, before the schema cache is
// asked anything. Maps are by embedded relation; "" is the top level.
type apiRequest struct {
	who                        caller
	schema, name, path, method string
	header                     http.Header
	cookies                    []*http.Cookie
	contentType                string
	body                       []byte

	items      []selectItem
	where      map[string][]condition
	order      map[string][]orderTerm
	window     map[string]window
	columns    []string // nil: not given
	onConflict []string
	arguments  []pair // of a GET call

	prefer preferences
	accept accept
}

type pair struct{ key, value string }

// window is a slice of a result; a negative limit is none.
type window struct{ offset, limit int }

// accept is the representation asked for.
type accept struct {
	singular   bool // exactly one object
	stripNulls bool
}

const maxBody = 16 << 20

func parseRequest(r *http.Request, isCall bool) (*apiRequest, error) {
	req := &apiRequest{
		method: r.Method, header: r.Header, cookies: r.Cookies(), contentType: r.Header.Get("Content-Type"),
		where: map[string][]condition{}, order: map[string][]orderTerm{}, window: map[string]window{},
	}
	var err error
	if req.accept, err = parseAccept(r.Header.Values("Accept")); err != nil {
		return nil, err
	}
	if req.prefer, err = parsePrefer(r.Header.Values("Prefer")); err != nil {
		return nil, err
	}
	if err := req.parseQuery(r.URL.RawQuery, isCall); err != nil {
		return nil, err
	}
	if r.Method == http.MethodGet {
		if err := req.applyRange(r.Header.Get("Range")); err != nil {
			return nil, err
		}
	}
	if req.body, err = io.ReadAll(io.LimitReader(r.Body, maxBody)); err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	return req, nil
}

// parseQuery reads the query string: percent-decoded before anything is
// parsed, so that only double quotes protect a reserved character.
func (q *apiRequest) parseQuery(raw string, isCall bool) error {
	var selected *string
	for _, p := range queryPairs(raw) {
		var err error
		switch p.key {
		case "select":
			if selected == nil {
				selected = &p.value
			}
		case "columns":
			q.columns, err = parseNames("columns parameter", p.value)
		case "on_conflict":
			q.onConflict, err = parseNames("on_conflict parameter", p.value)
		default:
			err = q.parsePair(p, isCall)
		}
		if err != nil {
			return err
		}
	}
	if selected == nil {
		selected = new(string)
	}
	var err error
	q.items, err = parseSelect(*selected)
	return err
}

func queryPairs(raw string) []pair {
	var pairs []pair
	for _, part := range strings.FieldsFunc(raw, func(r rune) bool { return r == '&' || r == ';' }) {
		key, value, found := strings.Cut(part, "=")
		if !found {
			continue // dropped without a word
		}
		pairs = append(pairs, pair{unescape(key), unescape(value)})
	}
	return pairs
}

func unescape(s string) string {
	if decoded, err := url.QueryUnescape(s); err == nil {
		return decoded
	}
	return s
}

// parsePair reads every parameter that may carry the path of an embedded
// relation: order, limit, offset, and, or, and filters.
func (q *apiRequest) parsePair(p pair, isCall bool) error {
	path, last := "", p.key
	if i := strings.LastIndexByte(p.key, '.'); i >= 0 {
		path, last = p.key[:i], p.key[i+1:]
	}
	switch last {
	case "order", "limit", "offset":
		at, err := embedPath(path)
		if err != nil {
			return err
		}
		return q.parseControl(last, at, p.value)
	case "and", "or":
		negate := path == "not" || strings.HasSuffix(path, ".not")
		at, err := embedPath(strings.TrimSuffix(strings.TrimSuffix(path, "not"), "."))
		if err != nil {
			return err
		}
		c, err := parseLogic(last, negate, p.value)
		if err != nil {
			return err
		}
		q.where[at] = append(q.where[at], c)
		return nil
	}
	return q.parseFilterPair(p, isCall)
}

func (q *apiRequest) parseControl(what, at, value string) error {
	if what == "order" {
		terms, err := parseOrder(value)
		q.order[at] = terms
		return err
	}
	n, isNumber := number(value)
	if !isNumber {
		return nil // "limit=abc" is ignored
	}
	if n < 0 {
		if what == "limit" {
			return outOfRange("Limit should be greater than or equal to zero.")
		}
		n = 0
	}
	w := q.windowAt(at)
	if what == "limit" {
		w.limit = n
	} else {
		w.offset = n
	}
	q.window[at] = w
	return nil
}

func number(s string) (n int, ok bool) {
	n, err := strconv.Atoi(s)
	return n, err == nil
}

func (q *apiRequest) windowAt(at string) window {
	if w, ok := q.window[at]; ok {
		return w
	}
	return window{limit: -1}
}

func (q *apiRequest) parseFilterPair(p pair, isCall bool) error {
	at, f, err := filterKey(p.key)
	var c condition
	if err == nil {
		c, err = parseFilter(f, p.value)
	}
	if err != nil {
		if isCall && q.method != http.MethodPost {
			q.arguments = append(q.arguments, pair{bareName(p.key), p.value})
			return nil
		}
		return err
	}
	q.where[at] = append(q.where[at], c)
	return nil
}

// filterKey splits a filter's key into the embedded relation and the field.
func filterKey(key string) (at string, f field, err error) {
	l := &lexer{in: key}
	f, ok := l.field()
	if !ok {
		return "", f, parseError("tree path", key, "unexpected "+firstOf(l.rest())+" expecting field name")
	}
	if l.done() {
		return "", f, nil
	}
	at = f.name
	if !l.take(".") || len(f.path) > 0 {
		return "", f, parseError("tree path", key, "unexpected "+firstOf(l.rest()))
	}
	if f, ok = l.field(); !ok {
		return "", f, parseError("tree path", key, "unexpected "+firstOf(l.rest())+" expecting field name")
	}
	if strings.HasPrefix(l.rest(), ".") {
		return "", f, notImplemented("embedding inside an embedded relation")
	}
	if !l.done() {
		return "", f, parseError("tree path", key, "unexpected "+firstOf(l.rest()))
	}
	return at, f, nil
}

// embedPath reads the path before ".order" and its like: nothing, or one name.
func embedPath(path string) (string, error) {
	if path == "" {
		return "", nil
	}
	l := &lexer{in: path}
	name, ok := l.identifier()
	if ok && strings.HasPrefix(l.rest(), ".") {
		return "", notImplemented("embedding inside an embedded relation")
	}
	if !ok || !l.done() {
		return "", parseError("tree path", path, "unexpected "+firstOf(l.rest()))
	}
	return name, nil
}

func bareName(key string) string {
	l := &lexer{in: key}
	if name, ok := l.identifier(); ok && l.done() {
		return name
	}
	return key
}

var rangeForm = regexp.MustCompile(`^([0-9]+)-([0-9]*)$`)

// applyRange intersects the Range header with limit and offset.
func (q *apiRequest) applyRange(header string) error {
	m := rangeForm.FindStringSubmatch(strings.TrimPrefix(header, "items="))
	if m == nil {
		return nil
	}
	from, isNumber := number(m[1])
	if !isNumber {
		return nil // longer than any number
	}
	w := q.windowAt("")
	end := -1 // of the query's window, exclusive
	if w.limit >= 0 {
		end = w.offset + w.limit
	}
	if to, isNumber := number(m[2]); isNumber {
		if to < from {
			return outOfRange("The lower boundary must be lower than or equal to the upper boundary in the Range header.")
		}
		if end < 0 || to+1 < end {
			end = to + 1
		}
	}
	w.offset = max(w.offset, from)
	if end >= 0 {
		w.limit = max(0, end-w.offset)
	}
	q.window[""] = w
	return nil
}

func outOfRange(details string) *apiError {
	return &apiError{status: http.StatusRequestedRangeNotSatisfiable, Code: "PGRST103", Message: "Requested range not satisfiable", Details: details}
}

func parseAccept(headers []string) (accept, error) {
	entries := strings.Split(strings.Join(headers, ","), ",")
	for _, entry := range entries {
		media, parameters, _ := strings.Cut(strings.ToLower(entry), ";")
		strip := strings.Contains(strings.ReplaceAll(parameters, " ", ""), "nulls=stripped")
		switch strings.TrimSpace(media) {
		case "", "*/*", "application/*", "application/json":
			return accept{}, nil
		case "application/vnd.pgrst.array+json", "application/vnd.pgrst.array":
			return accept{stripNulls: strip}, nil
		case "application/vnd.pgrst.object+json", "application/vnd.pgrst.object":
			return accept{singular: true, stripNulls: strip}, nil
		case "text/csv", "application/geo+json", "application/openapi+json":
			return accept{}, notImplemented("answers of type " + media)
		}
	}
	return accept{}, &apiError{
		status: http.StatusNotAcceptable, Code: "PGRST107",
		Message: "None of these media types are available: " + strings.Join(headers, ", "),
	}
}

func (a accept) contentType() string {
	switch {
	case a.singular && a.stripNulls:
		return "application/vnd.pgrst.object+json; nulls=stripped; charset=utf-8"
	case a.singular:
		return "application/vnd.pgrst.object+json; charset=utf-8"
	case a.stripNulls:
		return "application/vnd.pgrst.array+json; nulls=stripped; charset=utf-8"
	}
	return jsonType
}
