package ddb_test

import (
	"testing"
	"time"

	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

func TestStreamOfEvents(t *testing.T) {
	d := deploy(t)
	start := time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
	events := spread("e", 40, start, 10*time.Hour)
	d.put(t, events, start)
	reader := ddb.NewEventReader(d.client, d.names.Items, d.shards)
	var got []ddb.Event
	for ev, err := range reader.All(within(t), ddb.Range{Entity: "e", From: start, To: start.AddDate(0, 1, 0), Limit: 7}, start) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, ev)
	}
	checkOrder(t, got, events, false)
	for _, err := range reader.All(within(t), ddb.Range{Entity: "e", From: start, To: start, Limit: 1, After: "x"}, start) {
		if err == nil {
			t.Fatal("a position that is none was taken")
		}
	}
}
