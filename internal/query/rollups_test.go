package query

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/test/require"
)

// putRollup stores a stream shard's fragment of a rollup, of one event for each number.
func (r *rig) putRollup(entity string, at time.Time, streamShard string, more dynamo.Item, numbers ...string) {
	r.t.Helper()
	p := parts.Rollup{}.Clone()
	for _, n := range numbers {
		p.Add(map[string]string{"t": n})
	}
	item := p.Attributes()
	pk, sk := schema.RollupKey(entity, at, streamShard)
	item["pk"], item["sk"] = dynamo.String(pk), dynamo.String(sk)
	maps.Copy(item, more)
	r.putItem(r.names.Rollups, item)
}

// rollups reads rollups as one line each.
func (r *rig) rollups(query string) []string {
	r.t.Helper()
	var answer struct {
		Rollups []struct {
			Start    string
			Count    int
			Measures map[string]map[string]json.Number
			Skipped  int
		}
	}
	mustGet(r.t, r.handler, "/v1/rollups?"+query, &answer)
	lines := []string{}
	for _, b := range answer.Rollups {
		m := b.Measures["t"]
		line := fmt.Sprintf("%s %d: %s of %s, %s to %s, mean %s", b.Start, b.Count, m["sum"], m["count"], m["min"], m["max"], m["avg"])
		if b.Skipped > 0 {
			line += fmt.Sprintf(", skipped %d", b.Skipped)
		}
		lines = append(lines, line)
	}
	return lines
}

func (r *rig) wantRollups(query string, lines ...string) {
	r.t.Helper()
	if diff := cmp.Diff(append([]string{}, lines...), r.rollups(query)); diff != "" {
		r.t.Errorf("%s (-want +got):\n%s", query, diff)
	}
}

// TestRollups checks that the fragments of all stream shards are added up exactly, and which rollups a range has.
func TestRollups(t *testing.T) {
	r := newRig(t)
	entity := "a/b#2026-01#c ü"
	end := time.Date(2026, 1, 31, 22, 0, 0, 0, time.UTC)
	r.putRollup(entity, end, "s1", nil, "1", "2.5")
	r.putRollup(entity, end, "s2", dynamo.Item{"skipped": dynamo.Decimal("3")}, "999999999999999", "-7")
	r.putRollup(entity, end.Add(2*time.Hour), "s1", nil, "1", "1", "0")
	r.putRollup(entity, end.Add(time.Hour), "s1", nil) // no events
	r.putRollup("a/b", end, "s1", nil, "1")

	q := "entity=" + url.QueryEscape(entity)
	first := "2026-01-31T22:00:00.000Z 4: 999999999999995.5 of 4, -7 to 999999999999999, mean 249999999999998.875, skipped 3"
	last := "2026-02-01T00:00:00.000Z 3: 2 of 3, 0 to 1, mean 0.666666666666667"
	r.wantRollups(q+"&from=2026-01-31T00:00:00Z&to=2026-02-02T00:00:00Z", first, last)
	r.wantRollups(q+"&from=2026-01-31T22:59:59Z&to=2026-01-31T22:59:59.5Z", first)
	r.wantRollups(q + "&from=2026-01-31T23:00:00Z&to=2026-02-01T00:00:00Z")
	r.wantRollups(q+"&from=2026-01-31T23:00:00Z&to=2026-02-01T00:00:00.001Z", last)
	r.wantRollups(q + "&from=2026-01-31T22:00:00Z&to=2026-01-31T22:00:00Z")
	r.wantRollups(q+"&from=2026-01-31T23:00:00Z&to=2026-02-01T01:00:00Z&every=120m", first, last)
	r.wantRollups(q+"&from=2026-01-31T12:00:00Z&to=2026-02-01T00:00:01Z&every=1d",
		strings.Replace(first, "T22", "T00", 1), last)
	r.wantRollups("entity=never&from=2026-01-31T00:00:00Z&to=2026-02-02T00:00:00Z")
}

// TestRollupsExpireWhole checks that no fragment of a rollup counts after the retention, although one was folded into
// later and expires later.
func TestRollupsExpireWhole(t *testing.T) {
	r := newRig(t)
	r.serve(r.client, func(s *Settings) { s.RollupRetention = 24 * time.Hour })
	hour := r.now
	late := dynamo.Item{"expires_at": dynamo.Decimal(fmt.Sprint(r.now.Unix() + 9999))}
	r.putRollup("e", hour.Add(-26*time.Hour), "s1", late, "1")
	r.putRollup("e", hour.Add(-23*time.Hour), "s1", late, "2")
	r.wantRollups("entity=e&from="+hour.Add(-48*time.Hour).Format(time.RFC3339),
		hour.Add(-23*time.Hour).Format("2006-01-02T15:04:05.000Z")+" 1: 2 of 1, 2 to 2, mean 2")
}

