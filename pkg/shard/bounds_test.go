package shard

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"
)

// TestBoundsOfVerdicts checks the mean, the chi-square and the deviation at which a verdict changes.
func TestBoundsOfVerdicts(t *testing.T) {
	for _, c := range []struct {
		counts []int64
		want   Verdict
	}{
		{[]int64{9}, Unsharded}, {[]int64{9, 0}, TooFew}, {[]int64{10, 0}, Even}, {[]int64{12, 0}, Uneven},
		{[]int64{123, 77}, Even}, {[]int64{124, 76}, Uneven}, // a chi-square of 10.6 and of 11.5
		{[]int64{5500, 4500}, Uneven}, {[]int64{5499, 4501}, Even},
		{slices.Repeat([]int64{20, 10}, 32), Uneven}, {slices.Repeat([]int64{17, 13}, 32), Even},
	} {
		if got := SpreadOf(c.counts).Verdict(); got != c.want {
			t.Errorf("%v: %s, want %s", c.counts, got, c.want)
		}
	}
	if s := SpreadOf([]int64{5, 9, 1}); s.Furthest != 1 { // equally far as the last
		t.Errorf("the furthest write shard is %d, want the first of two", s.Furthest)
	}
}

// TestCountsOfARange checks the counts in effect between two times, both included.
func TestCountsOfARange(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	h := History{{At: at(10), Count: 4}, {At: at(20), Count: 8}, {At: at(30), Count: 4}, {At: at(40), Count: 2}}
	for _, c := range []struct {
		from, to int64
		want     []int
	}{{1, 9, []int{1}}, {1, 10, []int{1, 4}}, {9, 40, []int{1, 4, 8, 2}}, {10, 19, []int{4}}, {10, 20, []int{4, 8}}, {20, 30, []int{8, 4}}, {40, 99, []int{2}}, {20, 15, []int{8}}} {
		if got := h.Counts(at(c.from), at(c.to)); !slices.Equal(got, c.want) || h.Max(at(c.from), at(c.to)) != slices.Max(c.want) {
			t.Errorf("from %d to %d: %v, at most %d; want %v", c.from, c.to, got, h.Max(at(c.from), at(c.to)), c.want)
		}
	}
}

