package ingest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/hotshard/hotshard/internal/base/display"
	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/boards"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/once"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestSumsOfIncrementsFit64Bits checks the sums of a call's increments, and that each increment whose sum leaves 64 bits
// is invalid, above and below.
func TestSumsOfIncrementsFit64Bits(t *testing.T) {
	const low, high = math.MinInt64, math.MaxInt64
	for _, c := range []struct {
		deltas  []int64
		want    int64
		invalid string // locations
	}{
		{[]int64{high}, high, ""},
		{[]int64{low}, low, ""},
		{[]int64{high - 1, 1}, high, ""},
		{[]int64{low + 1, -1}, low, ""},
		{[]int64{high, low}, -1, ""},
		{[]int64{5, -5}, 0, ""},
		{[]int64{high, 1}, 0, "increments[1].delta"},
		{[]int64{low, -1}, 0, "increments[1].delta"},
		{[]int64{high, high}, 0, "increments[1].delta"},
		{[]int64{low, low}, 0, "increments[1].delta"},
		{[]int64{-3, low + 2}, 0, "increments[1].delta"},
		{[]int64{1, 0, 1, 0}, 0, "increments[1].delta increments[3].delta"},
	} {
		var increments []increment
		for _, d := range c.deltas {
			increments = append(increments, increment{"c", d})
		}
		totals, err := sumByCounter(increments)
		if got := locations(t, err); got != c.invalid || err == nil && (len(totals) != 1 || totals[0] != total{"c", c.want}) {
			t.Errorf("%v: %v, invalid %q; want %d, %q", c.deltas, totals, got, c.want, c.invalid)
		}
	}
}

// locations lists the locations of an error's faults, without "body.".
func locations(t *testing.T, err error) string {
	t.Helper()
	text, _ := json.Marshal(err)
	var problem struct {
		Errors []struct{ Location, Message string }
	}
	require.NoError(t, json.Unmarshal(text, &problem))
	var list []string
	for _, e := range problem.Errors {
		if e.Message == "" {
			t.Errorf("%s has no message", e.Location)
		}
		list = append(list, strings.TrimPrefix(e.Location, "body."))
	}
	return strings.Join(list, " ")
}

func TestKeysOfCalls(t *testing.T) {
	for key, valid := range map[string]bool{
		"": false, "a": true, "z": true, "A": true, "Z": true, "0": true, "9": true, "-._~:/+=": true,
		"`": false, "{": false, "@": false, "[": false, ";": false, ",": false, "a b": false, "é": false, "a#": false,
		strings.Repeat("k", 255): true, strings.Repeat("k", 256): false,
	} {
		if got := keyForm.MatchString(key); got != valid {
			t.Errorf("%q is valid: %t, want %t", key, got, valid)
		}
	}
}

// TestWorstErrorDecides checks which error decides the response if no item was accepted, and the detail of an item with
// each error.
func TestWorstErrorDecides(t *testing.T) {
	ranked := []struct {
		err    error
		detail string
	}{
		{boards.ErrScoreRange, boards.ErrScoreRange.Error()},
		{shard.ErrThrottled, "no capacity"},
		{shard.ErrUnavailable, "DynamoDB is unavailable; it may have been written"},
		{errors.New("other"), "internal error; it may have been written"},
	}
	for i := range ranked {
		ranked[i].err = fmt.Errorf("more: %w", ranked[i].err)
	}
	for i, low := range ranked {
		if got := rejection(low.err); got != low.detail {
			t.Errorf("%v is shown as %q, want %q", low.err, got, low.detail)
		}
		for _, high := range ranked[i+1:] {
			for _, errs := range [][]error{{low.err, high.err}, {high.err, low.err}} {
				if got := worstError(errs); got != high.err {
					t.Errorf("the worst of %v is %v, want %v", errs, got, high.err)
				}
			}
		}
	}
	if got := rejection(shard.ErrStale); got != shard.ErrStale.Error() {
		t.Errorf("ErrStale is shown as %q", got)
	}
	for _, errs := range [][]error{{shard.ErrThrottled, shard.ErrStale}, {shard.ErrStale, shard.ErrThrottled}} {
		if got := worstError(errs); got != shard.ErrStale {
			t.Errorf("the worst of %v is %v", errs, got)
		}
	}
}

