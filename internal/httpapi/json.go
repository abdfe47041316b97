package httpapi

import (
	"bytes"
	"cmp"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// jsonType is the media type of all bodies except problems.
const jsonType = "application/json"

// jsonAPI is an API with JSON as its only format. It ignores the Accept header.
type jsonAPI struct{ huma.API }

// Negotiate returns the JSON media type.
func (jsonAPI) Negotiate(string) (string, error) { return jsonType, nil }

// Marshal writes a response. If the client is gone, it returns no error, since the call was made.
func (jsonAPI) Marshal(w io.Writer, _ string, answer any) error {
	var text bytes.Buffer
	if err := huma.DefaultJSONFormat.Marshal(&text, answer); err != nil {
		return err
	}
	_, _ = w.Write(text.Bytes())
	return nil
}

// Unmarshal does nothing: inputs call [Decode]. The framework would keep only an error's text.
func (jsonAPI) Unmarshal(string, []byte, any) error { return nil }

// requireJSONBody rejects bodies that are not declared as JSON. Browsers let any web page send other media types
// without a CORS preflight.
func requireJSONBody(api huma.API) func(huma.Context, func(huma.Context)) {
	return func(ctx huma.Context, next func(huma.Context)) {
		if ctx.Operation().RequestBody == nil {
			next(ctx)
			return
		}
		for _, header := range []struct {
			name, want string
			fits       func(string) bool
		}{
			{"Content-Type", "the body must be sent with Content-Type: application/json, in UTF-8", isJSON},
			{"Content-Encoding", "the body must be sent as it is, without a Content-Encoding", isPlain},
		} {
			if sent := ctx.Header(header.name); !header.fits(sent) {
				fault := &huma.ErrorDetail{Location: "header." + header.name, Message: header.want, Value: sent}
				_ = huma.WriteErr(api, ctx, http.StatusUnsupportedMediaType, header.want, fault) // the client may be gone
				return
			}
		}
		next(ctx)
	}
}

func isJSON(contentType string) bool {
	kind, parameters, err := mime.ParseMediaType(contentType)
	utf8 := strings.EqualFold(cmp.Or(parameters["charset"], "utf-8"), "utf-8")
	hasSuffix := strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
	return err == nil && utf8 && (kind == jsonType || hasSuffix)
}

func isPlain(encoding string) bool { return encoding == "" || strings.EqualFold(encoding, "identity") }
