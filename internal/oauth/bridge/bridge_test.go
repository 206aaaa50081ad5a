package bridge

import "testing"

func TestTheWorldHasABridgeSurface(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	if !w.ep.Access.Bridged() || w.ep.Resource.URL() != "https://acme.mcp.example.test/mcp" || len(w.ep.URLs) != 2 {
		t.Errorf("endpoint %+v", w.ep)
	}
	other := w.replica(t)
	if ep := other.endpoint(t, publicURL+"/acme/mcp"); ep.Surface != w.ep.Surface {
		t.Errorf("the replica sees %s", ep.Surface)
	}
	tokens := w.session(t, w.ep, "alice@example.test")
	if tokens.User == nil || tokens.User.Email != "alice@example.test" {
		t.Error("Alice cannot sign in")
	}
}
