package surfaces

import (
	"bytes"
	"encoding/json"
	"slices"
)

// labelList are the values of an enum, as text where they are none.
type labelList []string

// UnmarshalJSON reads an enum of any values.
func (l *labelList) UnmarshalJSON(raw []byte) error {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return err
	}
	*l = nil
	for _, one := range list {
		text := string(one)
		if bytes.HasPrefix(one, []byte(`"`)) {
			if err := json.Unmarshal(one, &text); err != nil {
				return err
			}
		}
		*l = append(*l, text)
	}
	return nil
}

// asking compares what people are asked before a tool runs. What asked them
// before and does not any more is the gravest: somebody counted on it.
func (d *differ) asking(before, after *Tool) {
	switch {
	case before.Confirm == after.Confirm:
	case before.Confirm == "":
		d.add(ChangeBreaks, "a person must confirm each call now; clients that cannot ask are refused")
	case after.Confirm == "":
		d.add(ChangeBreaks, "runs without asking anybody now: confirm is gone")
	default:
		d.add(ChangeBehaviour, "a person is asked to confirm in other words")
	}
	find := func(list []Question, key string) *Question {
		i := slices.IndexFunc(list, func(q Question) bool { return q.Key == key })
		if i < 0 {
			return nil
		}
		return &list[i]
	}
	for _, was := range before.Questions {
		if find(after.Questions, was.Key) == nil {
			d.add(ChangeBreaks, "a person is not asked for %s any more (the question %s is gone)", wordList(was.Arguments), word(was.Key))
		}
	}
	for _, is := range after.Questions {
		was := find(before.Questions, is.Key)
		switch {
		case was == nil:
			d.add(ChangeBreaks, "a person is asked for %s now; clients that cannot ask are refused", wordList(is.Arguments))
		case !slices.Equal(was.Arguments, is.Arguments):
			d.add(ChangeBreaks, "the question %s asks for %s now, it was %s", word(is.Key), wordList(is.Arguments), wordList(was.Arguments))
		case was.Message != is.Message:
			d.add(ChangeBehaviour, "the question %s is in other words", word(is.Key))
		case canonical(was.Schema) != canonical(is.Schema) || canonical(was.Form) != canonical(is.Form):
			d.add(ChangeBehaviour, "the question %s takes other answers", word(is.Key))
		}
	}
}

// edge compares how an Edge Function is called.
func (d *differ) edge(was, is *FunctionPlan) {
	if was.Slug != is.Slug {
		d.add(ChangeBehaviour, "calls the Edge Function %s now, it was %s", word(is.Slug), word(was.Slug))
	}
	switch {
	case is.Timeout < was.Timeout:
		d.add(ChangeBehaviour, "must answer within %s now, it was %s", shortTime(is.Timeout), shortTime(was.Timeout))
	case is.Timeout > was.Timeout:
		d.add(ChangeSafe, "may take %s now, it was %s", shortTime(is.Timeout), shortTime(was.Timeout))
	}
	if was.Stream != is.Stream {
		d.add(ChangeBehaviour, "%s", map[bool]string{true: "may answer with events now: clients hear of its progress", false: "no longer answers with events: clients hear nothing of its progress"}[is.Stream])
	}
	switch {
	case is.Asks && !was.Asks:
		d.add(ChangeBreaks, "may ask a person by itself now; clients that cannot ask may be refused, and the function gets its arguments in an envelope")
	case was.Asks && !is.Asks:
		d.add(ChangeBehaviour, "no longer asks a person by itself, and the function gets its arguments without an envelope")
	}
	if was.Authored != is.Authored {
		d.add(ChangeBehaviour, "%s", map[bool]string{true: "its arguments are described as its author wrote them now: some clients do not read that", false: "its arguments are described so that every client reads them now"}[is.Authored])
	}
}

// files compares tools over files.
func (d *differ) files(before, after *Tool) {
	d.target(verbs[after.kindOfPlan()], before.Relation(), after.Relation())
	switch {
	case before.Files != nil:
		was, is := before.Files, after.Files
		d.pages("files", was.DefaultLimit, is.DefaultLimit, was.MaxLimit, is.MaxLimit)
		if was.ReadTool != is.ReadTool {
			d.add(ChangeBehaviour, "names %s for reading a file, it was %s", toolOrNone(is.ReadTool), toolOrNone(was.ReadTool))
		}
	case before.ReadFile != nil:
		if was, is := before.ReadFile.Inline, after.ReadFile.Inline; was != is {
			d.add(ChangeBehaviour, "files that are no text are links from %d bytes on, it was %d", is+1, was+1)
		}
	case before.Upload != nil:
		d.upload(before.Upload, after.Upload)
	}
}

func (d *differ) upload(was, is *UploadFilePlan) {
	switch {
	case is.Overwrite && !was.Overwrite:
		d.add(ChangeBehaviour, "replaces a file that is there already now")
	case was.Overwrite && !is.Overwrite:
		d.add(ChangeBreaks, "no longer replaces a file that is there already: such calls are refused")
	}
	switch gone, added := without(was.Types, is.Types), without(is.Types, was.Types); {
	case len(was.Types) == 0 && len(is.Types) > 0:
		d.add(ChangeBreaks, "takes only files of %s now", wordList(is.Types))
	case len(was.Types) > 0 && len(is.Types) == 0:
		d.add(ChangeSafe, "takes files of any type now")
	default:
		if len(gone) > 0 {
			d.add(ChangeBreaks, "no longer takes files of %s", wordList(gone))
		}
		if len(added) > 0 {
			d.add(ChangeSafe, "also takes files of %s", wordList(added))
		}
	}
	switch {
	case is.MaxBytes < was.MaxBytes:
		d.add(ChangeBreaks, "takes files of at most %d bytes now, it was %d", is.MaxBytes, was.MaxBytes)
	case is.MaxBytes > was.MaxBytes:
		d.add(ChangeSafe, "takes files of %d bytes now, it was %d", is.MaxBytes, was.MaxBytes)
	}
}

// kindOfPlan tells lists of files from lists of rows.
func (t *Tool) kindOfPlan() string {
	if t.Files != nil {
		return opFiles
	}
	return t.Operation()
}

// opFiles is opList over files.
const opFiles = "files"

// onDatabase reports whether a tool is about something of the database.
func (t *Tool) onDatabase() bool {
	return t.Function == nil && t.Files == nil && t.ReadFile == nil && t.Upload == nil
}
