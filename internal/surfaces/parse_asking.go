package surfaces

import (
	"regexp"
	"slices"
)

// Bounds of what a person is asked.
const (
	MaxQuestions         = 10 // of one tool: all are asked at once
	MaxQuestionArguments = 20 // of one question
)

// ruleAsked is the text of a question, and of confirm.
var ruleAsked = textRule{max: 500}

// questionKey is what keys of questions look like.
var questionKey = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// confirmKey is the key that confirm itself asks by.
const confirmKey = "confirm"

// confirmByOperation reads what a person confirms: one text counts for the
// operations that write.
func (r *reader) confirmByOperation(m mapping, s operated) {
	t, ok := r.byOperation(m, "confirm", ruleAsked, s, func(o *OperationSpec, t Text) { o.Confirm = t })
	if !ok {
		return
	}
	writes := false
	for _, o := range s.by() {
		if changes(o.Operation) || o.Operation == opUpload {
			o.Confirm, writes = t, true
		}
	}
	if !writes {
		r.errorf(t.at, "confirm is for the operations that write, and this %s has none: write it by operation, such as confirm: { list: … }, or leave it out", s.what())
	}
}

// tableQuestions reads the questions of a table, which are those of create.
func (r *reader) tableQuestions(m mapping, s *TableSpec) {
	if !m.given("questions") {
		return
	}
	questions := r.questions(m)
	for _, o := range s.By {
		if o.Operation == opCreate {
			o.Questions = questions
			return
		}
	}
	r.errorf(m.entries["questions"].key, "questions of a table fill in columns of a new row, so they need the operation create; for the others write confirm, or an rpc tool with questions")
}

// questions reads what a person is asked, by key.
func (r *reader) questions(m mapping) []QuestionSpec {
	n, at, ok := m.get("questions")
	if !ok {
		return nil
	}
	sub, ok := r.raw(n, at, "questions")
	if !ok {
		return nil
	}
	if len(sub.names) == 0 || len(sub.names) > MaxQuestions {
		r.errorf(at, "questions has %d questions: from 1 to %d are asked at once", len(sub.names), MaxQuestions)
		return nil
	}
	var list []QuestionSpec
	for _, name := range sub.names {
		e := sub.entries[name]
		switch {
		case !questionKey.MatchString(name):
			r.errorf(e.key, "%s cannot be the key of a question (letters, digits, _ and - only, at most 64)", quoteName(name))
			continue
		case name == confirmKey:
			r.errorf(e.key, "a question cannot be called confirm: write confirm beside questions for a yes or no, or choose another key")
			continue
		case isMapping(e.value) && slices.Contains(operationKeys.known, name) && !slices.Contains(keysOf(e.value), "message"):
			r.errorf(e.key, "questions are not given by operation: write their keys right below questions; on a table they are those of create")
			continue
		}
		if q, ok := r.question(e, name); ok {
			list = append(list, q)
		}
	}
	return list
}

func (r *reader) question(e entry, name string) (QuestionSpec, bool) {
	q := QuestionSpec{Key: Text{Value: name, at: e.key}, at: e.key}
	m, ok := r.mapping(e.value, e.at, "a question", questionKeys)
	if !ok {
		return q, false
	}
	if q.Message, ok = m.text("message", ruleAsked); !ok && !m.given("message") {
		r.errorf(e.key, "the question has no message: say what the person is asked")
	}
	if q.Arguments, ok = m.list("arguments", ruleName); !ok && !m.given("arguments") {
		r.errorf(e.key, "the question has no arguments: list those that the answer fills in")
	}
	if n := len(q.Arguments); ok && (n == 0 || n > MaxQuestionArguments) {
		r.errorf(m.entries["arguments"].at, "a question fills in from 1 to %d arguments, not %d", MaxQuestionArguments, n)
	}
	return q, true
}
