package surfaces

import (
	"strings"
	"testing"
)

// TestStorageToolsThatCannotWorkAreRefused: each entry is good but for the one
// thing that its words name.
func TestStorageToolsThatCannotWorkAreRefused(t *testing.T) {
	t.Parallel()
	for entry, words := range map[string]string{
		"storage: documents/reports":                                                     "a folder in it is written as prefix",
		"storage: document":                                                              "did you mean \"documents\"",
		"storage: avatars":                                                               "write public_bucket: true",
		"storage: documents, public_bucket: true":                                        "is private: leave public_bucket out",
		"storage: documents, public_bucket: 1":                                           "must be true or false",
		"storage: documents, tool: x":                                                    "make two entries",
		"storage: documents, rpc: greet":                                                 "make two entries",
		"storage: documents, operations: []":                                             "operations is an empty list",
		"storage: documents, operations: [get]":                                          "get is no operation on files: write read",
		"storage: documents, operations: [delete]":                                       "delete is no operation on files",
		"storage: documents, operations: [upload, lst]":                                  "unknown operation \"lst\"",
		"storage: documents, prefix: /reports":                                           "write prefix: reports",
		"storage: documents, prefix: reports/":                                           "write prefix: reports",
		"storage: documents, prefix: a//b":                                               "is not the name of a folder",
		"storage: documents, prefix: a/../b":                                             "is not the name of a folder",
		"storage: documents, prefix: .":                                                  "is not the name of a folder",
		"storage: documents, prefix: \"a\\\\b\"":                                         "is not the name of a folder",
		"storage: documents, prefix: \"a%2fb\"":                                          "is not the name of a folder",
		"storage: documents, prefix: \"a/x{sub}\"":                                       "as a whole folder",
		"storage: documents, prefix: \"{tenant}\"":                                       "as a whole folder",
		"storage: documents, prefix: " + strings.Repeat("a", 501):                        "at most 500",
		"storage: documents, operations: list, inline: 5":                                "inline belongs to the operation read",
		"storage: documents, inline: -1":                                                 "from 0 to 1048576",
		"storage: documents, inline: 1048577":                                            "from 0 to 1048576",
		"storage: documents, limit: { max: 101 }":                                        "from 1 to 100",
		"storage: documents, operations: read, limit: { max: 10 }":                       "limit belongs to the operation list",
		"storage: documents, types: [image/png]":                                         "types belongs to the operation upload",
		"storage: documents, max_bytes: 5":                                               "max_bytes belongs to the operation upload",
		"storage: documents, overwrite: true":                                            "overwrite belongs to the operation upload",
		"storage: documents, operations: upload, max_bytes: 0":                           "from 1 to 700000",
		"storage: documents, operations: upload, max_bytes: 700001":                      "from 1 to 700000",
		"storage: documents, operations: upload, types: []":                              "from 1 to 50 media types",
		"storage: documents, operations: upload, types: [png]":                           "is not a media type",
		"storage: documents, operations: upload, types: [\"*/*\"]":                       "is not a media type",
		"storage: documents, operations: upload, types: [Image/png]":                     "is not a media type",
		"storage: documents, result: text":                                               "a file is content",
		"storage: documents, template: x":                                                "a file is content",
		"storage: documents, columns: [id]":                                              "unknown key \"columns\"",
		"storage: documents, path: readme.md":                                            "write prefix for the folder",
		"storage: documents, scopes: { upload: [a] }":                                    "upload is not among the operations of this bucket",
		"storage: documents, title: { get: x }":                                          "write read",
		"storage: documents, name: { list: a b }":                                        "cannot be the name of a tool",
		"storage: documents, permission: p":                                              "the file names none",
		"storage: avatars, public_bucket: true, operations: upload, types: [text/plain]": "the bucket does not take text/plain",
	} {
		refusedEntry(t, entry, words)
	}
}

// TestOwnFoldersNeedUsers: where some callers have no session, there is no
// subject to name the folder.
func TestOwnFoldersNeedUsers(t *testing.T) {
	t.Parallel()
	const rate = "public: { confirm: true, calls: 60, per: 1m }"
	for access, fine := range map[string]bool{
		"mode: oauth, authorization: bridge":                                                        true,
		"mode: oauth, authorization: direct":                                                        true,
		"mode: [oauth, bearer], authorization: bridge":                                              true,
		"mode: [oauth, public], authorization: bridge, " + rate:                                     true, // the tool is not public
		"mode: [oauth, api-key], authorization: bridge":                                             false,
		"mode: oauth, authorization: external, issuer: \"https://login.example.test\", audience: a": false,
	} {
		b := Build([]byte("version: 1\ntitle: T\naccess: { "+access+" }\ntools:\n  - { storage: documents, prefix: \"own/{sub}\" }\n"), loadSnapshot(t), known())
		if (b.Compiled != nil) != fine || !fine && !mentions(b.Problems, 5, "some callers have none") {
			t.Errorf("%s: compiled %t, %v", access, b.Compiled != nil, b.Problems)
		}
	}
	b := Build([]byte("version: 1\ntitle: T\naccess: { mode: [oauth, public], authorization: bridge, "+rate+" }\ntools:\n  - { storage: documents, prefix: \"own/{sub}\", public: true }\n"), loadSnapshot(t), known())
	if b.Compiled != nil || !mentions(b.Problems, 5, "some callers have none") {
		t.Errorf("public: %v", b.Problems)
	}
}

