package shard_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
)

var formats = []shard.Format{shard.Hash, shard.HashShard, shard.Underscore}

// FuzzJoinAndSplitAreInverse checks that Split returns what Join joined, and that no other key parses as a write shard.
func FuzzJoinAndSplitAreInverse(f *testing.F) {
	for _, name := range []string{"", "a", "a#0", "a#7", "a#SHARD_3", "_", "a_b_", "日本#", "\xff#1"} {
		f.Add(name, 0)
		f.Add(name, 7)
	}
	f.Fuzz(func(t *testing.T, name string, n int) {
		n &= 1<<31 - 1
		for _, format := range formats {
			key := format.Join(name, n)
			gotName, gotShard, err := format.Split(key)
			if err != nil || gotName != name || gotShard != n {
				t.Fatalf("%q: Split of Join(%q, %d) = %q, %d, %v", format, name, n, gotName, gotShard, err)
			}
			if back, m, err := format.Split(name); err == nil && format.Join(back, m) != name {
				t.Fatalf("%q: Split(%q) = %q, %d, which has another key", format, name, back, m)
			}
			if _, taken := format.SplitPlain(name); taken > 0 {
				continue
			}
			plain := format.JoinPlain(name, n)
			if got, shard := format.SplitPlain(plain); got != name || shard != n || plain != name && plain != key {
				t.Fatalf("SplitPlain(%q) = %q, %d", plain, got, shard)
			}
		}
	})
}

// TestSplitRejects checks that Split of an invalid key returns a KeyError with the key.
func TestSplitRejects(t *testing.T) {
	for _, key := range []string{"", "a", "a#", "a#-1", "a#+1", "a#01", "a# 1", "a#1x", "a#99999999999999999999", "7"} {
		_, _, err := shard.Hash.Split(key)
		if fault, ok := errors.AsType[*shard.KeyError](err); !ok || fault.Key != key || err.Error() != fmt.Sprintf("shard: key %q: %s", key, fault.Reason) || strings.Contains(fault.Reason, "%!") {
			t.Errorf("Split(%q): error %v, want a KeyError", key, err)
		}
	}
	if _, _, err := shard.Format("").Split("a1"); err == nil {
		t.Error("Split with an empty format returns no error")
	}
}

// TestAmbiguousFormats checks that Valid rejects formats with which two write shards have one key.
func TestAmbiguousFormats(t *testing.T) {
	for _, f := range []shard.Format{"", "1", "007"} {
		if err := f.Valid(); err == nil || !strings.Contains(err.Error(), strconv.Quote(string(f))) {
			t.Errorf("format %q: error %v, and %s is write shard 11 of a and 1 of a1", f, err, f.Join("a", 11))
		}
	}
	for _, f := range append(formats, "x1", "1x", "v1_") {
		if err := f.Valid(); err != nil {
			t.Error(err)
		}
		for n := range 120 {
			if name, got, err := f.Split(f.Join("a1x", n)); err != nil || name != "a1x" || got != n {
				t.Errorf("%q: Split of write shard %d = %q, %d, %v", f, n, name, got, err)
			}
		}
	}
}

// TestCalculatedEqualsPython compares write shards with those that a Python program has calculated.
func TestCalculatedEqualsPython(t *testing.T) {
	file, err := os.Open("testdata/calculated.tsv")
	require.NoError(t, err)
	defer file.Close()
	scanner := bufio.NewScanner(file)
	scanner.Buffer(nil, 1<<20)
	attributes := 0
	for scanner.Scan() {
		quoted, list, _ := strings.Cut(scanner.Text(), "\t")
		var attribute string
		require.NoError(t, json.Unmarshal([]byte(quoted), &attribute))
		attributes++
		for i, want := range strings.Split(list, ",") {
			if got := shard.Calculated(attribute, i+1); strconv.Itoa(got) != want {
				t.Fatalf("Calculated(%q, %d) = %d, want %s", attribute, i+1, got, want)
			}
		}
	}
	if err := scanner.Err(); err != nil || attributes < 10 {
		t.Fatalf("read %d attributes, %v; want at least 10", attributes, err)
	}
}

// TestCountsBelowOneAreOne checks that each function returns write shard 0 for a count of 1 or less.
func TestCountsBelowOneAreOne(t *testing.T) {
	for _, n := range []int{1, 0, -1, math.MinInt} {
		if a, b, c, d := shard.Random(n), shard.Calculated("a", n), shard.Summed("a", n), shard.Another(n, 0); a != 0 || b != 0 || c != 0 || d != 0 {
			t.Errorf("with %d write shards: %d, %d, %d, %d; want 0", n, a, b, c, d)
		}
	}
}

// TestNegativeShardsPanic checks that Join panics with a negative write shard.
func TestNegativeShardsPanic(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("Join did not panic")
		}
	}()
	shard.Hash.Join("a", -1)
}

