package httpapi

import (
	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/base/kind"
)

// Kind is the kind of a base key in a request or a response.
type Kind kind.Kind

// Schema describes the kind in the OpenAPI document, with the names of all kinds.
func (Kind) Schema(huma.Registry) *huma.Schema {
	s := &huma.Schema{Type: huma.TypeString}
	for _, k := range kind.All() {
		s.Enum = append(s.Enum, string(k))
	}
	return s
}
