package surfaces

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// bucketsOf are the buckets that a surface's tools and resources read or write.
func bucketsOf(c *Compiled) map[string]bool {
	buckets := map[string]bool{}
	for _, t := range c.Tools {
		switch {
		case t.Files != nil:
			buckets[t.Files.Place.Bucket] = true
		case t.ReadFile != nil:
			buckets[t.ReadFile.Place.Bucket] = true
		case t.Upload != nil:
			buckets[t.Upload.Place.Bucket] = true
		}
	}
	for _, r := range c.Resources {
		if r.File != nil {
			buckets[r.File.Place.Bucket] = true
		}
	}
	return buckets
}

// buckets compares the buckets that a surface uses, where both snapshots know
// of buckets.
func (m *mover) buckets(c *Compiled) {
	if m.was.buckets == nil || m.is.buckets == nil {
		return
	}
	for _, name := range slices.Sorted(maps.Keys(bucketsOf(c))) {
		old, now := m.was.buckets[name], m.is.buckets[name]
		if old == nil {
			continue // was never in the snapshot: nothing to compare
		}
		object := "bucket " + word(name)
		if now == nil {
			m.add(object, "is gone")
			continue
		}
		if old.Public != now.Public {
			m.add(object, "is %s now", map[bool]string{true: "public", false: "private"}[now.Public])
		}
		if old.FileSizeLimit != now.FileSizeLimit {
			m.add(object, "takes files of %s now, it was %s", fileSize(now.FileSizeLimit), fileSize(old.FileSizeLimit))
		}
		if a, b := mediaTypes(old.MIMETypes), mediaTypes(now.MIMETypes); a != b {
			m.add(object, "takes %s now, it was %s", b, a)
		}
	}
}

func fileSize(bytes int64) string {
	if bytes == 0 {
		return "any size"
	}
	return fmt.Sprintf("at most %d bytes", bytes)
}

func mediaTypes(types []string) string {
	if len(types) == 0 {
		return "files of any type"
	}
	return word(strings.Join(types, ", "))
}
