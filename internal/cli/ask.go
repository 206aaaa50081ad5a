package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"strings"
)

// asks reports whether somebody is there to answer.
func (s *session) asks() bool { return s.env.IsTerminal && s.env.In != nil && !s.printer.json }

// agree asks a yes-or-no question, whose default is no. With yes it is
// answered already; where nobody can answer, it is no.
func (s *session) agree(ctx context.Context, yes bool, question string) (bool, error) {
	if yes || !s.asks() {
		return yes, nil
	}
	answer, err := s.prompt(ctx, question+" [y/N] ")
	if err != nil {
		return false, err
	}
	switch strings.ToLower(answer) {
	case "y", "yes":
		return true, nil
	}
	return false, nil
}

// prompt asks for one line. The end of the input is an empty answer.
func (s *session) prompt(ctx context.Context, question string) (string, error) {
	s.printer.print("%s", oneLine(question))
	if s.answers == nil {
		s.answers = bufio.NewReader(s.env.In)
	}
	type answer struct {
		line string
		err  error
	}
	// A terminal's read cannot be interrupted; the command can.
	read := make(chan answer, 1)
	go func() {
		line, err := s.answers.ReadString('\n')
		read <- answer{line, err}
	}()
	select {
	case <-ctx.Done():
		s.printer.print("\n")
		return "", errStopped
	case a := <-read:
		if a.err != nil && !errors.Is(a.err, io.EOF) {
			return "", a.err
		}
		return strings.TrimSpace(a.line), nil
	}
}

var errStopped = errors.New("stopped, nothing more was done")