// TestFirstAnswers checks the answer to a keyed call by what is stored for its key.
func TestFirstAnswers(t *testing.T) {
	lost := errors.New("lost")
	for _, c := range []struct {
		stored string
		err    error
		want   string
		fails  string
	}{
		{"", nil, "now", ""},
		{`"first"`, nil, "first", ""},
		{"", lost, "now", "lost"},
		{"", once.ErrOtherCall, "now", "used for another call"},
		{`"fir`, nil, "now", "decoding the first answer"},
	} {
		var stored []byte
		if c.stored != "" {
			stored = []byte(c.stored)
		}
		got, err := chooseAnswer(stored, c.err, "now")
		if got != c.want || (err != nil) != (c.fails != "") || err != nil && !strings.Contains(err.Error(), c.fails) {
			t.Errorf("%q, %v: %q, %v; want %q, %q", c.stored, c.err, got, err, c.want, c.fails)
		}
	}
}

// TestInvalidSettings checks the bounds of each setting, and that neither a service nor a handler is made of invalid ones.
func TestInvalidSettings(t *testing.T) {
	good := Settings{EventAhead: time.Second, KeyLifetime: 24 * time.Hour, Control: growth.Act, MetricNames: display.Plain}
	for _, c := range []struct {
		name   string
		change func(*Settings)
		valid  bool
	}{
		{"", func(*Settings) {}, true},
		{"EVENT_RETENTION", func(s *Settings) { s.EventRetention = time.Hour }, true},
		{"EVENT_RETENTION", func(s *Settings) { s.EventRetention = time.Hour - 1 }, false},
		{"EVENT_RETENTION", func(s *Settings) { s.EventRetention = -1 }, false},
		{"BOARD_RETENTION", func(s *Settings) { s.BoardRetention = time.Hour }, true},
		{"BOARD_RETENTION", func(s *Settings) { s.BoardRetention = time.Hour - 1 }, false},
		{"KEY_LIFETIME", func(s *Settings) { s.KeyLifetime = time.Hour }, true},
		{"KEY_LIFETIME", func(s *Settings) { s.KeyLifetime = time.Hour - 1 }, false},
		{"KEY_LIFETIME", func(s *Settings) { s.KeyLifetime = 720 * time.Hour }, true},
		{"KEY_LIFETIME", func(s *Settings) { s.KeyLifetime = 720*time.Hour + 1 }, false},
		{"EVENT_AHEAD", func(s *Settings) { s.EventAhead = 1 }, true},
		{"EVENT_AHEAD", func(s *Settings) { s.EventAhead = shardmap.MaxEventAhead }, true},
		{"EVENT_AHEAD", func(s *Settings) { s.EventAhead = shardmap.MaxEventAhead + 1 }, false},
		{"EVENT_AHEAD", func(s *Settings) { s.EventAhead = 0 }, false}, // the shard map would replace it by its default
		{"EVENT_AHEAD", func(s *Settings) { s.EventAhead = -1 }, false},
		{"CONTROL", func(s *Settings) { s.Control = "on" }, false},
		{"METRIC_NAMES", func(s *Settings) { s.MetricNames = "none" }, false},
	} {
		s := good
		c.change(&s)
		log := slog.New(slog.DiscardHandler)
		_, err := New(s, nil, log)
		if (err == nil) != c.valid || err != nil && !strings.Contains(err.Error(), "HOTSHARD_"+c.name+" is ") {
			t.Errorf("%s: %v, want valid %t", c.name, err, c.valid)
		}
		late, end := context.WithCancel(t.Context())
		end() // no time to read the shard map
		if handler, err := Handler(late, s, noTables{}, log); (err == nil) != c.valid || (handler != nil) != c.valid {
			t.Errorf("%s: %v; there is a handler %t", c.name, err, handler != nil)
		}
	}
}

// TestDeadlineOfCalls checks that a setting of 0 is the usual deadline.
func TestDeadlineOfCalls(t *testing.T) {
	for set, want := range map[time.Duration]time.Duration{0: Deadline, Deadline + 1: Deadline + 1} {
		s, err := New(Settings{EventAhead: time.Second, KeyLifetime: time.Hour, Control: growth.Off, MetricNames: display.Plain, Deadline: set}, nil, nil)
		if err != nil || s.settings.Deadline != want {
			t.Errorf("a deadline of %v: %v, %v", set, s.settings.Deadline, err)
		}
	}
}

