package bridge

import (
	"unicode/utf8"

	"github.com/chumbo-dev/chumbo/internal/events"
	"github.com/chumbo-dev/chumbo/internal/seal"
	"github.com/chumbo-dev/chumbo/internal/tenants"
)

// agentLength bounds what is kept of a User-Agent, in bytes.
const agentLength = 120

// step records one step of an attempt to connect at ep: st says what happened,
// the rest is filled in here. It never blocks.
func (s *Service) step(ep *tenants.Endpoint, v Visitor, st events.Step) {
	st.Organization, st.Surface = ep.Organization, ep.Surface
	s.record(v, st)
}

// record is step for what happens without an endpoint: st names organization
// and surface.
func (s *Service) record(v Visitor, st events.Step) {
	st.At, st.Agent, st.RequestID = s.cfg.Now(), cut(v.Agent, agentLength), v.RequestID
	if v.Address != "" {
		st.Address = [32]byte(s.cfg.Keys.MAC(seal.AddressHash, []byte(v.Address)))
	}
	s.cfg.Steps.Record(st)
}

// cut shortens to at most n bytes, and never inside a character.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	for n > 0 && !utf8.RuneStart(text[n]) {
		n--
	}
	return text[:n]
}
