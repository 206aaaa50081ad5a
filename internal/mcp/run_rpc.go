package mcp

import (
	"context"
	"errors"
	"strconv"

	"github.com/chumbo-dev/chumbo/internal/fault"
	"github.com/chumbo-dev/chumbo/internal/supabase"
	"github.com/chumbo-dev/chumbo/internal/surfaces"
)

// rpc calls a function with the declared arguments that were given, as the
// tokens they came as. It always posts: in a GET, text such as is.null would
// be taken for a filter.
func (t *toolCall) rpc(ctx context.Context, plan *surfaces.RPCPlan) (*page, error) {
	body := []byte{'{'}
	for _, a := range plan.Arguments {
		value := t.arguments.get(a.Name)
		if value == nil {
			if a.Required {
				return nil, invalid(a.Name, "is required")
			}
			continue
		}
		body = appendMember(body, a.Name, value)
	}
	body = append(body, '}')
	ask := t.write
	if plan.ReadOnly {
		ask = t.ask
	}
	answer, err := ask(ctx, func(s supabase.Session) (supabase.Answer, error) {
		return t.runner.projects.Call(ctx, s, supabase.Call{
			Profile: plan.Relation.Profile, Function: plan.Relation.Name, Arguments: body, ReadOnly: plan.ReadOnly,
		})
	})
	if errors.Is(err, errUnread) {
		return nil, t.rpcTooLarge(plan)
	}
	if err != nil {
		return nil, err
	}
	p, err := t.within(t.rpcPage(plan.Returns, answer.Body))
	switch {
	case p == nil && err == nil:
		err = t.rpcTooLarge(plan)
	case (errors.Is(err, errShape) || errors.Is(err, errColumns)) && !plan.ReadOnly:
		err = &toolError{kind: kindOutOfDate, detail: "The call was made, and its effects stand, but its answer cannot be shown: it is not of the form that this tool declares. Do not repeat it just to see the answer. The app's owner must publish its surface again."}
	}
	return p, err
}

func (t *toolCall) rpcTooLarge(plan *surfaces.RPCPlan) *toolError {
	detail := "The answer is larger than this tool's limit of " + strconv.Itoa(t.budget()) + " bytes. "
	if !plan.ReadOnly {
		// It ran: saying only "narrow it" would make the model run it again.
		detail = "The call was made, and its effects stand, but its answer is larger than this tool's limit of " + strconv.Itoa(t.budget()) + " bytes. Do not repeat it just to see the answer. "
	}
	if len(t.arguments) > 0 {
		detail += "Narrow it with the arguments, or ask"
	} else {
		detail += "Ask"
	}
	return &toolError{kind: fault.TooLarge.String(), detail: detail + " the app's owner to raise the limit."}
}

func (t *toolCall) rpcPage(returns surfaces.Returns, body []byte) (*page, error) {
	if returns.Kind == surfaces.ReturnsVoid {
		return t.finish([]byte(`{"ok":true}`), func(dst []byte) []byte { return append(dst, "Done."...) }, nil)
	}
	clean, err := cleanAnswer(body)
	if err != nil {
		return nil, err
	}
	switch returns.Kind {
	case surfaces.ReturnsScalar:
		return t.scalarPage(returns.Scalar, clean)
	case surfaces.ReturnsScalars:
		return t.scalarsPage(returns.Scalar, returns.MaxRows, clean)
	case surfaces.ReturnsRow:
		return t.rpcRow(returns.Columns, clean)
	case surfaces.ReturnsRows:
		return t.rpcRows(returns.Columns, returns.MaxRows, clean)
	}
	return nil, errShape
}

func (t *toolCall) scalarPage(column *surfaces.Column, value token) (*page, error) {
	structured := append([]byte(`{"result":`), appendValue(nil, value, column)...)
	return t.finish(append(structured, '}'), func(dst []byte) []byte { return appendProse(dst, value) }, nil)
}

func (t *toolCall) scalarsPage(column *surfaces.Column, most int, body []byte) (*page, error) {
	if body[0] != '[' {
		return nil, errShape
	}
	values := elements(body)
	structured := []byte(`{"items":[`)
	for i, v := range values {
		if i > 0 {
			structured = append(structured, ',')
		}
		structured = appendValue(structured, v, column)
	}
	end, footer := endOfRows(len(values), most)
	return t.finish(append(append(structured, ']'), end...), func(dst []byte) []byte {
		for _, v := range values {
			dst = append(appendCell(dst, v), '\n')
		}
		return dst
	}, footer)
}

func (t *toolCall) rpcRow(columns []surfaces.Column, body []byte) (*page, error) {
	if len(columns) == 0 {
		if body[0] != '{' {
			return nil, errShape
		}
		whole := appendToken(nil, body)
		return t.finish(whole, func(dst []byte) []byte { return appendProse(dst, whole) }, nil)
	}
	rows, err := readOne(body, columnNames(columns))
	if err != nil {
		return nil, err
	}
	return t.rowAsIs(columns, rows.row(0))
}

func (t *toolCall) rpcRows(columns []surfaces.Column, most int, body []byte) (*page, error) {
	if len(columns) == 0 {
		return t.scalarsPage(nil, most, body)
	}
	rows, err := readTable(body, columnNames(columns))
	if err != nil {
		return nil, err
	}
	n := rows.len()
	structured := appendItems([]byte(`{"items":`), columns, rows, n)
	end, footer := endOfRows(n, most)
	return t.finish(append(structured, end...), func(dst []byte) []byte {
		if n == 0 {
			return dst
		}
		dst = appendHeader(dst, columns)
		for i := range n {
			dst = appendTextRow(dst, rows.row(i))
		}
		return dst
	}, footer)
}

// endOfRows ends the structure and the text of n rows. The Data API cuts what is
// more than most without a word, so as many may not be all.
func endOfRows(n, most int) (structure string, footer []byte) {
	if most > 0 && n >= most {
		return `,"truncated":true}`, []byte("The first " + countOf(n) + "; the app returns no more at once, and there may be others.\n")
	}
	return "}", []byte(countOf(n) + ".\n")
}

// appendProse appends a lone value: text with its lines, but without what
// cannot be seen; anything else as JSON.
func appendProse(dst []byte, value token) []byte {
	if !isString(value) {
		return append(dst, withoutHidden(string(appendToken(nil, value)))...)
	}
	return append(dst, withoutHidden(stringOf(value))...)
}

func columnNames(columns []surfaces.Column) []string {
	names := make([]string, len(columns))
	for i, c := range columns {
		names[i] = c.Name
	}
	return names
}
