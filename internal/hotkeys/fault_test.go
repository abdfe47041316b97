package hotkeys_test

import (
	"errors"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/hotkeys"
)

var (
	discard = slog.New(slog.DiscardHandler)
	errPut  = errors.New("no puts today")
)

// parsed returns the heat items by their keys.
func parsed(t testing.TB, f *fixture) map[string]heat.Item {
	items := make(map[string]heat.Item)
	for key, attributes := range f.table.items {
		item, err := heat.Parse(attributes)
		if err != nil {
			t.Fatal(err)
		}
		items[key] = item
	}
	return items
}

// TestFailedPut checks that a failed put fails the batch with the item's key, is counted, and sends no other metrics.
func TestFailedPut(t *testing.T) {
	f := newFixture(settings())
	f.table.fail = func(int) error { return errPut }
	payload := batch{writes: repeat("C#a#0", 5, 1), first: 1, final: true}.payload()
	_, err := f.invoke(t, payload)
	if !errors.Is(err, errPut) || !strings.Contains(err.Error(), "2026-01-05T13:00:00Z") || !strings.Contains(err.Error(), "shardId-1") {
		t.Errorf("error %v, want %v with the window and the stream shard", err, errPut)
	}
	if v := f.values("HeatItemFailures"); len(v["hotshard-items"]) != 1 || len(f.sink.data) != 1 {
		t.Errorf("metrics %v, want one HeatItemFailures", f.sink.data)
	}
}

// badRecords are unreadable. The record without a time belongs to no window by itself.
var badRecords = map[string]string{
	"no partition key": `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"4","ApproximateCreationDateTime":1767618001,"Keys":{"id":{"S":"x"}}}}`,
	"empty key":        `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"4","ApproximateCreationDateTime":1767618001,"Keys":{"pk":{"S":""}}}}`,
	"unknown event":    `{"eventName":"UPSERT","dynamodb":{"SequenceNumber":"4","ApproximateCreationDateTime":1767618001,"Keys":{"pk":{"S":"x"}}}}`,
	"bad image":        `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"4","ApproximateCreationDateTime":1767618001,"Keys":{"pk":{"S":"x"}},"NewImage":{"a":{"Q":1}}}}`,
	"no time":          `{"eventName":"UPSERT","dynamodb":{"SequenceNumber":"4","Keys":{"pk":{"S":"x"}}}}`,
}

// TestBadRecord checks that an unreadable record is counted as such, that its window is incomplete, and that all other
// records count.
func TestBadRecord(t *testing.T) {
	good := repeat("C#a#0", 3, 1)
	for name, raw := range badRecords {
		f := newFixture(settings())
		all := slices.Concat(good, writes{{raw: raw}}, repeat("C#a#0", 5, 2))
		state := f.must(t, batch{writes: all, first: 1}.payload())
		f.must(t, batch{state: state, final: true}.payload())
		rows := f.rows(t)
		if len(f.table.items) != 1 || len(rows) != 1 || rows[0].WriteUnitsPerSecond != 0.8 {
			t.Errorf("%s: rows %+v, want one of 0.8 WCU/s", name, rows)
		}
		for _, item := range parsed(t, f) {
			if !item.Incomplete || item.Records != 8 {
				t.Errorf("%s: item %+v, want an incomplete one of 8 records", name, item)
			}
		}
		if v := f.values("RecordsUnreadable")["hotshard-items"]; !slices.Equal(v, []float64{1}) || !strings.Contains(f.logs.String(), "records not counted") {
			t.Errorf("%s: want one unreadable record: metrics %v\n%s", name, f.sink.data, f.logs)
		}
	}
}

// TestRecordsWithoutTime checks that records without ApproximateCreationDateTime, as in AWS's sample event, are counted in
// the window of the invocation or else of the batch, that their windows are incomplete, and that one line says so.
func TestRecordsWithoutTime(t *testing.T) {
	sample := writes{{raw: `{"eventName":"INSERT","dynamodb":{"SequenceNumber":"4","Keys":{"pk":{"S":"C#a#0"}},"StreamViewType":"KEYS_ONLY"}}`}}
	windowed := func(w writes) []byte { return batch{writes: w, first: 4, final: true}.payload() }
	for name, c := range map[string]struct {
		payload []byte
		now     time.Time
		want    time.Time // the start of the record's window
		records uint64
	}{
		"unwindowed":            {unwindowed(sample, 4), start.Add(25 * time.Second), start.Add(20 * time.Second), 1},
		"in the window":         {windowed(sample), start.Add(5 * time.Second), start, 1},
		"after the window":      {windowed(sample), start.Add(time.Hour), start, 1},
		"before the window":     {windowed(sample), start.Add(-time.Hour), start, 1},
		"after one with a time": {windowed(append(repeat("C#a#0", 3, 1), sample...)), start.Add(time.Minute), start, 4},
	} {
		f := newFixture(settings())
		f.now = c.now
		f.must(t, c.payload)
		f.must(t, c.payload)
		items := slices.Collect(maps.Values(parsed(t, f)))
		if len(items) != 1 || !items[0].Start.Equal(c.want) || items[0].Records != c.records || !items[0].Incomplete {
			t.Errorf("%s: items %+v, want an incomplete one of %d records from %v", name, items, c.records, c.want)
		}
		if n := strings.Count(f.logs.String(), "without ApproximateCreationDateTime"); n != 1 || len(f.values("RecordsUnreadable")) != 0 {
			t.Errorf("%s: %d lines about times in 2 invocations, want 1, and no unreadable record:\n%s", name, n, f.logs)
		}
	}
}

// TestOnlyBadRecords checks that a window with only unreadable records has an incomplete item.
func TestOnlyBadRecords(t *testing.T) {
	for name, raw := range badRecords {
		for form, payload := range map[string][]byte{
			"unwindowed": unwindowed(writes{{raw: raw}}, 4),
			"windowed":   batch{writes: writes{{raw: raw}}, first: 4, final: true}.payload(),
			"early":      batch{writes: writes{{raw: raw}}, first: 4, early: true}.payload(),
		} {
			f := newFixture(settings())
			f.must(t, payload)
			items := parsed(t, f)
			for _, item := range items {
				if !item.Incomplete || !item.Start.Equal(start) || item.Part == "" && form != "windowed" {
					t.Errorf("%s, %s: item %+v, want an incomplete one from %v", name, form, item, start)
				}
			}
			if len(items) != 1 {
				t.Errorf("%s, %s: %d items, want 1", name, form, len(items))
			}
		}
	}
}

// TestSettings checks that the defaults are valid, and that New rejects invalid settings and missing dependencies.
func TestSettings(t *testing.T) {
	defaults, err := env.ParseAsWithOptions[hotkeys.Settings](env.Options{Environment: map[string]string{
		"HOTSHARD_ITEMS_TABLE": "items", "HOTSHARD_EVENTS_TABLE": "events", "HOTSHARD_HEAT_TABLE": "heat", "HOTSHARD_SHARD_MAP_TABLE": "shard-map",
	}})
	if err = errors.Join(err, defaults.Validate()); err != nil || defaults.Window != 10*time.Second || defaults.MetricNames != display.Plain {
		t.Errorf("defaults: %v, %+v", err, defaults)
	}
	if _, err := hotkeys.New(hotkeys.Settings{}, hotkeys.Deps{}); err == nil {
		t.Error("New accepts invalid settings")
	}
	if _, err := hotkeys.New(settings(), hotkeys.Deps{}); err == nil {
		t.Error("New accepts missing dependencies")
	}
}
