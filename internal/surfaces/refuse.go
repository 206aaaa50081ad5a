package surfaces

import (
	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/fault"
)

// Refuse says why Publish would refuse what was planned, with the errors of
// Publish; nil when it would not. It lets a first publication be refused before
// there is a surface.
func (p Plan) Refuse(req PublishRequest) error {
	if err := checkReasons(req.Overrides); err != nil {
		return err
	}
	live := ""
	if p.Live != nil {
		live = p.Live.Digest
	}
	switch {
	case p.Pinned:
		return fault.New(fault.Conflict, "pinned", "The surface is pinned. Unpin it before publishing.")
	case req.Expect != nil && *req.Expect != live:
		return fault.New(fault.Conflict, "live_moved", "Nothing was published: what is live is not what you planned against. Plan again.")
	case p.Compiled == nil:
		return RefusedFile(p.Problems)
	}
	_, err := settle(p.Blocking, req.Overrides, events.Actor{})
	return err
}
