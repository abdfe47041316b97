package process

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"unicode/utf8"
)

// event is API Gateway's event for an HTTP API, payload format 2.0, see
// https://docs.aws.amazon.com/apigateway/latest/developerguide/http-api-develop-integrations-lambda.html.
type event struct {
	Version         string            `json:"version"`
	RouteKey        string            `json:"routeKey"`
	RawPath         string            `json:"rawPath"`
	RawQueryString  string            `json:"rawQueryString"`
	Headers         map[string]string `json:"headers"`
	RequestContext  requestContext    `json:"requestContext"`
	Body            string            `json:"body,omitempty"`
	IsBase64Encoded bool              `json:"isBase64Encoded"`
}

type requestContext struct {
	RequestID string      `json:"requestId"`
	Stage     string      `json:"stage"`
	HTTP      httpContext `json:"http"`
}

type httpContext struct {
	Method   string `json:"method"`
	Path     string `json:"path"`
	Protocol string `json:"protocol"`
}

// eventOf returns a request as the JSON of an event.
func eventOf(r *http.Request, id string) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, fmt.Errorf("reading the request: %w", err)
	}
	e := event{
		Version: "2.0", RouteKey: "$default", RawPath: r.URL.Path, RawQueryString: r.URL.RawQuery,
		Headers: map[string]string{"host": r.Host},
		Body:    string(body),
		RequestContext: requestContext{RequestID: id, Stage: "$default", HTTP: httpContext{
			Method: r.Method, Path: r.URL.Path, Protocol: r.Proto,
		}},
	}
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
	var out struct {
		StatusCode        int                 `json:"statusCode"`
		Headers           map[string]string   `json:"headers"`
		MultiValueHeaders map[string][]string `json:"multiValueHeaders"`
		Body              string              `json:"body"`
		IsBase64Encoded   bool                `json:"isBase64Encoded"`
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return fmt.Errorf("decoding the function's response %.100q: %w", text, err)
	}
	if out.StatusCode < 100 || out.StatusCode > 999 {
		return fmt.Errorf("the function's response %.100q has no HTTP status", text)
	}
	body := []byte(out.Body)
	if out.IsBase64Encoded {
		var err error
		if body, err = base64.StdEncoding.DecodeString(out.Body); err != nil {
			return fmt.Errorf("decoding the body of the function's response: %w", err)
		}
	}
	for name, value := range out.Headers {
		w.Header().Set(name, value)
	}
	for name, values := range out.MultiValueHeaders {
		w.Header()[http.CanonicalHeaderKey(name)] = values
	}
	w.WriteHeader(out.StatusCode)
	_, err := w.Write(body)
	return err
}
