package mcp

import (
	"context"
	"errors"
	"io"
	"mime"
	"path"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/chumbo-dev/chumbo/internal/egress"
	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// linkLife is how long a signed link works, for whoever has it.
const linkLife = 60 * time.Second

// fileContent is a file as it was read: its text, its bytes, or where it is too
// large for either a link. Exactly one of isText, blob and link says which.
type fileContent struct {
	uri    string // storage://bucket/path
	name   string
	media  string // without parameters; never empty
	size   int64  // -1 where Storage does not say
	isText bool
	text   string
	blob   []byte // never nil where it is what was read
	link   string // for linkLife
}

// linkText says what a link is, to whoever gets it.
func (f fileContent) linkText() string {
	size := ""
	if f.size >= 0 {
		size = " (" + strconv.FormatInt(f.size, 10) + " bytes)"
	}
	return "The file" + size + " is too large to be shown here. Its link works for " + strconv.Itoa(int(linkLife/time.Second)) + " seconds, for anyone who has it."
}

// readFile reads a file below the place as the caller. Text that takes no more
// than budget bytes on the wire is text, whatever else has at most inline bytes
// a blob, and anything larger a link. Of a file that becomes a link no more than
// that is read.
//
// Errors are *toolError, which may be shown, the context's, or our own failure.
func (t *asker) readFile(ctx context.Context, place surfaces.FilePlace, name string, inline, budget int) (fileContent, error) {
	whole, err := t.below(place, "path", name)
	if err != nil {
		return fileContent{}, err
	}
	f, err := t.openFile(ctx, place.Bucket, whole, inline, budget)
	if err != nil || f.isText || f.blob != nil {
		return f, err
	}
	f.link, err = attempt(ctx, t, func(s supabase.Session) (string, error) {
		link, trip, err := t.runner.services.SignFile(ctx, s, place.Bucket, whole, linkLife)
		t.noted(trip.Took, trip.Upstream)
		return link, err
	}, t.tokenOver)
	if err != nil {
		return fileContent{}, t.storageFailed(ctx, err, fileRead)
	}
	return f, nil
}

// openFile reads the file as far as its bounds allow. One that is too large comes
// without content.
func (t *asker) openFile(ctx context.Context, bucket, whole string, inline, budget int) (fileContent, error) {
	within, cancel := context.WithCancel(ctx)
	defer cancel()
	most := max(budget, inline, 1)
	open, err := attempt(within, t, func(s supabase.Session) (supabase.OpenFile, error) {
		f, err := t.runner.services.OpenFile(within, s, bucket, whole, int64(most))
		t.noted(f.Took, f.Upstream)
		return f, err
	}, t.tokenOver)
	if err != nil {
		return fileContent{}, t.storageFailed(ctx, err, fileRead)
	}
	defer func() { _ = open.Body.Close() }() // what was not read is not fetched
	f := fileContent{uri: fileURI(bucket, whole), name: path.Base(whole), media: open.ContentType, size: open.Size}
	if _, _, err := mime.ParseMediaType(f.media); err != nil || !strings.Contains(f.media, "/") {
		f.media = "application/octet-stream"
	}
	textual, unknown := isTextMedia(f.media), isUnknownMedia(f.media)
	limit := inline
	if textual || unknown {
		limit = most
	}
	if f.size > int64(limit) {
		return f, nil
	}
	began := time.Now()
	data, err := io.ReadAll(io.LimitReader(open.Body, int64(limit)+1))
	t.noted(time.Since(began), "")
	switch {
	case fault.Is(err, fault.TooLarge), errors.Is(err, egress.ErrTooLarge), err == nil && len(data) > limit:
		return f, nil
	case err != nil:
		return fileContent{}, t.storageFailed(ctx, err, fileRead)
	}
	f.size = int64(len(data))
	switch readable := isReadable(data); {
	case (textual || unknown) && readable && wireSize(string(data)) <= budget:
		f.isText, f.text = true, string(data)
	case textual && readable: // text as base64 is of no use to anybody
	case len(data) <= inline:
		f.blob = blobOf(data)
	}
	return f, nil
}

// isUnknownMedia reports whether the media type says nothing of the content.
func isUnknownMedia(media string) bool {
	return media == "application/octet-stream" || media == "binary/octet-stream"
}

// isReadable reports whether the bytes are text.
func isReadable(data []byte) bool {
	return utf8.Valid(data) && !strings.ContainsFunc(string(data), func(r rune) bool {
		return r < ' ' && r != '\t' && r != '\n' && r != '\r' && r != '\f'
	})
}

// file reads the file that the tool's argument names.
func (t *toolCall) file(ctx context.Context, plan *surfaces.ReadFilePlan) (*ready, error) {
	name := t.arguments.get("path")
	if !isString(name) {
		return nil, invalid("path", "is required")
	}
	f, err := t.readFile(ctx, plan.Place, stringOf(name), plan.Inline, t.budget())
	if err != nil {
		return nil, err
	}
	return t.fileResult(f), nil
}

// fileResult is a file as the tool's result: one block of content, and for a
// link a sentence before it. Guidance stands apart from what a file says.
func (t *toolCall) fileResult(f fileContent) *ready {
	var content []mcp.Content
	size := 0
	say := func(text string) {
		if text != "" {
			content = append(content, &mcp.TextContent{Text: text})
			size += wireSize(text)
		}
	}
	say(t.tool.Guidance.Before)
	switch {
	case f.isText:
		content = append(content, &mcp.TextContent{Text: f.text})
		size += wireSize(f.text)
	case f.blob != nil:
		block := mediaContent(f.media, f.blob)
		if block == nil {
			block = &mcp.EmbeddedResource{Resource: &mcp.ResourceContents{URI: f.uri, MIMEType: f.media, Blob: f.blob}}
		}
		content = append(content, block)
		size += len(f.blob)
	default:
		say(f.linkText())
		link := &mcp.ResourceLink{URI: f.link, Name: f.name, MIMEType: f.media}
		if f.size >= 0 {
			link.Size = &f.size
		}
		content = append(content, link)
		size += len(f.link)
	}
	say(t.tool.Guidance.After)
	return &ready{result: &mcp.CallToolResult{Content: t.forClient(content)}, size: size}
}
