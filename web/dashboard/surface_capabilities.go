package dashboard

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"strings"

	"github.com/labstack/echo/v4"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
	"github.com/chumbo-dev/chumbo/web"
)

// findKept reads the file that is kept, the draft or else the live one, into
// file, and notes in head whether it is a draft. There may be none.
func (d *dashboard) findKept(c echo.Context, head *web.SurfaceHead, file *string) error {
	src, draft, err := d.Surfaces.File(c.Request().Context(), principal(c).Organization.ID, head.Surface.ID)
	if err != nil && !fault.Is(err, fault.NotFound) {
		return err
	}
	head.HasDraft = draft
	if file != nil {
		*file = string(src)
	}
	return nil
}

// sentFile is the file of the form. Browsers send line ends as CR LF.
func sentFile(c echo.Context) string {
	return strings.ReplaceAll(c.FormValue("file"), "\r\n", "\n")
}

// baseOf tells two versions of a file apart.
func baseOf(file string) string {
	sum := sha256.Sum256([]byte(file))
	return hex.EncodeToString(sum[:16])
}

func (d *dashboard) capabilities(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	page := web.SurfaceCapabilitiesPage{SurfaceHead: head, Saved: true}
	if err := d.findKept(c, &page.SurfaceHead, &page.File); err != nil {
		return err
	}
	page.Draft, page.Base = page.HasDraft, baseOf(page.File)
	if page.Preview, err = d.preview(c, head, page.File); err != nil {
		return err
	}
	return d.page(c, http.StatusOK, surfaceTitle(head, web.TabCapabilities), web.SurfaceCapabilities(page))
}

// editCapabilities is what the editor's buttons do: check the file, show one
// tool's schemas, keep the file as draft, and go on to the review.
func (d *dashboard) editCapabilities(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	page := web.SurfaceCapabilitiesPage{SurfaceHead: head, File: sentFile(c), Base: c.FormValue("base")}
	var kept string
	if err := d.findKept(c, &page.SurfaceHead, &kept); err != nil {
		return err
	}
	page.Saved, page.Draft = kept == page.File, page.HasDraft
	switch doing := c.FormValue("do"); doing {
	case "save", "review":
		err := d.keep(c, &page, kept)
		if err == nil && doing == "review" {
			return seeOther(c, head.Path("review"))
		}
		if err == nil {
			return done(c, head.Path("capabilities"), "saved")
		}
		text, status, ok := explained(err)
		if !ok {
			return err
		}
		page.Trouble = text
		return d.showEditor(c, status, page)
	}
	return d.showEditor(c, http.StatusOK, page)
}

// keep saves the draft, unless somebody else changed the file meanwhile: then
// saving once more takes the builder's own.
func (d *dashboard) keep(c echo.Context, page *web.SurfaceCapabilitiesPage, kept string) error {
	if page.Saved && kept != "" {
		return nil
	}
	if now := baseOf(kept); page.Base != now && page.MayWrite { // a viewer is told so below
		page.Base = now
		return fault.New(fault.Conflict, "draft_moved", "Not saved: the file has changed since you opened it, by somebody else or in another window. Open the page in a second window to see it. Saving again replaces it with what is below.")
	}
	_, _, err := d.Builders.SaveDraft(c.Request().Context(), principal(c), page.Project.Slug, page.Surface.Slug, []byte(page.File))
	return err
}

func (d *dashboard) showEditor(c echo.Context, status int, page web.SurfaceCapabilitiesPage) error {
	var err error
	if page.Preview, err = d.preview(c, page.SurfaceHead, page.File); err != nil {
		text, _, ok := explained(err)
		if !ok {
			return err
		}
		if page.Trouble == "" {
			page.Trouble = text
		}
	}
	page.Base = strings.Map(hexOnly, page.Base)
	return d.page(c, status, surfaceTitle(page.SurfaceHead, web.TabCapabilities), web.SurfaceCapabilities(page))
}

