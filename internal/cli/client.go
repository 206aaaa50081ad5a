package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/chumbo-dev/chumbo/internal/fault"
)

const (
	requestTimeout = 60 * time.Second // a probe asks the project several things
	maxAnswer      = 16 << 20
)

// client speaks to the control API of one server.
type client struct {
	settings settings
	http     *http.Client
}

func (s *session) client() (*client, error) {
	set, err := s.settings()
	if err != nil {
		return nil, err
	}
	return newClient(set), nil
}

// newClient speaks to the server of the settings; without a token, for what
// needs none.
func newClient(set settings) *client {
	return &client{settings: set, http: &http.Client{
		Timeout: requestTimeout,
		// The token belongs to the address that was configured, and to no other.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// server is the server's address, as it is compared with a link file.
func (c *client) server() string { return c.settings.server.String() }

// problem is an RFC 9457 answer of the control API.
type problem struct {
	Status   int           `json:"status"`
	Title    string        `json:"title"`
	Detail   string        `json:"detail"`
	Code     string        `json:"code"`
	Issues   []fault.Issue `json:"issues"`
	TraceID  string        `json:"trace_id"`
	Findings []finding     `json:"findings"`
}

func (p *problem) Error() string {
	text := oneLine(first(p.Detail, p.Title))
	for _, i := range p.Issues {
		text += "\n" + oneLine(issueText(i))
	}
	if p.Status >= http.StatusInternalServerError && p.TraceID != "" {
		text += " (request " + p.TraceID + ")"
	}
	return text
}

func issueText(i fault.Issue) string {
	if i.Path == "" {
		return i.Message
	}
	return i.Path + ": " + i.Message
}

// do sends body as JSON (nil for none) to path under /api/v1 and reads the
// answer into into. A refusal is a *problem.
func (c *client) do(ctx context.Context, method, path string, body, into any) error {
	var reader io.Reader
	if body != nil {
		b, err := json.Marshal(body)
		if err != nil {
			return fmt.Errorf("write request: %w", err)
		}
		reader = bytes.NewReader(b)
	}
	return c.send(ctx, method, path, "application/json", reader, into)
}

func (c *client) send(ctx context.Context, method, path, contentType string, body io.Reader, into any) error {
	req, err := http.NewRequestWithContext(ctx, method, c.server()+"/api/v1"+path, body)
	if err != nil {
		return fmt.Errorf("write request: %w", err)
	}
	if token := c.settings.token.Reveal(); token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	req.Header.Set("Accept", "application/json")
	req.Header.Set("User-Agent", "chumbo-cli")
	if body != nil {
		req.Header.Set("Content-Type", contentType)
	}
	res, err := c.http.Do(req)
	if err != nil {
		return fmt.Errorf("%s does not answer: %w. Is the server running, and is CHUMBO_URL right?", c.server(), unwrapURL(err))
	}
	defer func() { _ = res.Body.Close() }()
	b, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.server(), err)
	}
	if !strings.Contains(res.Header.Get("Content-Type"), "json") {
		return fmt.Errorf("%s answered %d without JSON: CHUMBO_URL is not the address of a Chumbo server", c.server(), res.StatusCode)
	}
	if res.StatusCode >= http.StatusMultipleChoices {
		return problemOf(res.StatusCode, b)
	}
	if into == nil {
		return nil
	}
	if err := json.Unmarshal(b, into); err != nil {
		return fmt.Errorf("read the answer of %s: %w", c.server(), err)
	}
	return nil
}

func problemOf(status int, body []byte) error {
	p := &problem{}
	if err := json.Unmarshal(body, p); err != nil || p.Status == 0 {
		return fmt.Errorf("the server answered %d: CHUMBO_URL is not the address of a Chumbo server", status)
	}
	return p
}

// unwrapURL drops the method and URL that net/http puts before its errors.
func unwrapURL(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// hasCode reports whether err is a refusal with that code.
func hasCode(err error, code string) bool {
	var p *problem
	return errors.As(err, &p) && p.Code == code
}

// isStatus reports whether err is a refusal with that status.
func isStatus(err error, status int) bool {
	var p *problem
	return errors.As(err, &p) && p.Status == status
}

// publicError keeps the public text of an edge error made on this side.
func publicError(err error) error { return errors.New(fault.From(err).Message) }
