package policy

import "encoding/json"

// ClaimJSON is what stands at a path of the claims, exactly as it is written
// there, so that no digit of a number is lost; nil where there is nothing, or no
// claims. user_metadata, which users write themselves, is never there.
func (f *Facts) ClaimJSON(path ...string) json.RawMessage {
	if len(path) == 0 || path[0] == claimUserMetadata || f.shared.claims == nil {
		return nil
	}
	return valueAt(f.shared.claims.raw, path)
}

// ContextJSON is what stands at a path of the context, exactly as the app wrote
// it; nil where there is nothing, or no context.
func (f *Facts) ContextJSON(path ...string) json.RawMessage {
	if len(path) == 0 {
		return nil
	}
	return valueAt(f.shared.context.raw, path)
}

// valueAt walks objects by exact names. Where an object names a key twice the last
// one counts, as it does for rules.
func valueAt(raw json.RawMessage, path []string) json.RawMessage {
	for _, name := range path {
		var object map[string]json.RawMessage
		if json.Unmarshal(raw, &object) != nil {
			return nil
		}
		value, ok := object[name]
		if !ok {
			return nil
		}
		raw = value
	}
	return raw
}
