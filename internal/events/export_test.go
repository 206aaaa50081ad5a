package events

// CodesWithWords lists the codes of the table.
func CodesWithWords() []string {
	var codes []string
	for _, ofKind := range words {
		for code := range ofKind {
			codes = append(codes, code)
		}
	}
	return codes
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
