package events

// said is what a builder is told of a code: why, and what to do.
type said struct{ why, do string }

// Words says why a step failed, or ended, and what to do about it. A code
// without words of its own gets those of its step.
func Words(kind StepKind, code string) (why, do string) {
	if w, ok := words[kind][code]; ok {
		return w.why, w.do
	}
	if w, ok := words[""][code]; ok {
		return w.why, w.do
	}
	w := anyFailure[kind]
	return w.why, w.do
}

// HasWords reports whether a code has words of its own.
func HasWords(code string) bool {
	for _, ofKind := range words {
		if _, ok := ofKind[code]; ok {
			return true
		}
	}
	return false
}
