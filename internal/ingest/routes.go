package ingest

import (
	"net/http"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/httpapi"
)

// Routes registers the service's calls. A nil service serves to document them.
func Routes(s *Service) httpapi.Routes {
	return func(api huma.API) {
		huma.Register(api, operation(http.MethodPost, "/v1/events", "put-events", "Write events"), s.putEvents)
		huma.Register(api, operation(http.MethodPost, "/v1/counters", "add-counters", "Add to counters"), s.addCounters)
		huma.Register(api, operation(http.MethodPut, "/v1/shards", "put-shards", "Pin a shard count"), s.putShards)
	}
}

func operation(method, path, id, summary string) huma.Operation {
	op := httpapi.Operation(method, path, id, summary)
	op.Errors = append(op.Errors, http.StatusConflict, http.StatusRequestEntityTooLarge)
	return op
}

// Status is what became of one item of a call.
type Status string

// The statuses. A rejected item found no capacity and was not written.
const (
	Accepted Status = "accepted"
	Rejected Status = "rejected"
)
