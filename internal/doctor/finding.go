package doctor

// Status is the grade of a finding.
type Status string

// The grades. Warn leaves the thing usable; Fail does not; Skip means that an
// earlier failure left nothing to look at.
const (
	Pass Status = "pass"
	Warn Status = "warn"
	Fail Status = "fail"
	Skip Status = "skip"
)

// Check names one thing that is looked at. IDs are stable; titles are for
// people.
type Check struct {
	ID    string `json:"id"`
	Title string `json:"title"`
}

// Finding is what one check found. Summary is one sentence; Detail says what
// was seen; Fix is the exact next step and is set for every Warn and Fail.
type Finding struct {
	Check   string            `json:"check"`
	Title   string            `json:"title"`
	Status  Status            `json:"status"`
	Summary string            `json:"summary"`
	Detail  string            `json:"detail,omitempty"`
	Fix     string            `json:"fix,omitempty"`
	Facts   map[string]string `json:"facts,omitempty"`
}

// Worst is the gravest grade among the findings: Fail, then Warn, then Pass.
// Skipped checks do not count.
func Worst(findings []Finding) Status {
	worst := Pass
	for _, f := range findings {
		if f.Status == Fail {
			return Fail
		}
		if f.Status == Warn {
			worst = Warn
		}
	}
	return worst
}
