package policy

import (
	"bytes"
	"encoding/json"
	"io"
	"math"
	"math/big"
	"strconv"
)

// parse reads one JSON value. Whole numbers that fit are int64, all others
// float64; one that is neither cannot be read.
func parse(raw json.RawMessage) (any, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return nil, errNotJSON // the cause may quote the text
	}
	if _, err := d.Token(); err != io.EOF {
		return nil, errNotJSON
	}
	return numbers(v)
}

// numbers turns the numbers inside v into those that CEL knows, in place.
func numbers(v any) (any, error) {
	var err error
	switch v := v.(type) {
	case json.Number:
		return number(string(v))
	case []any:
		for i := range v {
			if v[i], err = numbers(v[i]); err != nil {
				return nil, err
			}
		}
	case map[string]any:
		for key, value := range v {
			if v[key], err = numbers(value); err != nil {
				return nil, err
			}
		}
	}
	return v, nil
}

// maxExactText bounds a large number that is written with a point or exponent.
const maxExactText = 400

func number(text string) (any, error) {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return n, nil
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return nil, errNotJSON
	}
	if f != math.Trunc(f) || math.Abs(f) >= 1<<63 {
		return f, nil
	}
	if math.Abs(f) < 1<<53 {
		return int64(f), nil
	}
	// From 2^53 on a double no longer says which whole number was meant.
	if len(text) > maxExactText {
		return nil, errNotJSON
	}
	if exact, ok := new(big.Rat).SetString(text); ok && exact.IsInt() && exact.Num().IsInt64() {
		return exact.Num().Int64(), nil
	}
	return f, nil
}
