package surfaces

// Weight estimates the tokens a tool costs in a client's context: its name,
// description and schemas as JSON, at four bytes a token.
func Weight(t *Tool) int { panic("not built") }
