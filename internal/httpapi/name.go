package httpapi

import (
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/danielgtaylor/huma/v2"
)

// Name is a caller's name of an entity, a counter, a board, a player or an id. It is any UTF-8 text of 1 to 512 bytes
// without control characters.
type Name string

// MaxName is the maximum length of a name, in bytes.
const MaxName = 512

// Resolve validates the name of a request.
func (n Name) Resolve(_ huma.Context, at *huma.PathBuffer) []error {
	if fault := n.Fault(); fault != "" {
		return []error{&huma.ErrorDetail{Location: at.String(), Message: fault, Value: string(n)}}
	}
	return nil
}

// Fault returns why the text is not a valid name, or "". It returns "" for an empty name too, which the schema rejects.
func (n Name) Fault() string {
	switch {
	case len(n) == 0:
		return ""
	case len(n) > MaxName:
		return fmt.Sprintf("it has %d bytes, and %d at most are allowed", len(n), MaxName)
	case !utf8.ValidString(string(n)):
		return "it is not UTF-8"
	}
	for _, r := range string(n) {
		if unicode.IsControl(r) {
			return fmt.Sprintf("it has the control character %U", r)
		}
	}
	return ""
}

// Schema describes a name in the OpenAPI document.
func (Name) Schema(huma.Registry) *huma.Schema {
	least := 1
	return &huma.Schema{
		Type: huma.TypeString, MinLength: &least,
		Description: "UTF-8 text of 1 to 512 bytes without control characters",
	}
}
