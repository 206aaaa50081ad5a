package policy

import "testing"

// BenchmarkHolds asks one rule of everyday shape, the facts already parsed.
func BenchmarkHolds(b *testing.B) {
	tool := aliceTool()
	if err := tool.Ready(); err != nil {
		b.Fatal(err)
	}
	for name, expression := range map[string]string{
		"constant": `true`,
		"scope":    `"crm.read" in scopes`,
		"claim":    `claims.app_metadata.tier == "pro"`,
		"meta":     `claims.app_metadata.tier == tool.meta.tier || "admin" in claims.app_metadata.roles`,
		"loop":     `claims.app_metadata.roles.exists(r, r == "sales")`,
		"args":     `args.id < 100 && args.name.startsWith("A")`,
	} {
		r := mustCompile(b, Allow, expression)
		b.Run(name, func(b *testing.B) {
			f := Read(aliceInput())
			b.ReportAllocs()
			for b.Loop() {
				f.shared.spent = 0
				if ok, err := r.Holds(b.Context(), f, tool); !ok || err != nil {
					b.Fatal(ok, err)
				}
			}
		})
	}
}

// BenchmarkRead reads the facts of one request and asks one rule.
func BenchmarkRead(b *testing.B) {
	r := mustCompile(b, Visible, `claims.app_metadata.tier == "pro"`)
	b.ReportAllocs()
	for b.Loop() {
		if ok, err := r.Holds(b.Context(), Read(aliceInput()), nil); !ok || err != nil {
			b.Fatal(ok, err)
		}
	}
}

// BenchmarkCompile compiles one rule, as a revision is built.
func BenchmarkCompile(b *testing.B) {
	b.ReportAllocs()
	for b.Loop() {
		mustCompile(b, Visible, `claims.app_metadata.tier == tool.meta.tier || "admin" in claims.app_metadata.roles`)
	}
}