// TestTimesOfEvents checks the earliest and the latest time, and which field an error names.
func TestTimesOfEvents(t *testing.T) {
	now := time.UnixMilli(1_763_808_123_250)
	at := func(t time.Time) *httpapi.Time { return &httpapi.Time{Time: t} }
	for _, c := range []struct {
		event newEvent
		time  int64 // in ms
		fault string
	}{
		{newEvent{}, now.UnixMilli(), ""},
		{newEvent{Time: at(epoch)}, 0, ""},
		{newEvent{Time: at(epoch.Add(-1))}, 0, "time"},
		{newEvent{Time: at(epoch.Add(999_999))}, 0, ""},
		{newEvent{ID: "00000000010000000000000000"}, 1, ""},
		{newEvent{ID: "7ZZZZZZZZZZZZZZZZZZZZZZZZZ"}, 0, "id"},
		{newEvent{ID: "7ZZZZZZZZZZZZZZZZZZZZZZZZZ", Time: at(now)}, now.UnixMilli(), ""},
		{newEvent{ID: "x"}, 0, "time"},
		{newEvent{Time: at(now.Add(time.Second))}, now.UnixMilli() + 1000, ""},
		{newEvent{Time: at(now.Add(1001 * time.Millisecond))}, 0, "time"},
	} {
		got, fault := c.event.parse(now, time.Second)
		location := ""
		if fault != nil {
			location = fault.Location
		}
		if location != c.fault || fault == nil && (got.Time.UnixMilli() != c.time || got.ID == "") {
			t.Errorf("%+v: %v of %q, fault at %q; want %d ms, %q", c.event, got.Time, got.ID, location, c.time, c.fault)
		}
	}
}

// TestDistinctEvents checks that of events with one identity the last one counts, at the place of the first.
func TestDistinctEvents(t *testing.T) {
	at := time.UnixMilli(1_763_808_123_250)
	kept := lastOfEach([]events.Event{
		{Entity: "a", ID: "x", Time: at}, {Entity: "b", ID: "x", Time: at}, {Entity: "a", ID: "y", Time: at}, {Entity: "a", ID: "x", Time: at.Add(time.Millisecond)},
		{Entity: "a", ID: "x", Time: at.Add(1), New: true}, {Entity: "a", ID: "x", Time: at.Add(2)}, {Entity: "a", ID: "y", Time: at, New: true},
	})
	if len(kept) != 4 || kept[0].Time != at.Add(2) || kept[1].Entity != "b" || !kept[2].New || kept[3].Time != at.Add(time.Millisecond) {
		t.Errorf("%+v", kept)
	}
}

func TestFaultsOfData(t *testing.T) {
	for text, location := range map[string]string{``: "", `null`: "", `{}`: "", `[`: "data", `[1]`: "data", `{"a":{"b":[1e200]}}`: "data.a.b[0]"} {
		_, fault := parseData(json.RawMessage(text))
		if (fault == nil) != (location == "") || fault != nil && (fault.Location != location || fault.Message == "") {
			t.Errorf("%s: %+v, want %q", text, fault, location)
		}
	}
}

// TestUpdatesOfOneCall checks how many counters one call updates at a time, and that no update begins late: 15 times 32
// updates of 100 ms begin in the 1.5 s after which a call has no time for another.
func TestUpdatesOfOneCall(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := offline(t, &faults{before: func(string) error { time.Sleep(100 * time.Millisecond); return nil }})
		var list []string
		for i := range 500 {
			list = append(list, fmt.Sprintf(`{"counter":"c%d","delta":1}`, i))
		}
		got := r.post("/v1/counters", `{"increments":[`+strings.Join(list, ",")+`]}`)
		if got.status != 200 || !strings.Contains(string(got.body), `"accepted":480,"rejected":20`) {
			t.Errorf("%d %.200s, want 480 accepted and 20 rejected", got.status, got.body)
		}
	})
}

// noTables is a client whose reads fail.
type noTables struct{ Client }

func (noTables) GetItem(_ context.Context, _ *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return nil, errors.New("down")
}

func (noTables) Query(_ context.Context, _ *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	return nil, errors.New("down")
}