// TestBuckets checks labels in UTC, that Start rejects an invalid day, and which layouts of labels are valid.
func TestBuckets(t *testing.T) {
	at := time.Date(2026, 1, 5, 13, 4, 59, 999, time.FixedZone("", 3600))
	for bucket, want := range map[shard.Bucket]string{
		shard.Minute: "2026-01-05T12:04", shard.Hour: "2026-01-05T12", shard.Day: "2026-01-05",
		shard.Hour.Labeled("2006-01-02-15"): "2026-01-05-12", shard.Hour.Labeled("2006-01-02 15"): "2026-01-05 12", shard.Day.Labeled("20060102"): "20260105",
		shard.Minute.Labeled("200601021504").Labeled("15:04 02.01.2006"): "12:04 05.01.2026",
	} {
		if got := bucket.Label(at); got != want || bucket.Valid() != nil {
			t.Errorf("%s: %s, %v; want %s", bucket, got, bucket.Valid(), want)
		}
	}
	for _, bad := range []shard.Bucket{"", "week", " 2006", shard.Hour.Labeled(""), shard.Hour.Labeled("2006-01-02"), shard.Hour.Labeled("2006-01-02-03"), shard.Day.Labeled("2006-1-2"), shard.Day.Labeled("01-02")} {
		if err := bad.Valid(); err == nil || strings.Contains(err.Error(), "%!") || strings.Contains(err.Error(), `no bucket "minute"`) {
			t.Errorf("%q: error %v", string(bad), err)
		}
	}
	if _, err := shard.Day.Start("2026-02-30"); err == nil {
		t.Error("Start accepts February 30")
	}
}

// TestBucketsCoverTimeOnce checks that each instant is in the bucket of its label, and that Labels returns the labels of a
// range's instants.
func TestBucketsCoverTimeOnce(t *testing.T) {
	buckets := []shard.Bucket{shard.Minute, shard.Hour, shard.Day, shard.Hour.Labeled("2006-01-02-15")}
	rapid.Check(t, func(t *rapid.T) {
		b := rapid.SampledFrom(buckets).Draw(t, "bucket")
		at := time.Unix(rapid.Int64Range(-1e9, 4e9).Draw(t, "at"), rapid.Int64Range(0, 999_999_999).Draw(t, "ns"))
		start, err := b.Start(b.Label(at))
		if err != nil || at.Before(start) || !at.Before(start.Add(b.Width())) {
			t.Fatalf("%v has the label %s, whose bucket begins at %v: %v", at, b.Label(at), start, err)
		}
		to := at.Add(time.Duration(rapid.Int64Range(1, int64(20*b.Width())).Draw(t, "length")))
		labels := b.Labels(at, to)
		last := b.Label(to.Add(-1))
		if labels[0] != b.Label(at) || labels[len(labels)-1] != last || !slices.IsSorted(labels) {
			t.Fatalf("labels from %v to %v: %v", at, to, labels)
		}
		if none := b.Labels(at, at); len(none) != 0 {
			t.Fatalf("an empty range has labels %v", none)
		}
	})
}

// TestHistory checks the counts of a history by time and range, its parsing and its text.
func TestHistory(t *testing.T) {
	at := func(s int64) time.Time { return time.Unix(s, 0) }
	h, err := shard.ParseHistory([]string{"30:2", "10:4", "20:8"})
	require.NoError(t, err)
	for s, want := range map[int64]int{9: 1, 10: 4, 19: 4, 20: 8, 29: 8, 30: 2, 99: 2} {
		if got := h.At(at(s)); got != want {
			t.Errorf("at %d: %d, want %d", s, got, want)
		}
	}
	if got := h.Max(at(5), at(15)); got != 4 {
		t.Errorf("the highest count from 5 to 15 is %d, want 4", got)
	}
	if got := h.Max(at(25), at(50)); got != 8 {
		t.Errorf("the highest count from 25 to 50 is %d, want 8", got)
	}
	if got := h.Counts(at(9), at(30)); !slices.Equal(got, []int{1, 4, 8, 2}) {
		t.Errorf("counts %v, want [1 4 8 2]", got)
	}
	if got := h.Strings(); !slices.Equal(got, []string{"10:4", "20:8", "30:2"}) || h.Newest() != 2 {
		t.Errorf("Strings = %v, Newest = %d; want [10:4 20:8 30:2] and 2", got, h.Newest())
	}
	for _, bad := range [][]string{{"1"}, {"x:1"}, {"1:0"}, {"1:-2"}, {"1:2", "1:3"}, {"1:2:3"}} {
		if _, err := shard.ParseHistory(bad); err == nil {
			t.Errorf("ParseHistory accepts %v", bad)
		}
	}
	if none := (shard.History)(nil); none.At(at(1)) != 1 || none.Newest() != 1 || none.Max(at(1), at(2)) != 1 {
		t.Error("a history without changes has another count than 1")
	}
}
