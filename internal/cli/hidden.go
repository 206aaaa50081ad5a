package cli

import (
	"context"
	"io"
	"strings"

	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// maxTypedSecret bounds what is read of an input that holds one secret.
const maxTypedSecret = 4 << 10

// readSecret reads a secret that is typed at a terminal, without showing it, or
// that is the whole of the input. It is never a flag or an argument: those are
// kept by shells and seen by others on the machine. A secret key of a project
// is refused before anything is sent.
func (s *session) readSecret(ctx context.Context, question string) (seal.Secret, error) {
	text, err := s.readHidden(ctx, question)
	if err != nil {
		return seal.Secret{}, err
	}
	text = strings.TrimRight(text, "\r\n")
	switch {
	case text == "":
		return seal.Secret{}, usage("no secret was given: type it at the terminal, or pipe it in")
	case len(text) > maxTypedSecret || strings.ContainsAny(text, "\r\n"):
		return seal.Secret{}, usage("the input is not one secret: it has several lines, or is too long")
	}
	if err := tenants.RefuseSecret("secret", text); err != nil {
		return seal.Secret{}, publicError(err)
	}
	return seal.NewSecret(text), nil
}

func (s *session) readHidden(ctx context.Context, question string) (string, error) {
	switch {
	case s.env.ReadHidden != nil && s.printer.json, s.env.In == nil:
		return "", nil // with --json nothing is asked
	case s.env.ReadHidden != nil:
		s.printer.print("%s", oneLine(question))
		text, err := s.env.ReadHidden(ctx)
		s.printer.print("\n")
		if ctx.Err() != nil {
			return "", errStopped
		}
		return text, err
	}
	type answer struct {
		text []byte
		err  error
	}
	// A pipe's read cannot be interrupted; the command can.
	read := make(chan answer, 1)
	go func() {
		text, err := io.ReadAll(io.LimitReader(s.env.In, maxTypedSecret+3))
		read <- answer{text, err}
	}()
	select {
	case <-ctx.Done():
		return "", errStopped
	case a := <-read:
		return string(a.text), a.err
	}
}
