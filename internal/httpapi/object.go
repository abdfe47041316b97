package httpapi

import (
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"
)

// Object is the text of a JSON object that travels as it is; nil for none.
type Object struct{ json.RawMessage }

// Schema describes it in the OpenAPI document.
func (Object) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Description: "Any JSON object of up to 400 KB"}
}
