package httpapi

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/base/schema"
)

// Kind is the kind of a base key in a request or a response.
type Kind schema.Kind

// Schema describes the kind in the OpenAPI document, with the names of all kinds.
func (Kind) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, k := range schema.Kinds() {
		s.Enum = append(s.Enum, string(k))
	}
	return s
}
