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
