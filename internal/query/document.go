package query

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/httpapi"
)

// document returns the OpenAPI document of an API that serves no requests. It changes the API's schemas, which would
// otherwise also validate requests.
func document(api huma.API) []byte {
	doc := api.OpenAPI()
	doc.Servers = []*huma.Server{{URL: "/", Description: "Where this document came from"}}
	doc.Tags = []*huma.Tag{
		{Name: "writes", Description: "Calls that change something. With an Idempotency-Key they apply once within 24 hours (a setting, keyLifetime), whatever is retried."},
		{Name: "reads", Description: "Calls that change nothing. HEAD is answered too, as GET is, without a body."},
		{Name: httpapi.OperatorsTag, Description: "Calls that set what holds for all callers, or tell of everybody's keys. A deployment may let only some people make them. With an Idempotency-Key those that change something apply once, as writes do."},
	}
	addSecurity(doc)
	for _, path := range doc.Paths {
		for _, op := range []*huma.Operation{path.Get, path.Post, path.Put, path.Delete} {
			if op != nil {
				correctOperation(op)
			}
		}
	}
	schemas := doc.Components.Schemas.Map()
	schemas["ErrorModel"].Required = []string{"title", "status", "detail"}
	schemas["ErrorDetail"].Required = []string{"message"}
	allowUnknownMembers(doc)
	text, err := json.Marshal(doc)
	if err != nil {
		panic(err) // only a change of the code can cause it
	}
	return text
}

// addSecurity adds the authorization of a deployed API. A local API needs none.
func addSecurity(doc *huma.OpenAPI) {
	doc.Components.SecuritySchemes = map[string]*huma.SecurityScheme{
		"sigv4": {
			Type: "apiKey", In: "header", Name: "Authorization",
			Description: "AWS Signature Version 4, for the service execute-api: what a deployed API asks for unless set up otherwise",
			Extensions:  map[string]any{"x-amazon-apigateway-authtype": "awsSigv4"},
		},
		"jwt": {Type: "http", Scheme: "bearer", BearerFormat: "JWT", Description: "A token of the issuer that the API was deployed with"},
	}
	doc.Security = []map[string][]string{{}, {"sigv4": {}}, {"jwt": {}}}
}

// correctOperation corrects the framework's description of an operation.
func correctOperation(op *huma.Operation) {
	if op.RequestBody != nil {
		delete(op.RequestBody.Content, "application/octet-stream") // the same body as bytes
	}
	op.Responses["401"] = &huma.Response{Description: "Unauthorized: a deployed API got no valid token (JWT)"}
	op.Responses["403"] = &huma.Response{Description: "Forbidden: a deployed API got no valid signature (SigV4), or the caller may not make this call"}
	for _, status := range []int{http.StatusTooManyRequests, http.StatusServiceUnavailable} {
		if answer := op.Responses[strconv.Itoa(status)]; answer != nil {
			answer.Headers = map[string]*huma.Param{"Retry-After": {
				Description: "Seconds to wait before the call is sent again", Schema: &huma.Schema{Type: huma.TypeInteger},
			}}
		}
	}
}

// allowUnknownMembers allows unknown members in responses, so that generated clients accept members that are added
// later. It does not change the schemas of requests.
func allowUnknownMembers(doc *huma.OpenAPI) {
	strict := map[string]bool{}
	for _, path := range doc.Paths {
		for _, op := range []*huma.Operation{path.Post, path.Put} {
			if op != nil && op.RequestBody != nil {
				collectSchemas(doc.Components.Schemas, op.RequestBody.Content["application/json"].Schema, strict)
			}
		}
	}
	for name, s := range doc.Components.Schemas.Map() {
		if !strict[name] && s.AdditionalProperties == false {
			s.AdditionalProperties = nil
		}
	}
}

// collectSchemas adds the names of all schemas that a schema refers to.
func collectSchemas(all huma.Registry, schema *huma.Schema, names map[string]bool) {
	if schema == nil {
		return
	}
	if name := schema.Ref[strings.LastIndex(schema.Ref, "/")+1:]; name != "" && !names[name] {
		names[name] = true
		collectSchemas(all, all.SchemaFromRef(schema.Ref), names)
	}
	collectSchemas(all, schema.Items, names)
	for _, p := range schema.Properties {
		collectSchemas(all, p, names)
	}
}
