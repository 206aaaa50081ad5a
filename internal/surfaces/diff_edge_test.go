package surfaces

import (
	"slices"
	"testing"
)

const diffEdges = `version: 1
title: Reports
access: { mode: oauth, authorization: bridge, approval_page: true }
tools:
  - function: build-report
    title: Build
    description: Build a report.
    input: { type: object, properties: { month: { type: string, format: date }, grade: { type: integer, enum: [1, 2] }, reason: { type: string } }, required: [month] }
    timeout: 1m
    stream: true
    confirm: Build {{month}}?
    questions: { why: { message: Why?, arguments: [reason] } }
  - storage: documents
    operations: [list, read, upload]
    prefix: reports
    inline: 1000
    max_bytes: 5000
    types: [image/png, image/jpeg]
    limit: { default: 10, max: 50 }
`

func TestDiffClassesWhatFunctionsFilesAndQuestionsChangeForClients(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		edits, want, back []string
	}{
		"another function": {
			[]string{"function: build-report", "tool: build_report\n    function: make-report"},
			[]string{"behaviour build_report: calls the Edge Function make-report now, it was build-report"}, nil,
		},
		"another name": {
			[]string{"function: build-report", "tool: report\n    function: build-report"},
			[]string{"breaks build_report: is named report now; calls by the old name are refused"}, nil,
		},
		"less time": {
			[]string{"timeout: 1m", "timeout: 20s"},
			[]string{"behaviour build_report: must answer within 20s now, it was 1m"}, []string{"safe build_report: may take 1m now, it was 20s"},
		},
		"no stream": {
			[]string{"    stream: true\n", ""},
			[]string{"behaviour build_report: no longer answers with events: clients hear nothing of its progress"},
			[]string{"behaviour build_report: may answer with events now: clients hear of its progress"},
		},
		"it asks": {
			[]string{"stream: true", "stream: true\n    asks: true"},
			[]string{"breaks build_report: may ask a person by itself now; clients that cannot ask may be refused, and the function gets its arguments in an envelope"},
			[]string{"behaviour build_report: no longer asks a person by itself, and the function gets its arguments without an envelope"},
		},
		"nobody confirms": {
			[]string{"    confirm: Build {{month}}?\n", ""},
			[]string{"breaks build_report: runs without asking anybody now: confirm is gone"},
			[]string{"breaks build_report: a person must confirm each call now; clients that cannot ask are refused"},
		},
		"other words to confirm": {
			[]string{"Build {{month}}?", "Really build {{month}}?"},
			[]string{"behaviour build_report: a person is asked to confirm in other words"}, nil,
		},
		"nobody is asked": {
			[]string{"    questions: { why: { message: Why?, arguments: [reason] } }\n", ""},
			[]string{"breaks build_report: a person is not asked for reason any more (the question why is gone)", "safe build_report: argument reason is new and optional"},
			[]string{"breaks build_report: a person is asked for reason now; clients that cannot ask are refused", "breaks build_report: argument reason is gone; calls that send it are refused"},
		},
		"more is asked": {
			[]string{"arguments: [reason]", "arguments: [reason, month]", "Build {{month}}?", "Build?"},
			[]string{"breaks build_report: the question why asks for reason, month now, it was reason"}, nil,
		},
		"other words to ask": {
			[]string{"message: Why?", "message: Why now?"}, []string{"behaviour build_report: the question why is in other words"}, nil,
		},
		"other answers": {
			[]string{"reason: { type: string }", "reason: { type: string, maxLength: 5 }"}, []string{"behaviour build_report: the question why takes other answers"}, nil,
		},
		"fewer labels that are numbers": {
			[]string{"enum: [1, 2]", "enum: [1]"}, []string{"breaks build_report: argument grade no longer takes 2"}, []string{"safe build_report: argument grade also takes 2"},
		},
		"another format": {
			[]string{"format: date", "format: date-time"}, []string{"breaks build_report: its arguments changed"}, nil,
		},
		"an authored schema": {
			[]string{"    questions: { why: { message: Why?, arguments: [reason] } }\n", "    schema: authored\n"},
			[]string{"behaviour build_report: its arguments are described as its author wrote them now: some clients do not read that"},
			[]string{"behaviour build_report: its arguments are described so that every client reads them now"},
		},
		"no page": {
			[]string{", approval_page: true", ""},
			[]string{"breaks clients that cannot ask a person get no page to approve on any more"}, []string{"safe clients that cannot ask a person get the link of a page to approve on now"},
		},
		"another folder": {
			[]string{"prefix: reports", "prefix: papers"},
			[]string{
				"behaviour documents_list: lists files of documents/papers now, it was documents/reports", "behaviour documents_read: reads a file of documents/papers now, it was documents/reports",
				"behaviour documents_upload: uploads to documents/papers now, it was documents/reports",
			}, nil,
		},
		"no upload": {
			[]string{"operations: [list, read, upload]", "operations: [list, read]", "    max_bytes: 5000\n    types: [image/png, image/jpeg]\n", ""},
			[]string{"breaks documents_upload: the tool is gone; calls are refused"}, []string{"safe documents_upload: new tool"},
		},
		"nothing to read by": {
			[]string{"operations: [list, read, upload]", "operations: [list, upload]", "    inline: 1000\n", ""},
			[]string{"behaviour documents_list: names no tool for reading a file, it was documents_read"}, nil,
		},
		"smaller blobs": {
			[]string{"inline: 1000", "inline: 10"}, []string{"behaviour documents_read: files that are no text are links from 11 bytes on, it was 1001"}, nil,
		},
		"it replaces files": {
			[]string{"inline: 1000", "inline: 1000\n    overwrite: true"},
			[]string{"behaviour documents_upload: replaces a file that is there already now", "behaviour documents_upload: is destructive now: clients may ask before each call"},
			[]string{"breaks documents_upload: no longer replaces a file that is there already: such calls are refused"},
		},
		"smaller files": {
			[]string{"max_bytes: 5000", "max_bytes: 50"}, []string{"breaks documents_upload: takes files of at most 50 bytes now, it was 5000"}, []string{"safe documents_upload: takes files of 5000 bytes now, it was 50"},
		},
		"fewer types": {
			[]string{"[image/png, image/jpeg]", "[image/png]"}, []string{"breaks documents_upload: no longer takes files of image/jpeg"}, []string{"safe documents_upload: also takes files of image/jpeg"},
		},
		"any type": {
			[]string{"    types: [image/png, image/jpeg]\n", ""}, []string{"safe documents_upload: takes files of any type now"}, []string{"breaks documents_upload: takes only files of image/png, image/jpeg now"},
		},
		"smaller pages": {
			[]string{"max: 50", "max: 20"}, []string{"breaks documents_list: a page has at most 20 files now, it was 50; calls that ask for more are refused"}, []string{"safe documents_list: a page may have 50 files now, it was 20"},
		},
		"another page": {
			[]string{"default: 10", "default: 5"}, []string{"behaviour documents_list: a page has 5 files unless the call says otherwise, it was 10"}, nil,
		},
		"rows for files": {
			[]string{"  - storage: documents\n    operations: [list, read, upload]\n    prefix: reports\n    inline: 1000\n    max_bytes: 5000\n    types: [image/png, image/jpeg]\n    limit: { default: 10, max: 50 }\n", "  - { table: customers, columns: [id, name], operations: [list], name: { list: documents_list } }\n"},
			[]string{"behaviour documents_list: lists rows of customers now, it lists files of documents/reports before"}, nil,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before, after := mustBuild(t, diffEdges, loadSnapshot(t)), mustBuild(t, edited(t, diffEdges, c.edits...), loadSnapshot(t))
			for _, way := range []struct {
				from, to *Compiled
				want     []string
			}{{before, after, c.want}, {after, before, c.back}} {
				got := lines(Diff(way.from, way.to))
				for _, want := range way.want {
					if !slices.Contains(got, want) {
						t.Errorf("%q is not among %q", want, got)
					}
				}
			}
		})
	}
	if changes := Diff(mustBuild(t, diffEdges, loadSnapshot(t)), mustBuild(t, diffEdges, loadSnapshot(t))); len(changes) > 0 {
		t.Errorf("the same file: %v", changes)
	}
}

