package app

import (
	"os"
	"runtime/debug"
	"strconv"
	"strings"
)

// The SDK allocates about half a megabyte per call, so a larger heap target
// buys much of the throughput; the limit keeps that within the container.
const (
	defaultGOGC   = 400
	limitFraction = 0.9
	noLimit       = 1 << 60 // cgroup v1 writes a huge number for "none"
)

// TuneMemory sets GOGC=400 and GOMEMLIMIT from the cgroup, unless the operator
// set them.
func TuneMemory() {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(defaultGOGC)
	}
	if os.Getenv("GOMEMLIMIT") != "" {
		return
	}
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		b, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(b)), 10, 64); err == nil && limit < noLimit {
			debug.SetMemoryLimit(int64(float64(limit) * limitFraction))
		}
		return
	}
}
