package ingest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

type limitInput = bodyInput[limitInputBody]

// limitInputBody has one limit, or a list of limits.
type limitInputBody struct {
	Key     httpapi.Name  `json:"key,omitempty" example:"login/ann"`
	Limit   int64         `json:"limit,omitempty" minimum:"1" maximum:"1000000000" example:"100" doc:"Allowed hits in a window"`
	Window  *limitWindow  `json:"window,omitempty"`
	Hits    *int64        `json:"hits,omitempty" nullable:"false" doc:"A whole number other than 0, 1 by default. A negative number gives hits back; used never falls below 0"`
	Sliding *bool         `json:"sliding,omitempty" nullable:"false" doc:"Also counts the previous window's hits, weighted by the part of that window which the last window still covers"`
	Limits  []limitedHits `json:"limits,omitempty" minItems:"1" maxItems:"10" doc:"Several limits, instead of the other members. All hits are counted, or none"`
}

// TransformSchema documents that a body has one of two forms.
func (limitInputBody) TransformSchema(_ huma.Registry, s *huma.Schema) *huma.Schema {
	s.Extensions = map[string]any{"oneOf": []map[string]any{{"required": limitMembers}, {"required": []string{"limits"}}}}
	return s
}

var limitMembers = []string{"key", "limit", "window"}

// limitedHits has the hits of one of several limits.
type limitedHits struct {
	Key     httpapi.Name `json:"key" example:"tokens/ann"`
	Limit   int64        `json:"limit" minimum:"1" maximum:"1000000000" example:"10000" doc:"Allowed hits in a window"`
	Window  limitWindow  `json:"window"`
	Hits    *int64       `json:"hits,omitempty" nullable:"false" doc:"As for one limit" example:"250"`
	Sliding *bool        `json:"sliding,omitempty" nullable:"false" doc:"As for one limit"`
}

// limitWindow is a window's length.
type limitWindow struct{ httpapi.Duration }

// Schema describes the window in the OpenAPI document.
func (limitWindow) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{
		Type: huma.TypeString, Examples: []any{"1h"},
		Description: "A duration of whole seconds, 1s to 720h, or month. Windows are multiples of it since the Unix epoch, or calendar months in UTC",
	}
}

// UnmarshalText parses a window.
func (w *limitWindow) UnmarshalText(text []byte) error {
	if string(text) == "month" {
		w.Duration.Duration = limits.Month
		return nil
	}
	return w.Duration.UnmarshalText(text)
}

// parse returns the hits of the body's limit or limits. Its error has the faults of the body's form, or else the first
// fault of each limit.
func (b *limitInputBody) parse() ([]limits.Hits, error) {
	if faults := b.formFaults(); faults != nil {
		return nil, httpapi.Invalid(faults...)
	}
	list := b.Limits
	if list == nil {
		list = []limitedHits{{b.Key, b.Limit, *b.Window, b.Hits, b.Sliding}}
	}
	var hits []limits.Hits
	var faults []error
	for i, limited := range list {
		parsed, fault := limited.parse()
		if fault == nil {
			fault = repeatedFault(parsed, hits)
		}
		if fault != nil {
			location := "body."
			if b.Limits != nil {
				location = fmt.Sprintf("body.limits[%d].", i)
			}
			fault.Location = location + fault.Location
			faults = append(faults, fault)
		}
		hits = append(hits, parsed)
	}
	if faults != nil {
		return nil, httpapi.Invalid(faults...)
	}
	return hits, nil
}

// formFaults returns the faults of a body that is neither one limit nor a list of limits.
func (b *limitInputBody) formFaults() (faults []error) {
	if b.Limits != nil {
		if b.Key != "" || b.Limit != 0 || b.Window != nil || b.Hits != nil || b.Sliding != nil {
			faults = append(faults, &huma.ErrorDetail{Location: "body.limits", Message: "it must not be given beside the members of one limit"})
		}
		return faults
	}
	given := map[string]bool{"key": b.Key != "", "limit": b.Limit != 0, "window": b.Window != nil}
	for _, name := range limitMembers {
		if !given[name] {
			faults = append(faults, &huma.ErrorDetail{Location: "body", Message: "expected required property " + name + " to be present"})
		}
	}
	return faults
}

// parse returns the hits, or the fault of an invalid field. The fault's location is relative to the limit.
func (b limitedHits) parse() (limits.Hits, *huma.ErrorDetail) {
	window, n := b.Window.Duration, int64(1)
	if b.Hits != nil {
		n = *b.Hits
	}
	if fault := window.Within(limits.MinWindow, limits.MaxWindow, time.Second); fault != "" && window.Duration != limits.Month {
		return limits.Hits{}, &huma.ErrorDetail{Location: "window", Message: fault + ", or month", Value: window.String()}
	}
	if n == 0 {
		return limits.Hits{}, &huma.ErrorDetail{Location: "hits", Message: "it must not be 0", Value: n}
	}
	limit := limits.Limit{Key: string(b.Key), Max: b.Limit, Window: window.Duration, Sliding: b.Sliding != nil && *b.Sliding}
	return limits.Hits{Limit: limit, N: n}, nil
}

