package surfaces

// Compile turns a surface file into the form that is served. It returns nil
// and at least one error problem when the file is refused; warnings may come
// with either. The same input always gives the same output.
func Compile(src []byte, snap *Snapshot, facts ProjectFacts) (*Compiled, []Problem) {
	b := Build(src, snap, facts)
	return b.Compiled, b.Problems
}

// Built is a compiled file with its digest.
type Built struct {
	Compiled *Compiled // nil when refused
	Digest   string    // hex SHA-256; empty when refused
	Problems []Problem // by line
}

// Build is Compile with the digest of the result.
func Build(src []byte, snap *Snapshot, facts ProjectFacts) Built {
	return Built{Problems: []Problem{{Message: "in progress", Severity: SeverityError}}}
}
