package tenants

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"image"
	_ "image/gif"  // a format a logo may come in
	_ "image/jpeg" // another
	"image/png"

	"github.com/jackc/pgx/v5"
	"golang.org/x/image/draw"
	_ "golang.org/x/image/webp" // and another

	"github.com/chumbo-dev/chumbo/internal/db"
	"github.com/chumbo-dev/chumbo/internal/fault"
)

// Limits of a logo: of what is sent, and of what is kept.
const (
	MaxLogoBytes = 1 << 20
	maxLogoSide  = 2048 // pixels, of what is sent
	logoSide     = 256  // pixels, of what is kept
)

// LogoPrefix is the path under which logos are served, on every host.
const LogoPrefix = "/static/logo/"

// LogoPath is where the project's logo is served; empty for none.
func (p Project) LogoPath() string { return logoPath(p.Logo) }

// LogoPath is where the project's logo is served; empty for none.
func (p ProjectRef) LogoPath() string { return logoPath(p.Logo) }

func logoPath(digest string) string {
	if digest == "" {
		return ""
	}
	return LogoPrefix + digest + ".png"
}

// logoTurns bounds the memory that decoding takes: 16 MiB each.
var logoTurns = make(chan struct{}, 2)

// SetLogo keeps a picture as the project's logo. Whatever was sent, a PNG of
// at most 256 pixels a side that we encoded ourselves is kept: nothing that a
// browser could take for more than pixels. An SVG, anything else that is no
// PNG, JPEG, GIF or WebP, and a picture too large are fault.Invalid.
func (s *Service) SetLogo(ctx context.Context, p Principal, project string, picture []byte) (Project, error) {
	var kept []byte
	var unfit error
	if p.MayWrite() == nil { // before the transaction: whoever waits for a turn holds no connection
		kept, unfit = encodeLogo(ctx, picture)
	}
	return s.changeLogo(ctx, p, project, "project.logo", func(q *db.Queries, before Project) ([]byte, error) {
		if unfit != nil {
			return nil, unfit
		}
		digest := sha256.Sum256(kept)
		err := q.PutProjectLogo(ctx, db.PutProjectLogoParams{
			OrganizationID: p.Organization.ID, ProjectID: before.ID, Digest: digest[:], Png: kept, Now: s.now(),
		})
		if err != nil {
			return nil, fmt.Errorf("put logo: %w", err)
		}
		return digest[:], nil
	})
}

// RemoveLogo takes the project's logo away.
func (s *Service) RemoveLogo(ctx context.Context, p Principal, project string) (Project, error) {
	return s.changeLogo(ctx, p, project, "project.logo_remove", func(q *db.Queries, before Project) ([]byte, error) {
		err := q.DeleteProjectLogo(ctx, db.DeleteProjectLogoParams{OrganizationID: p.Organization.ID, ProjectID: before.ID})
		if err != nil {
			return nil, fmt.Errorf("delete logo: %w", err)
		}
		return nil, nil
	})
}

func (s *Service) changeLogo(ctx context.Context, p Principal, project, action string, fn func(*db.Queries, Project) (digest []byte, err error)) (Project, error) {
	var after Project
	a := &act{action: action, target: typedName(project)}
	err := s.change(ctx, p, a, func(q *db.Queries) error {
		before, err := loadProject(ctx, q, p, project)
		if err != nil {
			return err
		}
		a.target = before.ID.String()
		digest, err := fn(q, before)
		if err != nil {
			return err
		}
		a.detail = map[string]any{"before": before.Logo, "after": hex.EncodeToString(digest)}
		err = q.SetProjectLogoDigest(ctx, db.SetProjectLogoDigestParams{OrganizationID: p.Organization.ID, ID: before.ID, Digest: digest, Now: s.now()})
		if err != nil {
			return fmt.Errorf("set logo: %w", err)
		}
		after, err = loadProject(ctx, q, p, project)
		return err
	})
	return after, err
}

// Logo is the PNG of a digest in hex, or fault.NotFound. Anybody may ask:
// logos are on public pages.
func (s *Service) Logo(ctx context.Context, digest string) ([]byte, error) {
	none := fault.New(fault.NotFound, "no_logo", "There is no such picture.")
	sum, err := hex.DecodeString(digest)
	if err != nil || len(sum) != sha256.Size {
		return nil, none
	}
	var picture []byte
	err = s.store.AsSystem(ctx, func(q *db.Queries, _ pgx.Tx) error {
		var err error
		picture, err = q.ProjectLogoByDigest(ctx, sum)
		return err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, none
	}
	if err != nil {
		return nil, fmt.Errorf("load logo: %w", err)
	}
	return picture, nil
}

// encodeLogo decodes what was sent, within bounds, and encodes it anew.
func encodeLogo(ctx context.Context, picture []byte) ([]byte, error) {
	if len(picture) > MaxLogoBytes {
		return nil, fault.New(fault.TooLarge, "logo_too_large", "The picture is over 1 MiB. Send a smaller one; 256 by 256 pixels are enough.")
	}
	bounds, _, err := image.DecodeConfig(bytes.NewReader(picture))
	if err != nil {
		return nil, noPicture(err)
	}
	if bounds.Width < 1 || bounds.Height < 1 || bounds.Width > maxLogoSide || bounds.Height > maxLogoSide {
		return nil, fault.New(fault.Invalid, "logo_dimensions", "The picture is %d by %d pixels; at most %d a side. 256 by 256 are enough.", bounds.Width, bounds.Height, maxLogoSide)
	}
	select {
	case logoTurns <- struct{}{}:
		defer func() { <-logoTurns }()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait to decode a logo: %w", ctx.Err())
	}
	sent, _, err := image.Decode(bytes.NewReader(picture))
	if err != nil {
		return nil, noPicture(err)
	}
	var out bytes.Buffer
	if err := png.Encode(&out, shrunk(sent)); err != nil {
		return nil, fmt.Errorf("encode logo: %w", err)
	}
	return out.Bytes(), nil
}

func noPicture(cause error) error {
	return fault.Wrap(cause, fault.Invalid, "logo_format", "This is no PNG, JPEG, GIF or WebP picture. An SVG cannot be used: export it as a PNG.")
}

// shrunk fits a picture into the logo's side; a smaller one keeps its size.
func shrunk(sent image.Image) image.Image {
	w, h := sent.Bounds().Dx(), sent.Bounds().Dy()
	if longest := max(w, h); longest > logoSide {
		w, h = max(1, w*logoSide/longest), max(1, h*logoSide/longest)
	}
	kept := image.NewNRGBA(image.Rect(0, 0, w, h))
	draw.CatmullRom.Scale(kept, kept.Bounds(), sent, sent.Bounds(), draw.Src, nil)
	return kept
}
