package surfaces

import "encoding/json"

// maxBuckets is how many buckets a snapshot may have. Of a project with more,
// none is known.
const maxBuckets = 5000

// catalogBucket is a row of storage.buckets.
type catalogBucket struct {
	Name          string   `json:"name"`
	Public        bool     `json:"public"`
	FileSizeLimit *int64   `json:"file_size_limit"`
	MIMETypes     []string `json:"mime_types"`
}

// buckets are those that the catalog tells of. Nil means that they are not
// known: the database has none of Supabase's Storage, whoever asks may not read
// it or only through Row Level Security, or there are too many.
func (c *catalogReader) buckets() ([]BucketInfo, error) {
	if len(c.doc.Buckets) == 0 || string(c.doc.Buckets) == "null" {
		return nil, nil
	}
	var rows []catalogBucket
	if err := json.Unmarshal(c.doc.Buckets, &rows); err != nil {
		return nil, invalidCatalog(err)
	}
	if len(rows) > maxBuckets {
		return nil, nil
	}
	buckets := make([]BucketInfo, len(rows))
	for i, r := range rows {
		buckets[i] = BucketInfo{Name: r.Name, Public: r.Public, MIMETypes: r.MIMETypes}
		if r.FileSizeLimit != nil && *r.FileSizeLimit > 0 {
			buckets[i].FileSizeLimit = *r.FileSizeLimit
		}
	}
	return buckets, nil
}
