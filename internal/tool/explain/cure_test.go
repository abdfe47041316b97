package explain

import (
	"slices"
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
		"large items":                {Reason{id, Write, KeyRange}, Resource{}, []Key{key(id, Key{UnitsPerWrite: 6})}, 0, "Shrink the items of acme", "Shard acme"},
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

// TestKeysOfSeveralReasons checks that a key without a cause is attributed to one of two reasons only if its writes are hot,
// and is evidence otherwise.
func TestKeysOfSeveralReasons(t *testing.T) {
	id := ID{Table: "orders"}
	keys := []Key{{Reason: Reason{ID: id}, Key: "acme", Throttles: 20, Source: "a log"}, {Reason: Reason{ID: id}, Key: "victim", Throttles: 20, Source: "a log"}}
	counts := []Count{{Reason: Reason{id, Write, KeyRange}, Events: 40}, {Reason: Reason{id, Write, Provisioned}, Events: 60}}
	heat := Key{Reason: Reason{id, Write, KeyRange}, Key: "acme", UnitsPerSecond: 20, Hot: true, Source: "heat"}
	for _, c := range []struct {
		keys         []Key
		want, unsure string
	}{{keys, "", "acme was throttled 20 times; 1 other key less"}, {append(keys, heat), "acme", "victim was throttled 20 times"}} {
		for _, f := range Explain(Evidence{Counted: true, Counts: counts, Keys: c.keys}).Findings {
			got := ""
			for _, k := range f.Keys {
				got += k.Key
			}
			if partition := strings.Contains(f.Reason, "KeyRange"); partition && got != c.want || !partition && got != "" {
				t.Errorf("%s with %d keys: keys %q, want %q for the partition's limit alone", f.Reason, len(c.keys), got, c.want)
			} else if partition && !slices.Contains(f.Evidence, Source{"a log", c.unsure + ", for this reason or another"}) {
				t.Errorf("evidence %q, want %s", f.Evidence, c.unsure)
			}
		}
	}
}

// TestMeasuredDemand checks that a raised limit follows from the rate that was throttled, that a partition's limit is the
// measured one, and that an index which the table lacks is named.
func TestMeasuredDemand(t *testing.T) {
	id, gone := ID{Table: "orders"}, ID{Table: "orders", Index: "by_gone"}
	table := Resource{ID: id, ARN: "arn:aws:dynamodb:eu-west-1:1:table/orders", Reads: Capacity{Provisioned: 5}, Writes: Capacity{Provisioned: 1}}
	for what, c := range map[string]struct {
		count     Count
		partition float64
		key       Key
		want      string
	}{
		"58 of 60 in 2 s":        {Count{Reason: Reason{id, Write, Provisioned}, Events: 58, Rate: 29}, 0, Key{}, "from 1 to 38 WCU/s"},
		"of 2 units each":        {Count{Reason: Reason{id, Write, Provisioned}, Events: 10, Rate: 20}, 0, Key{}, "from 1 to 27 WCU/s"},
		"reads":                  {Count{Reason: Reason{id, Read, Provisioned}, Events: 10, Rate: 3}, 0, Key{}, "ReadCapacityUnits=10,WriteCapacityUnits=1"},
		"one in a minute":        {Count{Reason: Reason{id, Write, Provisioned}, Events: 1, Minutes: 1}, 0, Key{}, "from 1 to 2 WCU/s"},
		"a partition of 10":      {Count{Reason: Reason{id, Write, KeyRange}, Events: 9}, 10, Key{Key: "acme", Throttles: 9}, "one takes 10 WCU/s whatever the table's capacity is."},
		"a key of 1,042.5 WCU/s": {Count{Reason: Reason{id, Write, KeyRange}, Events: 9}, 0, Key{Key: "acme", Throttles: 9, UnitsPerSecond: 1042.5}, "with its true peak: hotshard plan --peak-wcu 1043"},
		"an index that is gone":  {Count{Reason: Reason{gone, Read, KeyRange}, Events: 9}, 0, Key{}, "table orders has no index by_gone (it has by_city)"},
	} {
		c.key.Reason = c.count.Reason
		r := Explain(Evidence{
			Counted: true, Resources: []Resource{table, {ID: ID{Table: "orders", Index: "by_city"}, ARN: table.ARN + "/index/by_city"}},
			Counts: []Count{c.count}, Keys: []Key{c.key}, PartitionWCU: c.partition,
		})
		if len(r.Findings) != 1 || !strings.Contains(r.Findings[0].Cure, c.want) {
			t.Errorf("%s: %+v, want %q", what, r.Findings, c.want)
		}
		if c.count.Index != "" && r.Findings[0].Resource != table.ARN+"/index/by_gone" {
			t.Errorf("%s: on %s", what, r.Findings[0].Resource)
		}
	}
}
