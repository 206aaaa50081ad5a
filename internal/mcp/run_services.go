package mcp

import (
	"context"
	"time"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/supabase"
)

// services is the part of supabase.Client that reaches what a project has
// beside its Data API: Edge Functions and Storage.
type services interface {
	Invoke(ctx context.Context, s supabase.Session, q supabase.Invoke) (supabase.FunctionAnswer, error)
	ListFiles(ctx context.Context, s supabase.Session, q supabase.ListFiles) ([]supabase.File, supabase.Trip, error)
	OpenFile(ctx context.Context, s supabase.Session, bucket, path string, maxBytes int64) (supabase.OpenFile, error)
	SignFile(ctx context.Context, s supabase.Session, bucket, path string, life time.Duration) (string, supabase.Trip, error)
	UploadFile(ctx context.Context, s supabase.Session, q supabase.UploadFile) (supabase.Trip, error)
}

// attempt makes one request to the project as the caller of t. Where we keep the
// session at the project and refused says that its token was not accepted, the
// token is renewed and the request made once more: refused must be sure that
// nothing has been done.
func attempt[A any](ctx context.Context, t *asker, do func(supabase.Session) (A, error), refused func(token seal.Secret, err error) bool) (A, error) {
	var none A
	token, err := t.token(ctx)
	if err != nil {
		return none, err
	}
	a, err := do(t.as(token))
	if err == nil || t.call.caller.Session == nil || !refused(token, err) {
		return a, err
	}
	if token, err = t.renewed(ctx, token); err != nil {
		return none, err
	}
	return do(t.as(token))
}

// noted counts the time that the project took, and keeps its id of the request.
func (t *asker) noted(took time.Duration, upstream string) {
	t.call.projectTime += took
	if upstream != "" {
		t.call.upstream = upstream
	}
}
