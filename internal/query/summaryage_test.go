package query

import (
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// TestSummaryAge checks that reads within SummaryAge get the cached summary, also if there was none, with its as_of. An age
// of 0 disables the cache.
func TestSummaryAge(t *testing.T) {
	for age, want := range map[time.Duration]string{0: "7", time.Hour: "0"} {
		r := newRig(t)
		r.serve(r.client, func(s *Settings) { s.SummaryAge = age })
		var first, second counterAnswerJSON
		r.get("/v1/counters?name=x", &first)
		item := dynamo.Key(schema.CounterKey("x", 0))
		item["value"], item["rev"] = dynamo.Number(7), dynamo.Number(7)
		r.putItem(r.names.Items, item)
		r.now = r.now.Add(time.Second)
		r.get("/v1/counters?name=x", &second)
		if second.Value.String() != want || (age > 0) != (second.AsOf == first.AsOf) {
			t.Errorf("age %v: %+v after %+v, want %s", age, second, first, want)
		}
	}
}

func TestSummaryAgeIsBounded(t *testing.T) {
	for _, age := range []time.Duration{-1, time.Hour + 1} {
		_, err := New(Settings{SummaryAge: age}, nil)
		if err == nil || !strings.Contains(err.Error(), "HOTSHARD_SUMMARY_AGE") {
			t.Errorf("%v: %v", age, err)
		}
	}
}
