package demo

import (
	"bytes"
	"context"
	"embed"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/examples/crm"
	"github.com/chumbo-dev/chumbo/internal/app"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/standin"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

//go:embed surfaces/*.yaml
var surfaceFiles embed.FS

// organizations are the stand-in's, by member.
var organizations = map[string]string{standin.AliceEmail: "Acme", standin.BobEmail: "Globex"}

const (
	projectSlug      = "crm"
	demoOrganization = "Demo builders"
	ownerEmail       = "owner@example.test"
	// ownerPassword is for the dashboard, on this machine only.
	ownerPassword = "a plumb line to trust"
)

// publish does what a builder does: bootstrap, register, import, publish, all
// through the control API.
func publish(ctx context.Context, server *app.Server, cfg app.Config, project *standin.Project, e *edge) (*ready, error) {
	_, _, token, err := server.Tenants.CreateOwner(ctx, ownerEmail, demoOrganization)
	if err != nil {
		return nil, err
	}
	if err := server.Tenants.SetPassword(ctx, ownerEmail, seal.NewSecret(ownerPassword)); err != nil {
		return nil, err
	}
	b := builder{base: cfg.PublicURL + "/api/v1", token: token}
	err = b.send(ctx, http.MethodPost, "/projects", map[string]string{
		"url": project.URL(), "publishable_key": project.PublishableKey(), "slug": projectSlug, "name": "Demo CRM",
	}, nil)
	if err != nil {
		return nil, err
	}
	snapshot, err := importSchema(ctx, project)
	if err != nil {
		return nil, err
	}
	if err := b.send(ctx, http.MethodPut, "/projects/"+projectSlug+"/schema", snapshot, nil); err != nil {
		return nil, err
	}
	urls := map[string]string{}
	for _, surface := range []string{"main", "conformance", "bridge", "desk", "assistant"} {
		if urls[surface], err = b.publish(ctx, surface); err != nil {
			return nil, err
		}
	}
	e.builder.Store(&b)
	r := &ready{
		ServerURL: cfg.PublicURL, DashboardURL: cfg.PublicURL + "/app", MCPURL: urls["main"], ConformanceURL: urls["conformance"], BridgeURL: urls["bridge"], DeskURL: urls["desk"], AssistantURL: urls["assistant"],
		ProjectURL: project.URL(), PublishableKey: project.PublishableKey(), APIToken: token.Reveal(), DatabaseURL: project.DSN(),
	}
	r.Owner = readyUser{Email: ownerEmail, Password: ownerPassword, Organization: demoOrganization}
	for _, u := range standin.CRMUsers() {
		r.Users = append(r.Users, readyUser{Email: u.Email, Password: u.Password, Organization: organizations[u.Email]})
	}
	return r, nil
}

func importSchema(ctx context.Context, project *standin.Project) (*surfaces.Snapshot, error) {
	conn, err := pgx.Connect(ctx, project.DSN())
	if err != nil {
		return nil, fmt.Errorf("connect to the stand-in's database: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	return surfaces.ImportPostgres(ctx, conn, surfaces.ImportOptions{})
}

// surfaceFile is the demo's own file of that name, or the example's.
func surfaceFile(name string) ([]byte, error) {
	if file, err := surfaceFiles.ReadFile("surfaces/" + name + ".yaml"); err == nil {
		return file, nil
	}
	return crm.SurfaceFile(name)
}

// builder talks to the control API as the CLI would.
type builder struct {
	base  string
	token seal.Secret
}

func (b *builder) publish(ctx context.Context, surface string) (url string, err error) {
	file, err := surfaceFile(surface)
	if err != nil {
		return "", err
	}
	return b.publishFile(ctx, surface, file)
}

func (b *builder) publishFile(ctx context.Context, surface string, file []byte) (url string, err error) {
	var answer struct {
		URLs []string `json:"urls"` // primary first
	}
	path := "/projects/" + projectSlug + "/surfaces/" + surface + "/publish"
	if err := b.send(ctx, http.MethodPost, path, map[string]string{"file": string(file)}, &answer); err != nil {
		return "", err
	}
	if len(answer.URLs) == 0 {
		return "", fmt.Errorf("publish %s: the answer names no URL", surface)
	}
	return answer.URLs[0], nil
}

func (b *builder) send(ctx context.Context, method, path string, body, answer any) error {
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	payload, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	req, err := http.NewRequestWithContext(ctx, method, b.base+path, bytes.NewReader(payload))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+b.token.Reveal())
	resp, err := (&http.Client{}).Do(req)
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	defer func() { _ = resp.Body.Close() }()
	text, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if resp.StatusCode >= http.StatusBadRequest {
		return fmt.Errorf("%s %s: %s: %s", method, path, resp.Status, text)
	}
	if answer == nil {
		return nil
	}
	if err := json.Unmarshal(text, answer); err != nil {
		return fmt.Errorf("%s %s: decode: %w", method, path, err)
	}
	return nil
}