func hexOnly(r rune) rune {
	if r >= '0' && r <= '9' || r >= 'a' && r <= 'f' {
		return r
	}
	return -1
}

// previewCapabilities answers the right half of the editor alone.
func (d *dashboard) previewCapabilities(c echo.Context) error {
	head, err := d.surfaceHead(c)
	if err != nil {
		return err
	}
	preview, err := d.preview(c, head, sentFile(c))
	if err != nil {
		return err
	}
	return d.write(c, http.StatusOK, web.SurfacePreviewFragment(preview))
}

// preview compiles a file, keeps nothing, and lists its tools as clients get
// them.
func (d *dashboard) preview(c echo.Context, head web.SurfaceHead, file string) (web.SurfacePreview, error) {
	if strings.TrimSpace(file) == "" {
		return web.SurfacePreview{}, nil
	}
	if len(file) > surfaces.MaxFileBytes {
		return web.SurfacePreview{}, fault.New(fault.TooLarge, "file_too_large", "The surface file is %d bytes; at most %d (256 KiB).", len(file), surfaces.MaxFileBytes)
	}
	built, err := d.Surfaces.Check(c.Request().Context(), principal(c).Organization.ID, head.Project.ID, head.Surface.ID, []byte(file), d.Builders.Facts(head.Project))
	if err != nil {
		return web.SurfacePreview{}, err
	}
	preview := web.SurfacePreview{Problems: built.Problems, Lines: strings.Split(file, "\n"), Open: c.FormValue("open"), Checked: true}
	if built.Compiled == nil {
		return preview, nil
	}
	listed := d.Preview(built.Compiled)
	for i, raw := range listed.Tools {
		preview.Tools = append(preview.Tools, previewTool(&built.Compiled.Tools[i], raw))
	}
	for i, raw := range listed.Resources {
		preview.Resources = append(preview.Resources, previewResource(&built.Compiled.Resources[i], raw))
	}
	for i, raw := range listed.Prompts {
		preview.Prompts = append(preview.Prompts, previewPrompt(&built.Compiled.Prompts[i], raw))
	}
	return preview, nil
}

// previewTool reads a tool as clients read it; one that could not be served
// shows what was declared.
func previewTool(declared *surfaces.Tool, raw json.RawMessage) web.PreviewTool {
	t := web.PreviewTool{Weight: surfaces.Weight(declared), Asks: asks(declared)}
	if raw == nil || json.Unmarshal(raw, &t) != nil {
		t.Name, t.Title, t.Description, t.LeftOut = declared.Name, declared.Title, declared.Description, true
	}
	return t
}

// asks says what a person is asked before a tool runs, or by it: no list that
// clients get tells.
func asks(t *surfaces.Tool) string {
	switch {
	case len(t.Questions) > 0 && t.Confirm != "":
		return "asks a person questions, then to confirm"
	case len(t.Questions) > 0:
		return "asks a person questions"
	case t.Confirm != "":
		return "asks a person to confirm"
	case t.Function != nil && t.Function.Asks:
		return "may ask a person"
	}
	return ""
}

// previewResource is previewTool for a resource.
func previewResource(declared *surfaces.Resource, raw json.RawMessage) web.PreviewResource {
	var r web.PreviewResource
	if raw == nil || json.Unmarshal(raw, &r) != nil {
		r.URI, r.Name, r.Title, r.Description, r.LeftOut = declared.URI, declared.Name, declared.Title, declared.Description, true
	}
	return r
}

// previewPrompt is previewTool for a prompt.
func previewPrompt(declared *surfaces.Prompt, raw json.RawMessage) web.PreviewPrompt {
	var p web.PreviewPrompt
	if raw == nil || json.Unmarshal(raw, &p) != nil {
		p.Name, p.Title, p.Description, p.LeftOut = declared.Name, declared.Title, declared.Description, true
	}
	return p
}
