package surfaces

// Starter writes a surface file that a builder can begin with: read-only tools
// over the named tables (schema.name, or name in the default schema), with the
// filters and orders that their indexes serve, and comments that explain. It
// compiles against snap without errors. An unknown table is fault.Invalid.
func Starter(snap *Snapshot, title string, tables []string) ([]byte, error) { panic("not built") }

// Offerable lists the tables and views of a snapshot that Starter can offer to
// signed-in users.
func Offerable(snap *Snapshot) []string { panic("not built") }
