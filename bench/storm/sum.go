package storm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/bench/lambda"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// second has the results of the writes that began in one second.
type second struct {
	Second      int
	Storm       bool
	Offered     int
	Accepted    int
	Refused     int   // 429 by the API
	NoContainer int   // 429 because no container was free
	Other       int   // other answers, or none
	Shards      int   // the key's shard count at the end; 0 is unknown
	Throttled   int64 // attempts that the limiter throttled
}

// run has the measurements of one run of a scenario.
type run struct {
	Seconds []second
	Storms  []outcome

	Accepted int // in all phases
	Found    int // by strong reads afterwards
	Misread  int // reads of all events that missed or repeated an event

	Steps    []step
	Others   []other
	MapReads float64 // of the shard map, with the measurement's own each second

	WriteUnits float64
	Throttled  int64
	Functions  map[string]lambda.Stats
}

// right reports whether strong reads find all accepted writes, and none that certainly failed. Writes with other answers may
// have been applied.
func (r run) right() bool {
	others := 0
	for _, s := range r.Seconds {
		others += s.Other
	}
	return r.Found >= r.Accepted && r.Found <= r.Accepted+others
}

// outcome has the results of one storm.
type outcome struct {
	At          int // second
	Seconds     int
	Offered     int
	Accepted    float64 // percent, as the next three
	Refused     float64
	NoContainer float64
	Other       float64
	Calm        int // seconds until all later seconds accepted 99 % or more; -1 for never
}

// step is a change of a shard count. At is when it takes effect, in seconds after the first storm's start.
type step struct {
	At     float64
	Shards int
}

type other struct {
	What  string
	Times int
}

// storms returns the outcome of each storm: of each run of seconds with Storm.
func storms(seconds []second) (list []outcome) {
	for begin := 0; begin < len(seconds); begin++ {
		if !seconds[begin].Storm {
			continue
		}
		end := begin
		for end < len(seconds) && seconds[end].Storm {
			end++
		}
		list = append(list, outcomeOf(seconds[begin:end]))
		begin = end
	}
	return list
}

// outcomeOf returns the outcome of one storm's seconds.
func outcomeOf(seconds []second) outcome {
	o := outcome{At: seconds[0].Second, Seconds: len(seconds)}
	var sum second
	for _, s := range seconds {
		sum.Offered += s.Offered
		sum.Accepted += s.Accepted
		sum.Refused += s.Refused
		sum.NoContainer += s.NoContainer
		sum.Other += s.Other
		if (s.Offered-s.Accepted)*100 > s.Offered {
			o.Calm = s.Second + 1 - o.At
		}
	}
	if o.Calm == len(seconds) {
		o.Calm = -1
	}
	o.Offered = sum.Offered
	o.Accepted, o.Refused = percent(sum.Accepted, sum.Offered), percent(sum.Refused, sum.Offered)
	o.NoContainer, o.Other = percent(sum.NoContainer, sum.Offered), percent(sum.Other, sum.Offered)
	return o
}

func percent(part, of int) float64 { return 100 * float64(part) / float64(max(1, of)) }

// sumUp waits until reads are no longer throttled, and returns the run's measurements.
func (st *storm) sumUp(ctx context.Context) (run, error) {
	r := run{Seconds: st.seconds, Storms: storms(st.seconds), Misread: st.misread, Throttled: st.throttled(), Functions: st.fleet.Stats()}
	r.charge(st.system.Charged())
	for _, s := range st.seconds {
		r.Accepted += s.Accepted
	}
	for what, times := range st.others {
		r.Others = append(r.Others, other{what, times})
	}
	slices.SortFunc(r.Others, func(a, b other) int { return b.Times - a.Times })
	time.Sleep(2 * time.Second)
	count, err := st.shards(ctx)
	if err == nil {
		r.Steps, err = steps(count.History, st.began.Add(time.Duration(r.Storms[0].At)*time.Second))
	}
	if err == nil {
		r.Found, err = st.found(ctx)
	}
	return r, err
}

func (r *run) charge(charged throttle.Stats) {
	r.WriteUnits = charged.WriteUnits
	for _, s := range charged.Spaces {
		if strings.HasSuffix(s.Table, "shard-map") {
			r.MapReads += s.ReadUnits
		}
	}
}

// steps returns the shard counts after the storm's start.
func steps(history []httpapi.ShardChange, storm time.Time) (list []step, err error) {
	for _, c := range history {
		at, err := time.Parse(time.RFC3339, c.Time)
		if err != nil {
			return nil, fmt.Errorf("the key's history: %w", err)
		}
		list = append(list, step{at.Sub(storm).Seconds(), c.Shards})
	}
	return list, nil
}
