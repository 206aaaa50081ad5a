package bridge

import (
	"context"

	"github.com/chumbo-dev/chumbo/internal/id"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// NewVisit remembers a browser whose person signed in. The secret is the value
// of a cookie that counts for this project and nothing else.
func (s *Service) NewVisit(ctx context.Context, who *Person) (seal.Secret, error) {
	panic("not built")
}

// Visit tells who the browser with this cookie is at ep's project, or
// fault.Unauthenticated: unknown, expired, ended, of another project, or the
// session at the project has ended.
func (s *Service) Visit(ctx context.Context, ep *tenants.Endpoint, cookie seal.Secret) (*Person, error) {
	panic("not built")
}

// EndVisit forgets the browser.
func (s *Service) EndVisit(ctx context.Context, project id.Project, cookie seal.Secret) error {
	panic("not built")
}

// Recognize takes a visit for the sign-in, so that the person need not sign in
// again.
func (s *Service) Recognize(ctx context.Context, in *SignIn, who *Person) error { panic("not built") }
