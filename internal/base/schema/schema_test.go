package schema

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// TestKeysAreInverse checks that keys and base keys of all kinds are parsed back.
func TestKeysAreInverse(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := Key{
			Base: BaseKey{
				Type: rapid.SampledFrom(Kinds()).Draw(t, "type"),
				Name: rapid.StringN(1, 100, 512).Draw(t, "name"),
			},
			Shard: rapid.IntRange(0, 1e6).Draw(t, "shard"),
		}
		if key.Base.Type == Event {
			key.Bucket = EventBucket.Label(time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "at"), 0))
		}
		if TraitsOf(key.Base.Type).Bucket == PeriodBucket {
			key.Bucket = rapid.SampledFrom([]string{"all", "2026-01-05", "2026-W02"}).Draw(t, "period")
		}
		if key.Base.Type == Limit {
			start := time.Unix(rapid.Int64Range(0, 4e9).Draw(t, "start"), 0)
			key.Bucket = LimitBucket(start, time.Duration(rapid.IntRange(1, 1e7).Draw(t, "window"))*time.Second)
		}
		if got, err := ParseKey(key.String()); err != nil || got != key {
			t.Fatalf("%q was read as %+v, %v", key.String(), got, err)
		}
		if got, err := ParseBaseKey(key.Base.String()); err != nil || got != key.Base {
			t.Fatalf("%q was read as %+v, %v", key.Base.String(), got, err)
		}
	})
}

// TestOtherKeysHaveNoBaseKey checks that partition keys of other items and malformed ones are no keys of kinds.
func TestOtherKeysHaveNoBaseKey(t *testing.T) {
	for _, pk := range []string{"", "I#key", "I#a#1", "H#x#0", "C#a", "E#a#0", "E#a#2026-13-01#0", "E#a#b#0", "R#a#0", "R#a#60#0", "R#a#060#0#0", "R#a#60#-1#0", "R#a#60#x#0", "K#2026-01-05T00#1", "L#a#0", "L#a##0", "L#a#2026-W2#0"} {
		if key, err := ParseKey(pk); err == nil {
			t.Errorf("%q was read as %+v", pk, key)
		}
	}
}

// TestSortKeysAreInOrder checks that sort keys of events are in order of time and id, and are parsed back.
func TestSortKeysAreInOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.StringN(1, 10, 40)
		a, b := rapid.Int64Range(0, 4e12).Draw(t, "a"), rapid.Int64Range(0, 4e12).Draw(t, "b")
		x, y := ids.Draw(t, "x"), ids.Draw(t, "y")
		first, second := EventSortKey(time.UnixMilli(a), x), EventSortKey(time.UnixMilli(b), y)
		if want := a < b || a == b && x < y; (first < second) != want {
			t.Fatalf("%q and %q are out of order", first, second)
		}
		at, id, err := ParseEventSortKey(first)
		if err != nil || at.UnixMilli() != a || id != x {
			t.Fatalf("%q was read as %v, %q, %v", first, at, id, err)
		}
	})
}

// TestSummaryAttributes checks the keys and value attributes of a counter's partials, of 64 write shards each.
func TestSummaryAttributes(t *testing.T) {
	for name, want := range map[string]bool{"x0": false, "x1": true, "x63": true, "x": false, "xx": false, "r1": false, "v": false, "as_of": false} {
		if IsValueAttr(name) != want {
			t.Errorf("%q is a value attribute: want %t", name, want)
		}
	}
	if SummaryKey("a#b", 63) != "C#a#b#0" || SummaryKey("a#b", 64) != "C#a#b#1" {
		t.Error("write shards 63 and 64 are not in partials 0 and 1")
	}
	for most, want := range map[int]int{0: 0, 1: 0, 2: 1, 64: 1, 65: 2, 128: 2, 129: 3} {
		if got := Partials(most); got != want {
			t.Errorf("%d write shards: %d partials, want %d", most, got, want)
		}
	}
}

// TestSessionsAreReadBack checks that keys of sessions and their write shards are parsed back, and pass for no other item's.
func TestSessionsAreReadBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		names := rapid.OneOf(rapid.StringN(1, 10, 40), rapid.StringMatching(`[a#0-9]{1,6}`), rapid.SampledFrom([]string{"~probe", "s#x", "2026-01-05T12:00:00.123Z#x"}))
		group, id := names.Draw(t, "group"), names.Draw(t, "id")
		pk, sk := SessionKey(group, id)
		if g, i, ok := ParseSessionKey(pk, sk); !ok || g != group || i != id {
			t.Fatalf("%q %q becomes %q %q, %v", group, id, g, i, ok)
		}
		if _, _, err := ParseEventSortKey(sk); err == nil || sk == ProbeSK || sk == SoleSK {
			t.Fatalf("the sort key %q is also an event's, a probe's or a counter's", sk)
		}
		n := rapid.IntRange(0, 999).Draw(t, "n")
		if key, err := ParseKey(SessionShardKey(group, n)); err != nil || key.Base != (BaseKey{Session, group}) || key.Shard != n {
			t.Fatalf("%q %d becomes %+v, %v", group, n, key, err)
		}
	})
	for _, key := range [][2]string{{"S#g#a", ProbeSK}, {"S#g#a", "s#b"}, {"S#g#0", SoleSK}, {"C#g#a", "s#a"}, {"~probe#S#g#1", ProbeSK}} {
		if group, id, ok := ParseSessionKey(key[0], key[1]); ok {
			t.Errorf("%q is session %q of %q", key, id, group)
		}
	}
}

// TestIndexesOfKindsAreThere checks that the items table has each kind's index.
func TestIndexesOfKindsAreThere(t *testing.T) {
	there := map[string]bool{"": true}
	for _, index := range Tables(NamesFor(""))[0].Indexes {
		there[index.Name] = true
	}
	for _, k := range Kinds() {
		if index := TraitsOf(k).Index; !there[index] {
			t.Errorf("the write shards of %s are in %q, which the items table does not have", k, index)
		}
	}
}

// TestPrefixesOfOtherItems checks that no other item has a kind's prefix.
func TestPrefixesOfOtherItems(t *testing.T) {
	for _, prefix := range []string{BoardPrefix, CallPrefix, AckPrefix, FailurePrefix, NotePrefix, CompactionPK} {
		if k, _, ok := CutKind(prefix); ok {
			t.Errorf("%s is also the prefix of %s", prefix, k)
		}
	}
}
