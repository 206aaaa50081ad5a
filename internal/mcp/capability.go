package mcp

import (
	"encoding/json"
	"fmt"

	"github.com/chumbo-dev/chumbo/internal/policy"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// capabilityKind is what a capability is.
type capabilityKind int

const (
	aTool capabilityKind = iota
	aPrompt
	aResource
)

// String is the kind's name in a sentence.
func (k capabilityKind) String() string {
	switch k {
	case aPrompt:
		return "prompt"
	case aResource:
		return "resource"
	}
	return "tool"
}

// capability is what policy decides about: a tool, a prompt, or a resource.
// Immutable, and the same for every caller.
type capability struct {
	kind     capabilityKind
	name     string // for rules, the authorizer and records: as declared, never of a call
	gate     *surfaces.Gate
	readOnly bool
	effect   string // what it writes (surfaces.Tool.Effect); empty when it only reads

	visible *policy.Rule // of its own; nil for none
	allow   *allowRule
	about   *policy.Tool // what rules read of it
}

// subject is what policy decides about.
func (k *capability) subject() *capability { return k }

// toolCapability is the tool as policy sees it.
func toolCapability(spec *surfaces.Tool) capability {
	return capability{
		kind: aTool, name: spec.Name, gate: &spec.Gate, readOnly: spec.Annotations.ReadOnly, effect: spec.Effect(),
		about: &policy.Tool{
			Name: spec.Name, Meta: spec.Meta, Permission: spec.Permission,
			ReadOnly: spec.Annotations.ReadOnly, Destructive: spec.Annotations.Destructive,
		},
	}
}

// promptCapability is the prompt as policy sees it: it only reads.
func promptCapability(spec *surfaces.Prompt) capability {
	return readingCapability(aPrompt, "prompt:"+spec.Name, &spec.Gate)
}

// resourceCapability is the resource, or template, as policy sees it: it only
// reads, and its name is the URI as declared.
func resourceCapability(spec *surfaces.Resource) capability {
	return readingCapability(aResource, spec.URI, &spec.Gate)
}

func readingCapability(kind capabilityKind, name string, gate *surfaces.Gate) capability {
	return capability{
		kind: kind, name: name, gate: gate, readOnly: true,
		about: &policy.Tool{Name: name, Meta: gate.Meta, Permission: gate.Permission, ReadOnly: true},
	}
}

// built runs the making of one capability: the SDK panics on data it does not
// like, and one that cannot be made must not take the others with it.
func built[T any](kind capabilityKind, make func() (*T, error)) (one *T, err error) {
	defer func() {
		if p := recover(); p != nil {
			one, err = nil, fmt.Errorf("add %s: %v", kind, p)
		}
	}()
	return make()
}

// wireJSON is what a list says of a capability, for a preview; nil where it
// cannot be told.
func wireJSON(of any) json.RawMessage {
	raw, err := json.Marshal(of)
	if err != nil {
		return nil
	}
	return raw
}

// wires is a list as clients see it, never nil.
func wires[T, W any](list []T, wire func(T) W) []W {
	out := make([]W, len(list))
	for i, one := range list {
		out[i] = wire(one)
	}
	return out
}