// TestEpochs checks the text of times and its parsing.
func TestEpochs(t *testing.T) {
	for text, nanos := range map[string]int64{"0": 0, "1763808123": 1763808123e9, "1763808123.250": 1763808123_250e6, "1.001": 1_001e6} {
		if got, err := ParseEpoch(text); err != nil || got.UnixNano() != nanos || FormatEpoch(got) != text {
			t.Errorf("%s: %v, %v, %s", text, got, err, FormatEpoch(got))
		}
	}
	for text, millis := range map[string]int64{"5.5": 5500, "5.05": 5050, "5.25": 5250} {
		if got, err := ParseEpoch(text); err != nil || got.UnixMilli() != millis {
			t.Errorf("%s: %v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "x", "1.", ".5", "1.2345", "1.x", "1.-1", "1.2.3"} {
		if got, err := ParseEpoch(bad); err == nil {
			t.Errorf("ParseEpoch(%q) = %v, want an error", bad, got)
		}
	}
	if got := FormatEpoch(time.Unix(5, 999_999)); got != "5" {
		t.Errorf("a time before the first millisecond is %s, want 5", got)
	}
}

// TestAnotherWriteShard checks which write shards follow the last one, each about equally often in 4,000 draws. A count may
// differ by 350, more than 11 standard deviations.
func TestAnotherWriteShard(t *testing.T) {
	for _, c := range []struct {
		n, last int
		want    map[int]int
	}{
		{1, 0, map[int]int{0: 4000}}, {1, -1, map[int]int{0: 4000}}, {2, 0, map[int]int{1: 4000}}, {2, 1, map[int]int{0: 4000}}, {3, 1, map[int]int{0: 2000, 2: 2000}}, {3, 2, map[int]int{0: 2000, 1: 2000}},
		{2, -1, map[int]int{0: 2000, 1: 2000}}, {2, 2, map[int]int{0: 2000, 1: 2000}}, {2, 9, map[int]int{0: 2000, 1: 2000}},
	} {
		got := map[int]int{}
		for range 4000 {
			got[Another(c.n, c.last)]++
		}
		for n := range c.n + 1 {
			if off := got[n] - c.want[n]; off > 350 || off < -350 || (got[n] > 0) != (c.want[n] > 0) {
				t.Errorf("%d write shards after %d: %v, want %v", c.n, c.last, got, c.want)
			}
		}
	}
	for attr, want := range map[string]int{"": 0, "a": 97 % 7, "ab": (97 + 98) % 7, "é": 233 % 7} {
		if got := Summed(attr, 7); got != want {
			t.Errorf("Summed(%q, 7) = %d, want %d", attr, got, want)
		}
	}
}

// TestLabelsOfARange checks the buckets of a range whose end is not included, and the widths of buckets.
func TestLabelsOfARange(t *testing.T) {
	at := func(hour, minute int) time.Time { return time.Date(2026, 1, 5, hour, minute, 0, 0, time.UTC) }
	for _, c := range []struct {
		from, to time.Time
		want     []string
	}{
		{at(12, 30), at(14, 0), []string{"2026-01-05T12", "2026-01-05T13"}}, {at(12, 30), at(14, 0).Add(1), []string{"2026-01-05T12", "2026-01-05T13", "2026-01-05T14"}},
		{at(12, 0), at(12, 0).Add(1), []string{"2026-01-05T12"}}, {at(12, 0), at(12, 0), nil}, {at(12, 0), at(11, 0), nil},
	} {
		if got := Hour.Labels(c.from, c.to); !slices.Equal(got, c.want) {
			t.Errorf("from %v to %v: %v, want %v", c.from, c.to, got, c.want)
		}
	}
	for bucket, width := range map[Bucket]time.Duration{Minute: time.Minute, Hour: time.Hour, Day: 24 * time.Hour, Hour.Labeled("2006-01-02-15"): time.Hour} {
		if bucket.Width() != width {
			t.Errorf("%s: width %v, want %v", bucket, bucket.Width(), width)
		}
	}
}

// TestUnitsOfStamps checks each stamp's unit and form.
func TestUnitsOfStamps(t *testing.T) {
	at := time.Date(2026, 1, 5, 13, 0, 7, 543_931_001, time.FixedZone("", 3600))
	for stamp, c := range map[Stamp]struct {
		unit   time.Duration
		number bool
		text   string
	}{
		"": {time.Millisecond, false, "2026-01-05T12:00:07.543Z"}, Millis: {time.Millisecond, false, "2026-01-05T12:00:07.543Z"}, Seconds: {time.Second, false, "2026-01-05T12:00:07Z"},
		Micros: {time.Microsecond, false, "2026-01-05T12:00:07.543931Z"}, Nanos: {time.Nanosecond, false, "2026-01-05T12:00:07.543931001Z"},
		UnixSeconds: {time.Second, true, fmt.Sprint(at.Unix())}, UnixMillis: {time.Millisecond, true, fmt.Sprint(at.UnixMilli())},
	} {
		if stamp.Unit() != c.unit || stamp.Number() != c.number || stamp.Key(at, "#", "") != c.text || stamp.Key(at, "#", "id") != c.text+"#id" || stamp.Valid() != nil {
			t.Errorf("%q: unit %v, number %t, %s, %v; want %+v", stamp, stamp.Unit(), stamp.Number(), stamp.Format(at), stamp.Valid(), c)
		}
		if back, rest, err := stamp.Parse(stamp.Format(at)); err != nil || rest != "" || !back.Equal(at.Truncate(c.unit)) {
			t.Errorf("%q: Parse = %v, %q, %v", stamp, back, rest, err)
		}
	}
	if _, _, ok := Seconds.Bounds(at, at); ok {
		t.Error("an empty range has bounds")
	}
	if first, last, ok := UnixMillis.Bounds(time.UnixMilli(5).Add(1), time.UnixMilli(8)); first != "6" || last != "7" || !ok {
		t.Errorf("bounds %s to %s, %t; want 6 to 7", first, last, ok)
	}
	if at, open, err := UnixMillis.ParseBound("7"); at.UnixMilli() != 7 || open || err != nil {
		t.Errorf("ParseBound of a number: %v, %t, %v", at, open, err)
	}
}

// TestErrorsOfItems checks that an ItemError has its reason and its key, and that contention is a throttle.
func TestErrorsOfItems(t *testing.T) {
	reason := errors.New("no number")
	err := &ItemError{PK: "a", SK: "b", Err: reason}
	if !errors.Is(err, reason) || err.Error() != `the item with partition key "a" and sort key "b" can't be read: no number` {
		t.Errorf("error %v", err)
	}
	if !errors.Is(ErrContended, ErrThrottled) || errors.Is(ErrContended, ErrUnavailable) || errors.Is(ErrThrottled, ErrContended) {
		t.Error("ErrContended must be an ErrThrottled, and nothing else")
	}
}
