package surfaces

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/id"
)

// siblings are the other live surfaces of the project.
func siblings(ctx context.Context, q *db.Queries, org id.Organization, project id.Project, surface id.Surface) ([]Sibling, error) {
	rows, err := q.ListSiblings(ctx, db.ListSiblingsParams{OrganizationID: org, ProjectID: project, SurfaceID: surface})
	if err != nil {
		return nil, fmt.Errorf("list surfaces beside: %w", err)
	}
	list := make([]Sibling, len(rows))
	for i, row := range rows {
		list[i].Slug = row.Slug
		if err := json.Unmarshal(row.Access, &list[i].Access); err != nil {
			return nil, fmt.Errorf("read access: %w", err)
		}
	}
	return list, nil
}

// hostedSignIn reports whether the bridge signs people in on Chumbo's own page:
// where the project says so, or leaves it open and has no OAuth server.
func hostedSignIn(ctx context.Context, q *db.Queries, org id.Organization, project id.Project, facts ProjectFacts) (bool, error) {
	row, err := q.GetSignInSettings(ctx, db.GetSignInSettingsParams{OrganizationID: org, ProjectID: project})
	if errors.Is(err, pgx.ErrNoRows) {
		return facts.OAuthOff, nil
	}
	if err != nil {
		return false, fmt.Errorf("load sign-in settings: %w", err)
	}
	return row.Method == "hosted" || row.Method == "auto" && facts.OAuthOff, nil
}

// lintSiblings warns where a direct surface asks for something that another one
// of the project does not: a client's token is good at both.
func (c *compiler) lintSiblings() {
	own := c.out.Access
	if own.Authorization != AuthorizationDirect {
		return
	}
	for _, s := range c.facts.Siblings {
		other := s.Access
		if other.Authorization != AuthorizationDirect || own.Isolation == IsolationClient && other.Isolation == IsolationClient {
			continue
		}
		if differ := differences(own, other); len(differ) > 0 {
			c.warnf(c.file.Access.authorization, "the surface %s of this project is direct too and differs in %s, and a client's token is good at both: what one surface asks for holds nobody back at the other. authorization: bridge is recommended, where each token is for one surface (or isolation: client at both)",
				s.Slug, strings.Join(differ, ", "))
		}
	}
}

// differences are the keys in which two surfaces ask different things of
// callers; the order of what they list does not count.
func differences(a, b Access) []string {
	same := func(x, y []string) bool { return len(without(x, y)) == 0 && len(without(y, x)) == 0 }
	var differ []string
	if !same(a.Require, b.Require) {
		differ = append(differ, "require")
	}
	if x, y := a.RequiredRoles, b.RequiredRoles; (x == nil) != (y == nil) || x != nil && (!slices.Equal(x.Claim, y.Claim) || !same(x.Roles, y.Roles)) {
		differ = append(differ, "required_roles")
	}
	if a.AAL != b.AAL {
		differ = append(differ, "aal")
	}
	if !same(admitted(a), admitted(b)) {
		differ = append(differ, "roles")
	}
	return differ
}
