package lambda

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"

	"github.com/aws/aws-lambda-go/events"
)

// eventOf returns a request as the JSON of API Gateway's event for an HTTP API, payload format 2.0.
func eventOf(r *http.Request, id string) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	e := events.APIGatewayV2HTTPRequest{
		Version: "2.0", RawPath: r.URL.Path, RawQueryString: r.URL.RawQuery, Headers: map[string]string{"host": r.Host}, Body: string(body),
		RequestContext: events.APIGatewayV2HTTPRequestContext{RequestID: id, Stage: "$default"},
	}
	e.RequestContext.HTTP.Method, e.RequestContext.HTTP.Path = r.Method, r.URL.Path
	for name, values := range r.Header {
		e.Headers[strings.ToLower(name)] = strings.Join(values, ",")
	}
	if !utf8.Valid(body) {
		e.Body, e.IsBase64Encoded = base64.StdEncoding.EncodeToString(body), true
	}
	return json.Marshal(e)
}

// writeResponse writes a function's response as an HTTP response.
func writeResponse(w http.ResponseWriter, text []byte) error {
	var out events.APIGatewayV2HTTPResponse
	if err := json.Unmarshal(text, &out); err != nil || out.StatusCode < 100 || out.IsBase64Encoded {
		return fmt.Errorf("the function's response %.100q is no response of an API with JSON: %w", text, err)
	}
	for name, value := range out.Headers {
		w.Header().Set(name, value)
	}
	w.WriteHeader(out.StatusCode)
	_, err := io.WriteString(w, out.Body)
	return err
}
