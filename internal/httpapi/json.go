package httpapi

import (
	"bytes"
	"io"
	"mime"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// jsonType is the media type of all bodies, in both directions; problems have theirs.
const jsonType = "application/json"

// onlyJSON is an API that knows one format. Nothing is negotiated: whatever a client
// says that it accepts, it gets JSON.
type onlyJSON struct{ huma.API }

// Negotiate returns the one format.
func (onlyJSON) Negotiate(string) (string, error) { return jsonType, nil }

// Marshal writes an answer. That the client has left is no error: what was asked for is
// done.
func (onlyJSON) Marshal(w io.Writer, _ string, answer any) error {
	var text bytes.Buffer
	if err := huma.DefaultJSONFormat.Marshal(&text, answer); err != nil {
		return err
	}
	_, _ = w.Write(text.Bytes())
	return nil
}

// Unmarshal reads a body; onlyJSONBodies has seen to its media type.
func (onlyJSON) Unmarshal(_ string, text []byte, into any) error { return unmarshal(text, into) }

// onlyJSONBodies refuses bodies that don't say that they are JSON. A page of any web
// site may send a body without a media type, or with a few others, and a browser asks
// nobody before it does.
func onlyJSONBodies(api huma.API) func(huma.Context, func(huma.Context)) {
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
	charset := parameters["charset"]
	json := kind == jsonType || strings.HasPrefix(kind, "application/") && strings.HasSuffix(kind, "+json")
	return err == nil && json && (charset == "" || strings.EqualFold(charset, "utf-8"))
}

func isPlain(encoding string) bool { return encoding == "" || strings.EqualFold(encoding, "identity") }