// repeatedFault returns a fault if an earlier limit has the same key and window as the hits, else nil.
func repeatedFault(hits limits.Hits, earlier []limits.Hits) *huma.ErrorDetail {
	first := slices.IndexFunc(earlier, func(e limits.Hits) bool { return e.Key == hits.Key && e.Window == hits.Window })
	if first < 0 {
		return nil
	}
	return &huma.ErrorDetail{Location: "key", Message: fmt.Sprintf("limits[%d] has the same key and window", first), Value: hits.Key}
}

type limitAnswer struct {
	Allowed   bool         `json:"allowed" doc:"True if the hits are allowed, of all limits"`
	Used      *int64       `json:"used,omitempty" doc:"Of one limit: as for several"`
	Remaining *int64       `json:"remaining,omitempty" doc:"Of one limit: as for several"`
	ResetsAt  string       `json:"resets_at,omitempty" format:"date-time" doc:"Of one limit: as for several"`
	Limits    []limitState `json:"limits,omitempty" doc:"Of several limits, in their order"`
}

type limitState struct {
	Key       httpapi.Name `json:"key"`
	Allowed   bool         `json:"allowed" doc:"False if this limit rejects its hits"`
	Used      int64        `json:"used" doc:"Allowed hits in the window, with this call's, and the weighted ones of the previous window if the limit slides. With several limits or write shards, recent hits of other processes may be missing: of the last second, or of the last N/16 seconds with more than 16"`
	Remaining int64        `json:"remaining" doc:"The limit minus used"`
	ResetsAt  string       `json:"resets_at" format:"date-time" doc:"End of the window"`
}

// limitOutput has headers for a rejected hit only. draft-ietf-httpapi-ratelimit-headers defines the last two.
type limitOutput struct {
	RetryAfter string `header:"Retry-After" doc:"For a rejected hit: seconds until it would be allowed, if no others come"`
	Policy     string `header:"RateLimit-Policy" doc:"For a rejected hit: the quota q of the limit that rejects it for the longest time, and its window w in seconds"`
	Quota      string `header:"RateLimit" doc:"For a rejected hit: the remaining quota r of this limit, and the seconds t of Retry-After"`
	Body       limitAnswer
}

// hitLimit counts hits if all limits allow them. A rejected hit is a response and not an error.
func (s *Service) hitLimit(ctx context.Context, in *limitInput) (*limitOutput, error) {
	hits, err := in.Body.parse()
	if err != nil {
		return nil, err
	}
	now := s.now()
	verdicts, err := s.countHits(ctx, &in.CallKey, hits, now)
	if err != nil {
		return nil, err
	}
	out := &limitOutput{Body: answerOfHits(hits, verdicts)}
	if in.Body.Limits == nil {
		v := out.Body.Limits[0]
		out.Body = limitAnswer{Allowed: v.Allowed, Used: &v.Used, Remaining: &v.Remaining, ResetsAt: v.ResetsAt}
	}
	if !out.Body.Allowed {
		out.setRejectionHeaders(hits, verdicts, now)
	}
	return out, nil
}

// countHits counts hits if all limits allow them, once for a keyed call. It returns each limit's verdict.
func (s *Service) countHits(ctx context.Context, key *CallKey, hits []limits.Hits, now time.Time) ([]limits.Verdict, error) {
	if key.keyed() {
		return applyOnce(ctx, s, key, now, func(ctx context.Context) ([]shardmap.Write, []limits.Verdict, error) {
			return s.limiter.HitTransact(ctx, hits, now)
		})
	}
	verdicts, err := s.limiter.HitAll(ctx, hits, now)
	if err != nil {
		return nil, noneAccepted(ctx, []error{err})
	}
	return verdicts, nil
}

func answerOfHits(hits []limits.Hits, verdicts []limits.Verdict) limitAnswer {
	answer := limitAnswer{Allowed: true}
	for i, v := range verdicts {
		answer.Allowed = answer.Allowed && v.Allowed
		answer.Limits = append(answer.Limits, limitState{httpapi.Name(hits[i].Key), v.Allowed, v.Used, v.Remaining, httpapi.FormatTime(v.Resets)})
	}
	return answer
}

// setRejectionHeaders sets the headers of the limit that rejects its hits for the longest time.
func (out *limitOutput) setRejectionHeaders(hits []limits.Hits, verdicts []limits.Verdict, now time.Time) {
	longest := 0
	for i, v := range verdicts {
		if v.Retry.After(verdicts[longest].Retry) {
			longest = i
		}
	}
	v, limit := verdicts[longest], hits[longest].Limit
	windowStart := limit.Start(v.Resets.Add(-1)) // of the window that ends at Resets
	retrySeconds := int64(math.Ceil(max(0, v.Retry.Sub(now).Seconds())))
	out.RetryAfter = strconv.FormatInt(retrySeconds, 10)
	out.Policy = fmt.Sprintf(`"limit";q=%d;w=%d`, limit.Max, int64(v.Resets.Sub(windowStart).Seconds()))
	out.Quota = fmt.Sprintf(`"limit";r=%d;t=%d`, v.Remaining, retrySeconds)
}
