package httpapi

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// Score is a number that keeps nine decimal places when it is parsed and formatted.
type Score struct{ boards.Score }

// Schema describes the score in the OpenAPI document.
func (Score) Schema(huma.Registry) *huma.Schema {
	return NumberSchema("Below 10^18, above -10^18, with up to 38 digits. More than nine decimal places are rounded to nine, half to even")
}

// UnmarshalJSON parses a number.
func (s *Score) UnmarshalJSON(text []byte) (err error) {
	s.Score, err = boards.ParseScore(string(text))
	return err
}

// MarshalJSON formats the number.
func (s Score) MarshalJSON() ([]byte, error) { return []byte(s.String()), nil }

// NumberSchema describes, in the OpenAPI document, a number with more digits than common number types hold.
func NumberSchema(description string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Description: description, Extensions: map[string]any{
		"format": "decimal", "x-go-type": "json.Number", "x-go-type-import": map[string]string{"path": "encoding/json"},
	}}
}
