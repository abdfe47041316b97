package shard_test

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/pkg/shard"
)

var stamps = []shard.Stamp{"", shard.Millis, shard.Seconds, shard.Micros, shard.Nanos, shard.UnixSeconds, shard.UnixMillis}

// instants generates times from 1970 to 2096.
func instants() *rapid.Generator[time.Time] {
	return rapid.Custom(func(t *rapid.T) time.Time {
		return time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "s"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns")).UTC()
	})
}

// TestBoundsContainTheirTimes checks that a key is between the bounds exactly if its time is in the range, with and without
// an id.
func TestBoundsContainTheirTimes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := rapid.SampledFrom(stamps).Draw(t, "stamp")
		from := instants().Draw(t, "from")
		to := from.Add(time.Duration(rapid.Int64Range(-1e9, 5e9).Draw(t, "length")))
		at := from.Add(time.Duration(rapid.Int64Range(-2e9, 7e9).Draw(t, "at"))).Truncate(s.Unit())
		id := rapid.SampledFrom([]string{"", "a", "\U0010ffff"}).Draw(t, "id")
		if s.Number() {
			id = ""
		}
		key := s.Key(at, "#", id)
		first, last, ok := s.Bounds(from, to)
		got := ok && compareKeys(s, first, key) <= 0 && compareKeys(s, key, last) <= 0
		want := !at.Before(from) && at.Before(to)
		if got != want {
			t.Fatalf("%q: %s in [%s, %s): %t, want %t (%q to %q)", s, key, from, to, got, want, first, last)
		}
		back, rest, err := s.Parse(key)
		if err != nil || !back.Equal(at) || strings.TrimPrefix(rest, "#") != id {
			t.Fatalf("%q: Parse(%q) = %s, %q, %v", s, key, back, rest, err)
		}
	})
}

// TestBoundsOfAnotherPrecision checks that bounds contain another stamp's keys if both ends are whole units of both
// stamps.
func TestBoundsOfAnotherPrecision(t *testing.T) {
	texts := []shard.Stamp{shard.Seconds, shard.Millis, shard.Micros, shard.Nanos}
	rapid.Check(t, func(t *rapid.T) {
		asked, stored := rapid.SampledFrom(texts).Draw(t, "asked"), rapid.SampledFrom(texts).Draw(t, "stored")
		unit := max(asked.Unit(), stored.Unit())
		from := instants().Draw(t, "from").Truncate(unit)
		to := from.Add(time.Duration(rapid.Int64Range(0, 5e9).Draw(t, "length"))).Truncate(unit)
		at := rapid.SampledFrom([]time.Time{from, to}).Draw(t, "near").Add(time.Duration(rapid.Int64Range(-3e6, 3e6).Draw(t, "off"))).Truncate(stored.Unit())
		key := stored.Key(at, "#", rapid.SampledFrom([]string{"", "a", "\U0010ffff"}).Draw(t, "id"))
		first, last, ok := asked.Bounds(from, to)
		if got, want := ok && first <= key && key <= last, !at.Before(from) && at.Before(to); got != want {
			t.Fatalf("%s in [%s, %s): %t, want %t (%q to %q)", key, from, to, got, want, first, last)
		}
		for _, end := range []string{first, last} {
			if back, open, err := asked.ParseBound(end); ok && (err != nil || !open || !back.Equal(from) && !back.Equal(to)) {
				t.Fatalf("ParseBound(%q) = %s, %t, %v", end, back, open, err)
			}
		}
		if back, open, err := asked.ParseBound(key); err != nil || open || !back.Equal(at) {
			t.Fatalf("ParseBound of the key %q = %s, %t, %v", key, back, open, err)
		}
	})
}

// TestBoundsAtTheEndOfTime checks bounds at the end of year 9999. The year 10000 has five digits and would sort before
// it.
func TestBoundsAtTheEndOfTime(t *testing.T) {
	end := time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC)
	first, last, ok := shard.Seconds.Bounds(end.Add(-time.Hour), end)
	if key := "9999-12-31T23:59:59Z#x"; !ok || first > key || key > last {
		t.Errorf("bounds %q to %q, want them to contain %s", first, last, "9999-12-31T23:59:59Z#x")
	}
	if _, last, _ := shard.Seconds.Bounds(end.Add(-2*time.Hour), end.Add(-time.Hour)); last != "9999-12-31T23:00:00" {
		t.Errorf("the last bound of the year is %q", last)
	}
	if at, open, err := shard.Seconds.ParseBound(last); err != nil || open || !at.Equal(end.Add(-time.Second)) {
		t.Errorf("ParseBound(%q) = %s, %t, %v", last, at, open, err)
	}
}

// TestParseErrorNamesStampOfKey checks that Parse's error names the stamp that the key has, and that ParseBound rejects
// invalid times.
func TestParseErrorNamesStampOfKey(t *testing.T) {
	_, _, err := shard.Millis.Parse("2026-11-22T09:00:07.543931Z#x")
	if err == nil || !strings.HasSuffix(err.Error(), "like "+string(shard.Millis)+", but with a time like "+string(shard.Micros)) {
		t.Errorf("error %v, want one that names %q and no other", err, shard.Micros)
	}
	for _, bad := range []string{"", "2026-11-22", "2026-11-22T09:00:07.Z", "2026-13-22T09:00:07"} {
		if at, _, err := shard.Millis.ParseBound(bad); err == nil {
			t.Errorf("ParseBound(%q) = %s, want an error", bad, at)
		}
	}
}

