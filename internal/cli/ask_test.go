package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"

	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// interrupted is a terminal where nothing is typed but Ctrl-C.
type interrupted struct {
	stop context.CancelFunc
	end  chan struct{}
}

func (i interrupted) Read([]byte) (int, error) {
	i.stop()
	<-i.end
	return 0, io.EOF
}

func TestQuestionCanBeInterrupted(t *testing.T) {
	t.Parallel()
	f := newFakeServer(t)
	offers(f, "main", planOf(surfaces.ChangeBreaks, nil))
	d := linked(t, f, "main")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	in := interrupted{stop, make(chan struct{})}
	defer close(in.end)
	var out, errs bytes.Buffer
	code := Main(ctx, Environment{
		Args: []string{"push"}, Dir: d.dir, Out: &out, Err: &errs, In: in, IsTerminal: true,
		Getenv: func(name string) string { return d.vars[name] },
	})
	if code != 1 || !strings.Contains(errs.String(), "stopped") || f.count(publishMain) != 0 {
		t.Errorf("exit %d: %s%s", code, out.String(), errs.String())
	}
	wants(t, out.String(), "skip  supabase/chumbo/main.yaml: not published")
}