// TestWhatABucketTakesBoundsAnUpload, and what is not known of buckets is told.
func TestWhatABucketTakesBoundsAnUpload(t *testing.T) {
	t.Parallel()
	build := func(entry string, edit func(s *Snapshot)) Built {
		snap := loadSnapshot(t)
		edit(snap)
		return Build(writeFile(entry), snap, known())
	}
	small := func(s *Snapshot) { bucketNamed(s, "documents").FileSizeLimit = 1000 }
	images := func(s *Snapshot) { bucketNamed(s, "documents").MIMETypes = []string{"Image/*", "application/pdf"} }
	unknown := func(s *Snapshot) { s.Buckets = nil }
	const upload = "storage: documents, operations: upload"
	if b := build(upload, small); b.Compiled == nil || b.Compiled.Tools[0].Upload.MaxBytes != 1000 || !strings.Contains(string(b.Compiled.Tools[0].Input), `"maxLength":1336`) {
		t.Errorf("small: %v", b.Problems)
	}
	if b := build(upload+", max_bytes: 1001", small); b.Compiled != nil || !mentions(b.Problems, 5, "write max_bytes: 1000") {
		t.Errorf("too large: %v", b.Problems)
	}
	if b := build(upload, images); b.Compiled == nil || strings.Join(b.Compiled.Tools[0].Upload.Types, " ") != "image/* application/pdf" {
		t.Errorf("images: %v", b.Problems)
	}
	if b := build(upload+", types: [image/png, application/pdf]", images); b.Compiled == nil || len(b.Compiled.Tools[0].Upload.Types) != 2 {
		t.Errorf("within: %v", b.Problems)
	}
	if b := build(upload+", types: [text/plain]", images); b.Compiled != nil || !mentions(b.Problems, 5, "it takes Image/* and application/pdf") {
		t.Errorf("beyond: %v", b.Problems)
	}
	if b := build("storage: nowhere, public_bucket: true", unknown); b.Compiled == nil || !mentions(b.Problems, 5, "import the schema again") {
		t.Errorf("unknown: %v", b.Problems)
	}
	if b := build("storage: documents", func(s *Snapshot) { s.Buckets = []BucketInfo{} }); b.Compiled != nil || !mentions(b.Problems, 5, "there is no bucket") {
		t.Errorf("none: %v", b.Problems)
	}
}

// TestListsOfFilesNameWhatReadsOne of the same place.
func TestListsOfFilesNameWhatReadsOne(t *testing.T) {
	t.Parallel()
	c := mustBuild(t, writeHead+"  - { storage: documents, prefix: a, name: { list: la, read: ra } }\n  - { storage: documents, prefix: b, operations: list, name: { list: lb } }\n"+
		"  - { storage: documents, prefix: b, operations: read, name: { read: rb } }\n  - { storage: documents, operations: list }\n", loadSnapshot(t))
	got := map[string]string{}
	for _, tool := range c.Tools {
		if tool.Files != nil {
			got[tool.Name] = tool.Files.ReadTool
		}
	}
	if got["la"] != "ra" || got["lb"] != "rb" || got["documents_list"] != "" {
		t.Errorf("%v", got)
	}
}

// TestEffectsOfFunctionsAndUploads: what a user agreed to is not another folder,
// another function, or a tool that replaces files.
func TestEffectsOfFunctionsAndUploads(t *testing.T) {
	t.Parallel()
	effects := func(entry string) string {
		var list []string
		for _, tool := range mustBuild(t, string(writeFile(entry)), loadSnapshot(t)).Tools {
			if e := tool.Effect(); e != "" {
				list = append(list, e)
			}
		}
		return strings.Join(list, "; ")
	}
	for entry, want := range map[string]string{
		"function: build-report, description: D.":                           `build_report function functions."build-report" destructive`,
		"function: f, description: D., annotations: { destructive: false }": "f function functions.f",
		"function: f, description: D., annotations: { read_only: true }":    "",
		"storage: documents":                             "",
		"storage: documents, operations: [list, upload]": "documents_upload upload storage.documents",
		"storage: documents, operations: [upload], prefix: \"own/{sub}\", overwrite: true": `documents_upload upload storage."documents/own/{sub}" destructive`,
	} {
		if got := effects(entry); got != want {
			t.Errorf("%s: %q, want %q", entry, got, want)
		}
	}
}
