package httpapi

import (
	"context"
	"net/http"
)

type healthOutput struct {
	Body struct {
		Status string `json:"status" enum:"ok" doc:"It answers"`
	}
}

func registerHealth(api *API) {
	Register(api, Operation(ForCallers, http.MethodGet, "/healthz", "health", "Is the function up?", "Answers without a look at DynamoDB."),
		func(context.Context, *struct{}) (*healthOutput, error) {
			out := &healthOutput{}
			out.Body.Status = "ok"
			return out, nil
		})
}
