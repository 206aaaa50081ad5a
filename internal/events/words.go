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
