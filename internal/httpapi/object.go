package httpapi

import (
	"encoding/json"

	"github.com/danielgtaylor/huma/v2"
)

// Object is the unparsed text of a JSON object; nil for none.
type Object struct{ json.RawMessage }

// Schema describes the object in the OpenAPI document.
func (Object) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeObject, AdditionalProperties: true, Description: "Any JSON object of up to 400 KB"}
}
