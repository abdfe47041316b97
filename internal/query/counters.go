package query

import (
	"context"
	"encoding/json"
	"errors"
	"math/big"
	"reflect"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard/counters"
)

// The values of the consistency parameter, with the items that are read.
const (
	eventual = "eventual" // write shard 0, and the summary of the others
	strong   = "strong"   // all write shards, consistently
)

type countersInput struct {
	Names       []httpapi.Name `query:"name,explode" required:"true" minItems:"1" maxItems:"100" doc:"Name of a counter; may be repeated" example:"page/home"`
	Consistency string         `query:"consistency" enum:"eventual,strong" default:"eventual" doc:"eventual reads write shard 0 and the summary of the others, for half a read unit each; strong reads all write shards consistently"`
}

type counterValue struct {
	Counter     httpapi.Name `json:"counter"`
	Value       wholeNumber  `json:"value,omitzero"`
	AsOf        string       `json:"as_of" format:"date-time" doc:"Time of the read; for an eventual value of several write shards, of the last fold"`
	Shards      int          `json:"shards" doc:"The counter's shard count"`
	Consistency string       `json:"consistency" enum:"eventual,strong" doc:"As requested"`
	Detail      string       `json:"detail,omitempty" doc:"Why there is no value; only for one of several counters"`
}

// wholeNumber is an integer of any size, as a JSON number.
type wholeNumber struct{ *big.Int }

// Schema describes the number in the OpenAPI document.
func (wholeNumber) Schema(huma.Registry) *huma.Schema {
	s, one := httpapi.NumberSchema("The sum of all increments: a whole number, which may have more than 64 bits"), 1.0
	s.MultipleOf = &one
	return s
}

type countersOutput struct {
	Body oneOf[counterValue, counterValues]
}

// counterValues has the values if several were requested.
type counterValues struct {
	Counters countersAnswer `json:"counters" doc:"One for each name, in their order"`
}

type countersAnswer []counterValue

// oneOf is an answer of one of two forms: One, or Other if there is no One.
type oneOf[A, B any] struct {
	One   *A
	Other B
}

// MarshalJSON returns the JSON of One or Other.
func (a oneOf[A, B]) MarshalJSON() ([]byte, error) {
	if a.One != nil {
		return json.Marshal(a.One)
	}
	return json.Marshal(a.Other)
}

// Schema describes both forms in the OpenAPI document.
func (oneOf[A, B]) Schema(r huma.Registry) *huma.Schema {
	return &huma.Schema{OneOf: []*huma.Schema{r.Schema(reflect.TypeFor[A](), true, ""), r.Schema(reflect.TypeFor[B](), true, "")}}
}

// counterReader reads counters' values.
type counterReader struct {
	summaries *counters.Summaries
	shards    *counters.Reader
}

// getCounters returns the requested counters' values.
func (r *counterReader) getCounters(ctx context.Context, in *countersInput, now time.Time) (*countersOutput, error) {
	names := make([]string, len(in.Names))
	for i, n := range in.Names {
		names[i] = string(n)
	}
	readValues := r.readSummaries
	if in.Consistency == strong {
		readValues = r.sumShards
	}
	answer, err := readValues(ctx, names, now)
	if err != nil {
		return nil, err
	}
	out := &countersOutput{}
	out.Body.Other.Counters = answer
	if len(answer) == 1 {
		out.Body.One = &answer[0]
	}
	return out, nil
}

// readSummaries returns the counters' eventual values, in the order of names.
func (r *counterReader) readSummaries(ctx context.Context, names []string, now time.Time) (countersAnswer, error) {
	summaries, err := r.summaries.Read(ctx, names, now)
	if err != nil {
		return nil, err
	}
	answer := make(countersAnswer, len(names))
	for i, sum := range summaries {
		answer[i] = counterValue{httpapi.Name(names[i]), wholeNumber{sum.Value}, httpapi.FormatTime(sum.AsOf), sum.Shards, eventual, ""}
		if sum.Err != nil {
			if err := answer.explainMissing(i, sum.Err); err != nil {
				return nil, err
			}
		}
	}
	return answer, nil
}

// explainMissing replaces the value at i by a detail, because an item of the counter can't be read. If only one counter was
// requested, it returns the error instead.
func (a countersAnswer) explainMissing(i int, err error) error {
	if len(a) == 1 {
		return err
	}
	a[i].Value, a[i].Detail = wholeNumber{}, "an item of this counter can't be read: run hotshard check, which names it"
	return nil
}

// maxSums bounds the concurrent sums of one request.
const maxSums = 8

// sumShards returns the counters' strong values, in the order of names.
func (r *counterReader) sumShards(ctx context.Context, names []string, now time.Time) (countersAnswer, error) {
	answer := make(countersAnswer, len(names))
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxSums)
	for i, name := range names {
		group.Go(func() error {
			sum, err := r.shards.Sum(ctx, name)
			answer[i] = counterValue{httpapi.Name(name), wholeNumber{sum.Value}, httpapi.FormatTime(now), sum.Shards, strong, ""}
			if errors.Is(err, counters.ErrUnreadable) {
				return answer.explainMissing(i, err)
			}
			return err
		})
	}
	return answer, group.Wait()
}