func TestInvalidRollupParameters(t *testing.T) {
	r := newRig(t)
	for query, location := range map[string]string{
		"":                                   "query.entity",
		"entity=":                            "query.entity",
		"entity=%00":                         "query.entity",
		"entity=a&entity=b":                  "query.entity",
		"entity=e&every=5h":                  "query.every",
		"entity=e&every=":                    "query.every",
		"entity=e&every=30m":                 "query.every",
		"entity=e&every=90m":                 "query.every",
		"entity=e&every=2d":                  "query.every",
		"entity=e&every=48h":                 "query.every",
		"entity=e&every=-1h":                 "query.every",
		"entity=e&every=hourly":              "query.every",
		"entity=e&from=today":                "query.from",
		"entity=e&to=today":                  "query.to",
		"entity=e&from=1970-01-01T00:00:00Z": "query.from",
		"entity=e&from=0001-01-02T00:00:00Z&every=1d":                                  "query.from",
		"entity=e&from=2026-01-05T00:00:00Z&to=2026-01-04T00:00:00Z":                   "query.to",
		"entity=e&from=2026-01-01T00:00:00Z&to=2026-02-11T16:00:00.001Z":               "query.from",
		"entity=e&from=2021-01-01T00:00:00Z&to=2023-09-29T00:00:00Z&every=1d":          "query.from",
		"entity=e&from=2026-01-05T00:00:00Z&to=2026-01-06T00:00:00Z&every=1h&every=1d": "query.every",
	} {
		r.wantInvalid("/v1/rollups?"+query, location)
	}
	r.wantRollups("entity=e&from=2026-01-01T00:00:00Z&to=2026-02-11T16:00:00Z") // 1,000 hours, the maximum
}

// TestDefaultRanges checks that ranges of events and rollups begin 30 days before their end if there is no from. The
// end is now or an earlier to.
func TestDefaultRanges(t *testing.T) {
	events, rollups := &eventReader{span: 720 * time.Hour}, &rollupReader{span: 720 * time.Hour}
	midnight := time.Date(2028, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, now := range []time.Time{midnight, midnight.Add(30 * time.Second), midnight.Add(time.Hour), midnight.Add(-2 * time.Minute), midnight.Add(-30 * time.Second)} {
		for _, to := range []time.Time{{}, now.Add(time.Hour), now.Add(30 * time.Second), now, now.Add(-90 * time.Minute), midnight.Add(-240 * time.Hour)} {
			end := now
			if !to.IsZero() {
				end = heat.MinTime(to, now)
			}
			want := end.Add(-720 * time.Hour)
			r, err := events.rangeOf(&eventsInput{To: httpapi.Time{Time: to}}, now)
			if err != nil || !r.From.Equal(want) {
				t.Errorf("events at %s to %s: from %s, %v; want %s", now, to, r.From, err, want)
			}
			for text, every := range map[string]time.Duration{"1h": time.Hour, "8h0m0s": 8 * time.Hour, "1d": oneDay, "24h": oneDay} {
				span, err := rollups.rangeOf(&rollupsInput{To: httpapi.Time{Time: to}, Every: httpapi.DurationText(text)}, now)
				require.NoError(t, err)
				if !span.from.Equal(want.Truncate(every)) || span.to.Before(end) {
					t.Errorf("rollups by %s at %s to %s: %s to %s; want from %s", text, now, to, span.from, span.to, want.Truncate(every))
				}
			}
		}
	}
}

// TestDefaultRangeOfManyBuckets checks that the default range has no more rollups than a response may have.
func TestDefaultRangeOfManyBuckets(t *testing.T) {
	rollups := &rollupReader{span: 90 * oneDay}
	now := time.Date(2027, 1, 1, 0, 0, 30, 0, time.UTC)
	span, err := rollups.rangeOf(&rollupsInput{Every: "1h"}, now)
	if err != nil || span.to.Sub(span.from) != maxBuckets*time.Hour || !span.to.After(now) {
		t.Errorf("the default range of 90 days is %+v, %v; want %d hours", span, err, maxBuckets)
	}
	if _, err := rollups.rangeOf(&rollupsInput{Every: "x"}, now); !strings.HasPrefix(faultOf(err), "query.every ") {
		t.Errorf("buckets of no length: %q", faultOf(err))
	}
}

// TestTheZeroTimeIsATime checks that Go's zero time as from or to is not taken for an absent parameter.
func TestTheZeroTimeIsATime(t *testing.T) {
	now := time.Date(2028, 3, 1, 0, 0, 0, 0, time.UTC)
	for _, text := range []string{"0001-01-01T00:00:00Z", "0001-01-01T01:00:00+01:00"} {
		var zero httpapi.Time
		require.NoError(t, zero.UnmarshalText([]byte(text)))
		reader := &eventReader{span: 720 * time.Hour}
		from, err1 := reader.rangeOf(&eventsInput{From: zero}, now)
		to, err2 := reader.rangeOf(&eventsInput{To: zero}, now)
		if err1 != nil || err2 != nil || !from.From.Equal(epoch) || !from.To.Equal(now.Add(maxAhead)) || !to.To.Equal(epoch) {
			t.Errorf("%s: events from it %+v, %v; to it %+v, %v", text, from, err1, to, err2)
		}
		rollups := &rollupReader{span: 720 * time.Hour}
		if span, err := rollups.rangeOf(&rollupsInput{From: zero, Every: "1h"}, now); !strings.HasPrefix(faultOf(err), "query.from the range has more than ") {
			t.Errorf("%s: rollups from it: %+v, %q", text, span, faultOf(err))
		}
		if span, err := rollups.rangeOf(&rollupsInput{To: zero, Every: "1h"}, now); err != nil || !span.to.Equal(epoch) {
			t.Errorf("%s: rollups to it: %+v, %v", text, span, err)
		}
		if _, err := (&heatInput{From: zero}).options(now); err == nil {
			t.Errorf("%s: heat from it", text)
		}
		if o, err := (&heatInput{To: zero}).options(now); err != nil || !o.To.IsZero() {
			t.Errorf("%s: heat to it: %+v, %v", text, o, err)
		}
	}
}
