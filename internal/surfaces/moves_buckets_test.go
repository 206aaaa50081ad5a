package surfaces

import (
	"slices"
	"testing"
)

func TestBucketsThatASurfaceUsesDrift(t *testing.T) {
	t.Parallel()
	place := FilePlace{Bucket: "documents"}
	for name, c := range map[string]*Compiled{
		"a list":     {Tools: []Tool{{Files: &FilesPlan{Place: place}}}},
		"a read":     {Tools: []Tool{{ReadFile: &ReadFilePlan{Place: place}}}},
		"an upload":  {Tools: []Tool{{Upload: &UploadFilePlan{Place: place}}}},
		"a resource": {Resources: []Resource{{File: &ReadFilePlan{Place: place}}}},
	} {
		for _, x := range []struct {
			edit func(s *Snapshot)
			want []string
		}{
			{func(*Snapshot) {}, nil},
			{func(s *Snapshot) { s.Buckets = nil }, nil},
			{func(s *Snapshot) { bucketNamed(s, "avatars").Public = false }, nil},
			{func(s *Snapshot) { bucketNamed(s, "documents").Public = true }, []string{"bucket documents: is public now"}},
			{func(s *Snapshot) { bucketNamed(s, "documents").FileSizeLimit = 5 }, []string{"bucket documents: takes files of at most 5 bytes now, it was any size"}},
			{func(s *Snapshot) { bucketNamed(s, "documents").MIMETypes = []string{"image/*"} }, []string{"bucket documents: takes image/* now, it was files of any type"}},
			{func(s *Snapshot) {
				s.Buckets = slices.DeleteFunc(s.Buckets, func(b BucketInfo) bool { return b.Name == "documents" })
			}, []string{"bucket documents: is gone"}},
		} {
			before, after := loadSnapshot(t), loadSnapshot(t)
			x.edit(after)
			if got := moves(before, after, c); !slices.Equal(got, x.want) {
				t.Errorf("%s: %v, want %v", name, got, x.want)
			}
		}
	}
}

func bucketNamed(s *Snapshot, name string) *BucketInfo {
	i := slices.IndexFunc(s.Buckets, func(b BucketInfo) bool { return b.Name == name })
	return &s.Buckets[i]
}
