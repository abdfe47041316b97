package storm

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/aws/lambda"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// second has the results of the writes that began in one second.
type second struct {
	Second       int   `json:"second"`
	Storm        bool  `json:"storm"`
	Offered      int   `json:"offered"`
	Accepted     int   `json:"accepted"`
	Refused      int   `json:"refused"`      // 429 by the API
	NoContainer  int   `json:"no_container"` // 429 because no container was free
	Other        int   `json:"other"`        // other answers, or none
	QuietOffered int   `json:"quiet_offered,omitempty"`
	QuietRefused int   `json:"quiet_refused,omitempty"`
	Shards       int   `json:"shards"`    // the first key's shard count at the end; 0 is unknown
	Throttled    int64 `json:"throttled"` // attempts that the limiter throttled
}

// run has the measurements of one run of a scenario.
type run struct {
	Began   time.Time `json:"began"`
	Seconds []second  `json:"seconds"`
	Storms  []outcome `json:"storms"`

	Accepted int `json:"accepted"` // in all phases
	Found    int `json:"found"`    // by strong reads afterwards; -1 if all writes are of one item
	Misread  int `json:"misread"`  // reads of all events that missed or repeated an event

	Steps    []step  `json:"steps"`          // of the first key
	Grown    int     `json:"grown"`          // stormed keys that grew
	GrownAt  float64 `json:"last_grown_s"`   // seconds until each of them had grown once; -1 for none
	GrownToo int     `json:"grown_too"`      // quiet keys that grew
	Others   []other `json:"others"`         // other answers
	MapReads float64 `json:"map_read_units"` // of the shard map, with the measurement's own each second

	MapWrites  float64                 `json:"map_write_units"`
	WriteUnits float64                 `json:"write_units"`
	Throttled  int64                   `json:"throttled"`
	Containers map[string]lambda.Stats `json:"containers"` // none with one process
	Quota      lambda.QuotaStats       `json:"quota"`      // shared by the HTTP functions

	Reserved map[string]lambda.QuotaStats `json:"reserved"` // of the stream's functions
}

// right reports whether strong reads find all accepted writes, and none that certainly failed. Writes with other answers may
// have been applied.
func (r run) right() bool {
	others := 0
	for _, s := range r.Seconds {
		others += s.Other
	}
	return r.Found < 0 || r.Found >= r.Accepted && r.Found <= r.Accepted+others
}

// outcome has the results of one storm.
type outcome struct {
	At           int     `json:"at_s"`
	Seconds      int     `json:"seconds"`
	Offered      int     `json:"offered"`
	Accepted     float64 `json:"accepted_percent"`
	Refused      float64 `json:"refused_percent"`
	NoContainer  float64 `json:"no_container_percent"`
	Other        float64 `json:"other_percent"`
	QuietRefused float64 `json:"quiet_refused_percent"`
	Calm         int     `json:"calm_s"` // seconds until all later seconds accepted 99 % or more; -1 for never
}

// step is a change of a shard count. At is when it takes effect, in seconds after the first storm's start.
type step struct {
	At     float64 `json:"at_s"`
	Shards int     `json:"shards"`
	By     string  `json:"by"`
}

type other struct {
	What  string `json:"what"`
	Times int    `json:"times"`
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
		sum.QuietOffered += s.QuietOffered
		sum.QuietRefused += s.QuietRefused
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
	o.QuietRefused = percent(sum.QuietRefused, sum.QuietOffered)
	return o
}

func percent(part, of int) float64 { return 100 * float64(part) / float64(max(1, of)) }

// sumUp waits until reads are no longer throttled, and returns the run's measurements.
func (st *storm) sumUp(ctx context.Context) (run, error) {
	r := run{
		Began: st.began.UTC(), Seconds: st.seconds, Storms: storms(st.seconds), Misread: st.misread,
		Containers: st.system.Containers(), Quota: st.system.Concurrency(), Reserved: st.system.Reserved(), Throttled: throttled(st.system),
	}
	r.charge(st.system.Charged())
	for _, s := range st.seconds {
		r.Accepted += s.Accepted
	}
	for what, times := range st.others {
		r.Others = append(r.Others, other{what, times})
	}
	slices.SortFunc(r.Others, func(a, b other) int { return b.Times - a.Times })
	time.Sleep(2 * time.Second)
	grown, err := st.grownKeys(ctx)
	if err != nil {
		return r, err
	}
	if err := r.growth(grown, st.began.Add(time.Duration(r.Storms[0].At)*time.Second)); err != nil {
		return r, err
	}
	if r.Found = -1; st.Kind.name != again.name {
		r.Found, err = st.found(ctx)
	}
	return r, err
}

func (r *run) charge(charged throttle.Stats) {
	r.WriteUnits = charged.WriteUnits
	for _, s := range charged.Spaces {
		if strings.HasSuffix(s.Table, "shard-map") {
			r.MapReads += s.ReadUnits
			r.MapWrites += s.WriteUnits
		}
	}
}

// growth sets which keys grew, and when.
func (r *run) growth(grown []httpapi.ShardCount, storm time.Time) error {
	r.GrownAt = -1
	for _, k := range grown {
		if !strings.HasPrefix(string(k.Name), "hot") {
			r.GrownToo++
			continue
		}
		r.Grown++
		for i, c := range k.History {
			at, err := time.Parse(time.RFC3339, c.Time)
			if err != nil {
				return fmt.Errorf("history of %s: %w", k.Name, err)
			}
			after := at.Sub(storm).Seconds()
			if i == 0 {
				r.GrownAt = max(r.GrownAt, after)
			}
			if k.Name == "hot" {
				r.Steps = append(r.Steps, step{after, c.Shards, c.By})
			}
		}
	}
	return nil
}