// compareKeys compares sort keys as DynamoDB does.
func compareKeys(s shard.Stamp, a, b string) int {
	if !s.Number() {
		return strings.Compare(a, b)
	}
	x, errX := strconv.ParseInt(a, 10, 64)
	y, errY := strconv.ParseInt(b, 10, 64)
	if err := errors.Join(errX, errY); err != nil {
		panic(err)
	}
	return cmp.Compare(x, y)
}

// TestStampRejects checks that Parse rejects invalid times, and Valid a layout that does not sort.
func TestStampRejects(t *testing.T) {
	for stamp, keys := range map[shard.Stamp][]string{
		shard.Millis:     {"", "2026-01-05", "2026-01-05T12:00:00.1234Z", "2026-02-30T12:00:00.000Z", "x026-01-05T12:00:00.000Z"},
		shard.UnixMillis: {"", "1.5", "x"},
	} {
		for _, key := range keys {
			if at, _, err := stamp.Parse(key); err == nil {
				t.Errorf("Parse(%q) = %s, want an error", key, at)
			}
		}
	}
	if err := shard.Stamp("15:04").Valid(); err == nil || !strings.Contains(err.Error(), `"15:04"`) {
		t.Errorf("error %v of 15:04, which does not sort", err)
	}
}

// TestCompositeKeys checks that Compose and Decompose are inverse, and reject ambiguous parts.
func TestCompositeKeys(t *testing.T) {
	key, err := shard.Compose("#", "user", "42", "a#b")
	parts, back := shard.Decompose("#", key, 3)
	if err != nil || back != nil || !slices.Equal(parts, []string{"user", "42", "a#b"}) {
		t.Fatalf("%q, %q, %v, %v", key, parts, err, back)
	}
	if parts, err := shard.Decompose("#", "a#b", 1); err != nil || !slices.Equal(parts, []string{"a#b"}) {
		t.Errorf("one part: %q, %v", parts, err)
	}
	for _, bad := range [][]string{{"#", "a#b", "c"}, {"::", "a:", "b"}, {"", "a", "b"}, {"#"}} {
		if key, err := shard.Compose(bad[0], bad[1:]...); err == nil || strings.Contains(err.Error(), "%!") {
			t.Errorf("Compose%q = %q, which has other parts, too; error %v", bad, key, err)
		}
	}
	for _, bad := range []struct {
		sep, key string
		n        int
	}{{"#", "a#b", 3}, {"", "a", 1}, {"#", "a", 0}} {
		if parts, err := shard.Decompose(bad.sep, bad.key, bad.n); err == nil || strings.Contains(err.Error(), "%!") {
			t.Errorf("Decompose of %v = %q, %v; want an error", bad, parts, err)
		}
	}
}

// TestComposedKeysAreDistinct checks that Decompose returns the parts of any key that Compose returns.
func TestComposedKeysAreDistinct(t *testing.T) {
	texts := rapid.StringMatching(`[a:#]{0,4}`)
	rapid.Check(t, func(t *rapid.T) {
		sep := rapid.StringMatching(`[:#]{1,3}`).Draw(t, "sep")
		parts := rapid.SliceOfN(texts, 1, 4).Draw(t, "parts")
		key, err := shard.Compose(sep, parts...)
		if err != nil {
			return
		}
		if back, err := shard.Decompose(sep, key, len(parts)); err != nil || !slices.Equal(back, parts) {
			t.Fatalf("Decompose of Compose(%q, %q) = %q, %v", sep, parts, back, err)
		}
	})
}

// TestTimesWithoutTrailingZerosAreRejected checks that Parse rejects a time as encoding/json writes it, which does not sort.
// The error advises Stamp.Format.
func TestTimesWithoutTrailingZerosAreRejected(t *testing.T) {
	at := time.Date(2026, 1, 5, 12, 0, 45, 490_000_000, time.UTC)
	cut, whole := at.Format(time.RFC3339Nano), at.Add(time.Millisecond).Format(time.RFC3339Nano)
	if cut < whole {
		t.Fatalf("%s sorts before %s", cut, whole)
	}
	if _, _, err := shard.Millis.Parse(cut); err == nil || !strings.Contains(err.Error(), "Stamp.Format") {
		t.Errorf("Parse(%q): error %v, want advice to use Stamp.Format", cut, err)
	}
	if _, _, err := shard.Millis.Parse("orders"); err == nil || strings.Contains(err.Error(), "Stamp.Format") {
		t.Errorf("Parse(\"orders\"): error %v, want one without the advice", err)
	}
}

// TestExpiryIsNeverEarly checks that Expiry rounds up to a whole second.
func TestExpiryIsNeverEarly(t *testing.T) {
	at := time.Unix(100, 1)
	if got := shard.Expiry(at, time.Second); got != 102 {
		t.Errorf("%d, want 102", got)
	}
	if got := shard.Expiry(time.Unix(100, 0), time.Hour); got != 3700 {
		t.Errorf("%d, want 3700", got)
	}
}

// TestSeparators checks the separator of each format.
func TestSeparators(t *testing.T) {
	for format, want := range map[shard.Format]string{shard.Hash: "#", shard.HashShard: "#", shard.Underscore: "_", "x": "x", "": ""} {
		if got := format.Separator(); got != want {
			t.Errorf("%q: %q, want %q", format, got, want)
		}
	}
}