// TestDigestOfFunctionToolsFollowsTheOrderOfTheirArguments: it is the order in
// which models read them.
func TestDigestOfFunctionToolsFollowsTheOrderOfTheirArguments(t *testing.T) {
	t.Parallel()
	want := digestOf(t, diffEdges, loadSnapshot(t))
	for _, same := range [][2]string{{"title: Build", "title: \"Build\""}, {"format: date }", "format: \"date\" }"}, {"timeout: 1m", "timeout: 60s"}, {"types: [image/png, image/jpeg]", "overwrite: false\n    public_bucket: false\n    types: [image/png, image/jpeg]"}} {
		if digestOf(t, edited(t, diffEdges, same[0], same[1]), loadSnapshot(t)) != want {
			t.Errorf("%s: the digest changed", same[1])
		}
	}
	for _, other := range [][2]string{
		{"month: { type: string, format: date }, grade: { type: integer, enum: [1, 2] }", "grade: { type: integer, enum: [1, 2] }, month: { type: string, format: date }"},
		{"prefix: reports", "prefix: papers"}, {"timeout: 1m", "timeout: 61s"}, {"stream: true", "stream: false"}, {"Build {{month}}?", "Build?"}, {"message: Why?", "message: Why"},
		{", approval_page: true", ""}, {"max_bytes: 5000", "max_bytes: 5001"},
	} {
		if digestOf(t, edited(t, diffEdges, other[0], other[1]), loadSnapshot(t)) == want {
			t.Errorf("%s: the digest is the same", other[1])
		}
	}
	snap := loadSnapshot(t)
	bucketNamed(snap, "documents").FileSizeLimit = 9000
	if digestOf(t, diffEdges, snap) == want {
		t.Error("a bucket that is used changed, and the digest did not")
	}
}
