package ingest

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// Routes registers the service's calls. The service may be nil to document them.
func Routes(service *Service) httpapi.Routes {
	return func(api *httpapi.API) {
		write(api, service, httpapi.ForCallers, http.MethodPost, "/v1/events", "put-events", "Write events",
			"Writes 1 to 500 events. Each is accepted or rejected by itself. Entity, id and time identify an event: another one with the same three replaces it. The results are in the order of the events.", service.putEvents)
		write(api, service, httpapi.ForCallers, http.MethodPost, "/v1/counters", "add-counters", "Add to counters",
			"Makes 1 to 500 increments. Those of one counter are one write, and are accepted or rejected together. The results are in the order of the increments.", service.addCounters)
		write(api, service, httpapi.ForOperators, http.MethodPut, "/v1/leaderboards", "put-leaderboard", "Set up a leaderboard",
			"Replaces a board's settings. A board without settings keeps the best score of each player, of all time. The mode can't change after the first score.", service.putBoard)
		write(api, service, httpapi.ForCallers, http.MethodPost, "/v1/scores", "submit-scores", "Send scores",
			"Sends 1 to 500 scores to one board. The board's mode decides how a score changes its player's entry. The results are in the order of the scores.", service.submitScores)
		write(api, service, httpapi.ForCallers, http.MethodPut, "/v1/sessions", "put-session", "Start or renew a session",
			"Starts a session, or renews it. It is active for its ttl after the last renewal.", service.putSession)
		write(api, service, httpapi.ForCallers, http.MethodDelete, "/v1/sessions", "end-session", "End a session",
			"Ends a session now. It also succeeds if there is no such session.", service.endSession)
		write(api, service, httpapi.ForCallers, http.MethodPost, "/v1/limits", "hit-limit", "Count hits against limits",
			"Allows and counts hits of 1 to 10 limits if none of their windows then has more allowed hits than the limit, and counts none otherwise. It never allows more hits than the limit. Without an Idempotency-Key, hits may count twice if the call is retried; so may hits that are given back, which allows more than the limit.", service.hitLimit)
		write(api, service, httpapi.ForOperators, http.MethodPut, "/v1/shards", "put-shards", "Pin a shard count",
			"Sets a key's number of write shards, for example ahead of a known peak. The number stays until the pin ends; then the controller may change it.", service.putShards)
	}
}

// write registers a call with the service's deadline.
func write[I, O any](api *httpapi.API, service *Service, who httpapi.Audience, method, path, id, summary, description string,
	call func(context.Context, *I) (*O, error),
) {
	op := httpapi.Operation(who, method, path, id, summary, description)
	op.Errors = append(op.Errors, http.StatusConflict)
	httpapi.Register(api, op, func(ctx context.Context, in *I) (*O, error) {
		ctx, cancel := context.WithTimeout(ctx, service.settings.Deadline)
		defer cancel()
		return call(ctx, in)
	})
}

// Status is the result of one item of a call.
type Status string

// The statuses. A rejected item was throttled or failed. It was not written, unless its detail says otherwise.
const (
	Accepted Status = "accepted"
	Rejected Status = "rejected"
)

// Schema describes the status in the OpenAPI document.
func (Status) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Enum: []any{string(Accepted), string(Rejected)},
		Description: "Whether the item was accepted. A rejected item was not written, unless its detail says otherwise",
	}
}

// Counts holds the numbers of accepted and rejected items. It is exported because the OpenAPI document omits unexported
// embedded types.
type Counts struct {
	Accepted int `json:"accepted" doc:"Number of accepted items"`
	Rejected int `json:"rejected" doc:"Number of rejected items; each has a detail"`
}

// countItem counts an item by its error, and returns its status and detail.
func (c *Counts) countItem(err error) (status Status, detail string) {
	if err != nil {
		c.Rejected++
		return Rejected, rejection(err)
	}
	c.Accepted++
	return Accepted, ""
}

// maybeWritten ends the detail of an item with an unknown outcome.
const maybeWritten = "; it may have been written"

// rejection returns the detail of a rejected item. It ends with maybeWritten if the outcome is unknown.
func rejection(err error) string {
	if errors.Is(err, shard.ErrThrottled) || errors.Is(err, shard.ErrStale) || errors.Is(err, boards.ErrScoreRange) {
		return httpapi.Detail(err)
	}
	return httpapi.Detail(err) + maybeWritten
}

// worstError returns the error that decides the response if no item was accepted. Unknown errors are the worst, then an
// unavailable DynamoDB or a stale shard map, then throttling, then invalid scores.
func worstError(errs []error) error {
	rank := func(err error) int {
		switch {
		case errors.Is(err, boards.ErrScoreRange):
			return 0
		case errors.Is(err, shard.ErrThrottled):
			return 1
		case errors.Is(err, shard.ErrUnavailable), errors.Is(err, shard.ErrStale):
			return 2
		}
		return 3
	}
	return slices.MaxFunc(errs, func(a, b error) int { return cmp.Compare(rank(a), rank(b)) })
}

// noneAccepted returns the error response of a call without an accepted item, by the worst of errs. The response has
// the faults only if that error is an invalid score.
func noneAccepted(ctx context.Context, errs []error, faults ...error) error {
	err := worstError(errs)
	if errors.Is(err, boards.ErrScoreRange) {
		return httpapi.Invalid(faults...)
	}
	return httpapi.Problem(ctx, err, rejection(err))
}
