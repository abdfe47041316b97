package ingest

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/limits"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

type limitInput = bodyInput[limitInputBody]

type limitInputBody struct {
	Key    httpapi.Name     `json:"key" example:"login/ann"`
	Limit  int64            `json:"limit" minimum:"1" maximum:"1000000000" example:"100" doc:"Allowed hits in a window"`
	Window httpapi.Duration `json:"window" doc:"Whole seconds, 1s to 720h. Windows are multiples of it since the Unix epoch"`
}

type limitAnswer struct {
	Allowed   bool   `json:"allowed" doc:"True if the hit is allowed"`
	Used      int64  `json:"used" doc:"Allowed hits in the window, with this one. With several write shards, recent hits may be missing: of the last second, or of the last N/16 seconds with more than 16"`
	Remaining int64  `json:"remaining" doc:"The limit minus used"`
	ResetsAt  string `json:"resets_at" format:"date-time" doc:"End of the window"`
}

// limitOutput has headers for a rejected hit only. Those of the quota are of draft-ietf-httpapi-ratelimit-headers.
type limitOutput struct {
	RetryAfter string `header:"Retry-After" doc:"For a rejected hit: seconds until the window ends"`
	Policy     string `header:"RateLimit-Policy" doc:"For a rejected hit: the quota q of the limit, and its window w in seconds"`
	Left       string `header:"RateLimit" doc:"For a rejected hit: the remaining quota r, and the seconds t until the window ends"`
	Body       limitAnswer
}

// hitLimit counts a hit if the limit allows it. A denied hit is a response and not an error.
func (s *Service) hitLimit(ctx context.Context, in *limitInput) (*limitOutput, error) {
	if fault := in.Body.Window.Within(limits.MinWindow, limits.MaxWindow, time.Second); fault != "" {
		return nil, httpapi.InvalidAt("body.window", fault, in.Body.Window.String())
	}
	limit, now := limits.Limit{Key: string(in.Body.Key), Max: in.Body.Limit, Window: in.Body.Window.Duration}, s.now()
	if in.keyed() {
		answer, err := decideOnce(ctx, s, &in.CallKey, now, func(ctx context.Context) ([]shardmap.Write, limitAnswer, error) {
			writes, v, err := s.limiter.HitTransact(ctx, limit, now)
			return writes, answerOfHit(v), err
		})
		return outputOfHit(limit, answer, now), err
	}
	v, err := s.limiter.Hit(ctx, limit, now)
	if err != nil {
		return nil, noneAccepted(ctx, []error{err})
	}
	return outputOfHit(limit, answerOfHit(v), now), nil
}

// outputOfHit returns the output of a hit at a time.
func outputOfHit(limit limits.Limit, answer limitAnswer, now time.Time) *limitOutput {
	out := &limitOutput{Body: answer}
	if answer.Allowed {
		return out
	}
	resets, _ := time.Parse(time.RFC3339, answer.ResetsAt)
	left := int64(math.Ceil(max(0, resets.Sub(now).Seconds())))
	out.RetryAfter = strconv.FormatInt(left, 10)
	out.Policy = fmt.Sprintf(`"limit";q=%d;w=%d`, limit.Max, int64(limit.Window.Seconds()))
	out.Left = fmt.Sprintf(`"limit";r=%d;t=%d`, answer.Remaining, left)
	return out
}

func answerOfHit(v limits.Verdict) limitAnswer {
	return limitAnswer{v.Allowed, v.Used, v.Remaining, httpapi.FormatTime(v.Resets)}
}
