package httpapi

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// Score is a number with all its digits, in both directions.
type Score struct{ boards.Score }

// Schema describes it in the OpenAPI document.
func (Score) Schema(huma.Registry) *huma.Schema {
	return NumberSchema("Below 10^18, above -10^18, with up to nine decimal places, all of which are kept")
}

// UnmarshalJSON reads a number's text.
func (s *Score) UnmarshalJSON(text []byte) (err error) {
	s.Score, err = boards.ParseScore(string(text))
	return err
}

// MarshalJSON writes the number.
func (s Score) MarshalJSON() ([]byte, error) { return []byte(s.String()), nil }

// NumberSchema describes a number that may have more digits than a client's usual type
// holds, in the OpenAPI document.
func NumberSchema(description string) *huma.Schema {
	return &huma.Schema{Type: huma.TypeNumber, Description: description, Extensions: map[string]any{
		"format": "decimal", "x-go-type": "json.Number", "x-go-type-import": map[string]string{"path": "encoding/json"},
	}}
}
