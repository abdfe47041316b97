package throttles

import (
	"strings"
	"testing"
	"time"
)

// TestCures checks the first cure for each reason, resource and kind of hot key.
func TestCures(t *testing.T) {
	id := ID{Table: "orders"}
	index := ID{Table: "orders", Index: "by_city"}
	from := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	key := func(id ID, k Key) Key {
		k.ID, k.Key, k.Throttles = id, "acme", 90
		return k
	}
	for what, c := range map[string]struct {
		reason    Reason
		resource  Resource
		keys      []Key
		minutes   int
		want, not string
	}{
		"a short burst":              {Reason{id, Write, KeyRange}, Resource{Writes: Capacity{Requests: 1e6}}, nil, 2, "Retry with backoff, and pace the burst", "insights"},
		"a short burst on a hot key": {Reason{id, Write, KeyRange}, Resource{Writes: Capacity{Requests: 1e6}}, []Key{key(id, Key{Hot: true})}, 2, "Shard acme over 8", "burst"},
		"many minutes":               {Reason{id, Write, KeyRange}, Resource{Writes: Capacity{Requests: 1e6}}, nil, 9, "--contributor-insights-mode THROTTLED_KEYS", "burst"},
		"a provisioned table":        {Reason{id, Write, Provisioned}, Resource{Reads: Capacity{Provisioned: 5}, Writes: Capacity{Provisioned: 10, Peak: 10}}, nil, 1, "from 10 to 21 WCU/s", "index"},
		"an unknown demand":          {Reason{id, Read, Provisioned}, Resource{Reads: Capacity{Provisioned: 5}, Writes: Capacity{Provisioned: 7}}, nil, 0, "ReadCapacityUnits=10,WriteCapacityUnits=7", "index"},
		"a provisioned index":        {Reason{index, Write, Provisioned}, Resource{}, nil, 0, "until then the index throttles writes of its table", ""},
		"an index that is read":      {Reason{index, Read, MaxOnDemand}, Resource{Reads: Capacity{MaxOnDemand: 50}}, nil, 0, `"OnDemandThroughput":{"MaxReadRequestUnits":100}`, "until then"},
		"the account":                {Reason{id, Read, Account}, Resource{}, nil, 0, `"Table-level read throughput limit"`, ""},
		"reads of one key":           {Reason{id, Read, KeyRange}, Resource{}, []Key{key(id, Key{})}, 0, "Cache the reads of acme", "Shard"},
		"an index's large items":     {Reason{index, Write, KeyRange}, Resource{ProjectsAll: true}, []Key{key(index, Key{UnitsPerWrite: 6})}, 0, "Project fewer attributes into index by_city", "Shard"},
		"an index's key":             {Reason{index, Write, KeyRange}, Resource{PartitionKey: "city"}, []Key{key(index, Key{})}, 0, "partition key city over 8 values", "Shard"},
		"large items":                {Reason{id, Write, KeyRange}, Resource{}, []Key{key(id, Key{UnitsPerWrite: 6, Rising: true})}, 0, "Shrink the items of acme", "rising"},
		"rising sort keys":           {Reason{id, Write, KeyRange}, Resource{}, []Key{key(id, Key{Rising: true})}, 0, "rising sort keys of acme", "Shrink"},
		"a key of 3,000 WCU/s":       {Reason{id, Write, KeyRange}, Resource{}, []Key{key(id, Key{UnitsPerSecond: 3000, Hot: true})}, 0, "Shard acme over 24 partition keys", "warm"},
		"a deployment's own key":     {Reason{id, Write, KeyRange}, Resource{}, []Key{key(id, Key{Advice: "Wait."})}, 0, "Wait.", "Shard"},
	} {
		c.resource.ID = c.reason.ID
		r := Explain(Evidence{
			Name: "orders", From: from, To: from.Add(time.Minute), Counted: true, Resources: []Resource{c.resource}, Keys: c.keys,
			Counts: []Count{{Reason: c.reason, Events: 400, Minutes: c.minutes}},
		})
		if len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Cure, c.want) || c.not != "" && strings.Contains(r.Findings[0].Cure, c.not) {
			t.Errorf("%s: %+v, want %q", what, r.Findings, c.want)
		}
	}
}

// TestInference checks that a missing reason is inferred only if exactly one limit was reached.
func TestInference(t *testing.T) {
	id := ID{Table: "orders"}
	hot := Key{Reason: Reason{ID: id, Operation: Write, Cause: KeyRange}, Key: "acme", UnitsPerSecond: 990, Hot: true}
	quiet := Capacity{Provisioned: 2000, Throttled: 1100}
	full := Capacity{Provisioned: 2000, Throttled: 1950}
	for what, c := range map[string]struct {
		writes Capacity
		keys   []Key
		want   string
	}{
		"nothing": {quiet, nil, ""},
		"limit":   {full, nil, "TableWriteProvisionedThroughputExceeded"},
		"key":     {quiet, []Key{hot}, "TableWriteKeyRangeThroughputExceeded"},
		"both":    {full, []Key{hot}, ""},
	} {
		r := Explain(Evidence{
			Counted: true, Resources: []Resource{{ID: id, Writes: c.writes}}, Keys: c.keys,
			Counts: []Count{{Reason: Reason{ID: id, Operation: Write}, Events: 50}},
		})
		got := ""
		if len(r.Findings) == 1 && r.Findings[0].Confidence == Likely {
			got = r.Findings[0].Reason
		}
		if got != c.want || (got == "") != (r.Unknown == 1) {
			t.Errorf("%s: %+v, unknown %v, want %q", what, r.Findings, r.Unknown, c.want)
		}
	}
}
