package mcp

import (
	"context"
	"encoding/base64"
	"mime"
	"strconv"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// upload writes the file that the tool's arguments give.
func (t *toolCall) upload(ctx context.Context, plan *surfaces.UploadFilePlan) (*ready, error) {
	q, err := t.uploadOf(plan)
	if err != nil {
		return nil, err
	}
	_, err = attempt(ctx, &t.asker, func(s supabase.Session) (supabase.Trip, error) {
		trip, err := t.runner.services.UploadFile(ctx, s, q)
		t.noted(trip.Took, trip.Upstream)
		return trip, err
	}, t.tokenOver)
	if err != nil {
		return nil, t.storageFailed(ctx, err, fileUpload)
	}
	given := stringOf(t.arguments.get("path"))
	structured := appendString([]byte(`{"path":`), given)
	structured = strconv.AppendInt(append(structured, `,"size":`...), int64(len(q.Body)), 10)
	structured = append(appendString(append(structured, `,"content_type":`...), q.ContentType), '}')
	p, err := t.finish(structured, func(dst []byte) []byte {
		dst = append(dst, "Uploaded "...)
		dst = append(dst, oneLine(given)...)
		dst = strconv.AppendInt(append(dst, ", "...), int64(len(q.Body)), 10)
		return append(dst, " bytes."...)
	}, nil)
	if err != nil { // the file is there, whatever its template makes of it
		p = &page{text: "Uploaded.", structured: structured}
	}
	return t.ready(p), nil
}

// uploadOf reads the file that is to be written from the arguments.
func (t *toolCall) uploadOf(plan *surfaces.UploadFilePlan) (supabase.UploadFile, error) {
	none := supabase.UploadFile{}
	name := t.arguments.get("path")
	if !isString(name) {
		return none, invalid("path", "is required")
	}
	whole, err := t.below(plan.Place, "path", stringOf(name))
	if err != nil {
		return none, err
	}
	content, plain, err := t.uploadContent()
	if err != nil {
		return none, err
	}
	if len(content) > plan.MaxBytes {
		told := invalid("", "")
		told.kind, told.issues = fault.TooLarge.String(), nil
		told.detail = "Nothing was written: the file has " + strconv.Itoa(len(content)) + " bytes, and this tool takes at most " + strconv.Itoa(plan.MaxBytes) + ". Upload a smaller one."
		return none, told
	}
	media, err := t.uploadType(plan, plain)
	if err != nil {
		return none, err
	}
	return supabase.UploadFile{Bucket: plan.Place.Bucket, Path: whole, ContentType: media, Body: content, Overwrite: plan.Overwrite}, nil
}

// uploadContent is what is to be written, and whether it was given as text.
func (t *toolCall) uploadContent() (content []byte, plain bool, err error) {
	text, encoded := t.arguments.get("text"), t.arguments.get("base64")
	switch {
	case isString(text) && encoded == nil:
		return []byte(stringOf(text)), true, nil
	case isString(encoded) && text == nil:
		said := stringOf(encoded)
		content, err := base64.StdEncoding.Strict().DecodeString(said)
		if err != nil || strings.ContainsAny(said, "\r\n") {
			return nil, false, invalid("base64", "is not base64 (RFC 4648 section 4, with padding, on one line)")
		}
		return content, false, nil
	}
	return nil, false, invalid("", "give the content in exactly one of text and base64")
}

// uploadType is the media type of what is written: the one given, which must be
// among those that are taken.
func (t *toolCall) uploadType(plan *surfaces.UploadFilePlan, plain bool) (string, error) {
	given := "application/octet-stream"
	if plain {
		given = "text/plain"
	}
	if said := t.arguments.get("content_type"); said != nil {
		given = stringOf(said)
	}
	media, parameters, err := mime.ParseMediaType(given)
	if err != nil || !strings.Contains(media, "/") || strings.ContainsAny(media, "*") {
		return "", invalid("content_type", "is no media type such as text/plain or image/png")
	}
	if !takesMedia(plan.Types, media) {
		return "", invalid("content_type", "must be one of "+strings.Join(plan.Types, ", "))
	}
	if charset := strings.ToLower(parameters["charset"]); plain && charset != "" && charset != "utf-8" {
		return "", invalid("content_type", "has another charset than utf-8, which text is written in")
	}
	return media, nil
}

// takesMedia reports whether a media type is among those accepted: exact ones,
// image/* and the like; none declared means any.
func takesMedia(types []string, media string) bool {
	for _, t := range types {
		if family, all := strings.CutSuffix(t, "/*"); strings.EqualFold(t, media) || all && strings.HasPrefix(media, strings.ToLower(family)+"/") || t == "*/*" {
			return true
		}
	}
	return len(types) == 0
}
