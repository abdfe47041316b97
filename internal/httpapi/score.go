package httpapi

import (
	"bytes"

	"github.com/danielgtaylor/huma/v2"
	"github.com/go-json-experiment/json"

	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// Score is a number that keeps nine decimal places when it is parsed and formatted.
type Score struct{ boards.Score }

// Schema describes the score in the OpenAPI document.
func (Score) Schema(huma.Registry) *huma.Schema {
	return NumberSchema("Below 10^18, above -10^18, with up to 38 digits. More than nine decimal places are rounded to nine, half to even")
}

const errNotScore callerText = "it must be a number between -10^18 and 10^18 with at most 38 digits"

// UnmarshalJSON parses a number.
func (s *Score) UnmarshalJSON(text []byte) (err error) {
	if s.Score, err = boards.ParseScore(string(text)); err != nil {
		return &json.SemanticError{JSONValue: bytes.Clone(text), Err: errNotScore}
	}
	return nil
}

// MarshalJSON formats the number.
func (s Score) MarshalJSON() ([]byte, error) { return []byte(s.String()), nil }

// NumberSchema describes, in the OpenAPI document, a number with more digits than common number types hold.
func NumberSchema(description string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Description: description, Extensions: map[string]any{
		"format": "decimal", "x-go-type": "json.Number", "x-go-type-import": map[string]string{"path": "encoding/json"},
	}}
}
