package eventsource_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-lambda-go/events"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
)

var epoch = time.Unix(1700000000, 0).UTC()

func at(seconds int) time.Time { return epoch.Add(time.Duration(seconds) * time.Second) }

// counting returns a handler whose state is the number of records in the window.
func counting() *recorder {
	return &recorder{reply: func(e events.DynamoDBTimeWindowEvent) (string, error) {
		n := len(e.Records)
		if had, ok := e.State["n"]; ok {
			var before int
			if _, err := fmt.Sscan(had, &before); err != nil {
				return "", err
			}
			n += before
		}
		return fmt.Sprintf(`{"state":{"n":"%d"}}`, n), nil
	}}
}

// trace returns a line for each invocation: stream shard, window, state, records.
func (r *recorder) trace() []string {
	var lines []string
	for _, e := range r.events() {
		line := fmt.Sprintf("%s %d..%d %s %v", e.ShardID, e.Window.Start.Unix()-epoch.Unix(), e.Window.End.Unix()-epoch.Unix(),
			e.State["n"], sortKeys(e))
		if e.IsFinalInvokeForWindow {
			line += " final"
		}
		if e.IsWindowTerminatedEarly {
			line += " early"
		}
		lines = append(lines, line)
	}
	return lines
}

// play makes the bench's source a script, with tumbling windows of 10 s, at this second.
func (b *bench) play(s *script, now int) {
	s.arn = "arn:" + b.names.Items
	b.options.Source = s
	b.options.TumblingWindow = 10 * time.Second
	b.options.Now = func() time.Time { return at(now) }
}

// TestTumblingWindowPassesStateOn checks the windows and the states of invocations, with a late record and an empty window.
func TestTumblingWindowPassesStateOn(t *testing.T) {
	h := counting()
	b := newBench(t, h)
	b.options.BatchSize = 2
	b.play(oneShard(record(1, at(1)), record(2, at(2)), record(3, at(9)), record(4, at(10)), record(5, at(8)), record(6, at(35))), 36)
	b.drain(t)
	want := []string{
		"s 0..10  [1 2]", "s 0..10 2 [3]", "s 0..10 3 [] final",
		"s 10..20  [4]", "s 10..20 1 [5]", "s 10..20 2 [] final", // 5 is late
		"s 30..40  [6]", "s 30..40 1 [] final",
	}
	if diff := cmp.Diff(want, h.trace()); diff != "" {
		t.Errorf("invocations (-want +got):\n%s", diff)
	}
}

// TestChildShardsFollowTheirParents checks the order of stream shards, and that a finished one stays finished. A
// mapping of a new stream ignores the old stream's checkpoints.
func TestChildShardsFollowTheirParents(t *testing.T) {
	h := counting()
	b := newBench(t, h)
	s := &script{shards: []scriptShard{
		{Shard: eventsource.Shard{ID: "b", Parent: "a"}, records: []eventsource.Record{record(3, at(3))}},
		{Shard: eventsource.Shard{ID: "a", Parent: "gone"}, closed: true, records: []eventsource.Record{record(1, at(1)), record(2, at(2))}},
	}}
	b.play(s, 4)
	b.drain(t)
	want := []string{"a 0..10  [1 2]", "a 0..10 2 [] final", "b 0..10  [3]", "b 0..10 1 [] final"}
	if diff := cmp.Diff(want, h.trace()); diff != "" {
		t.Errorf("invocations (-want +got):\n%s", diff)
	}
	b.drain(t)
	if got := h.trace(); len(got) != len(want) {
		t.Errorf("a second drain delivered %v", got[len(want):])
	}
	s.shards = []scriptShard{{Shard: eventsource.Shard{ID: "b"}, records: []eventsource.Record{record(9, at(3))}}}
	b.play(s, 4)
	s.arn += "/new"
	b.drain(t)
	if got := h.trace()[len(want):]; len(got) != 2 || got[0] != "b 0..10  [9]" {
		t.Errorf("the new stream delivered %v, want record 9 and the window's end", got)
	}
}

// TestIdleWindowEnds checks that an idle stream shard's window is closed IdleWindow after its end. As on Lambda, the
// default is two minutes.
func TestIdleWindowEnds(t *testing.T) {
	for _, c := range []struct {
		idle time.Duration
		now  int // seconds; the window ends at 10
		ends bool
	}{{0, 129, false}, {0, 130, true}, {time.Second, 10, false}, {time.Second, 11, true}} {
		h := counting()
		b := newBench(t, h)
		b.options.IdleWindow = c.idle
		s := oneShard(record(1, at(1)))
		b.play(s, c.now)
		b.runOnce(t, s)
		want := []string{"s 0..10  [1]"}
		if c.ends {
			want = append(want, "s 0..10 1 [] final")
		}
		if diff := cmp.Diff(want, h.trace()); diff != "" {
			t.Errorf("%+v: invocations (-want +got):\n%s", c, diff)
		}
	}
}

// TestLargeStateEndsWindowEarly checks that a state of more than 300 KB is passed to a last invocation of its window.
func TestLargeStateEndsWindowEarly(t *testing.T) {
	big := func(n int) string { return `{"state":{"n":"` + strings.Repeat("x", n) + `"}}` }
	sizes := map[string]int{"1": 10, "2": 299_990, "3": 300_000, "4": 10}
	h := &recorder{}
	h.reply = func(e events.DynamoDBTimeWindowEvent) (string, error) {
		if len(e.Records) == 0 {
			return big(0), nil
		}
		return big(sizes[sortKeys(e)[0]]), nil
	}
	b := newBench(t, h)
	b.options.BatchSize = 1
	var records []eventsource.Record
	for n := range 4 {
		records = append(records, record(n+1, at(n+1)))
		s := oneShard(records...)
		b.play(s, 5)
		b.runOnce(t, s)
	}
	var got []string
	for _, e := range h.events() {
		got = append(got, fmt.Sprint(sortKeys(e), len(e.State["n"]), e.IsFinalInvokeForWindow, e.IsWindowTerminatedEarly))
	}
	want := []string{"[1] 0 false false", "[2] 10 false false", "[3] 299990 false false", "[] 300000 true true", "[4] 0 false false"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("invocations (-want +got):\n%s", diff)
	}
}
