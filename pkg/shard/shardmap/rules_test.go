package shardmap

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/pkg/shard"
)

// entryAt returns an entry with one change, made two seconds before it takes effect.
func entryAt(seconds int64, count int) Entry {
	at := time.Unix(seconds, 0).UTC()
	return Entry{Key: "E#a", Version: 5, Updated: at.Add(-2 * time.Second), Max: count, History: shard.History{{At: at, Count: count}}}
}

// TestMadeIn checks by which parts of an entry a change is found again. Its version may have been raised.
func TestMadeIn(t *testing.T) {
	for name, c := range map[string]struct {
		change func(e *Entry)
		want   bool
	}{
		"the same":         {func(*Entry) {}, true},
		"raised":           {func(e *Entry) { e.Version++ }, true},
		"before":           {func(e *Entry) { e.Version-- }, false},
		"made later":       {func(e *Entry) { e.Updated = e.Updated.Add(time.Millisecond) }, false},
		"deleted":          {func(e *Entry) { e.deleted = true }, false},
		"pinned":           {func(e *Entry) { e.Pinned = true }, false},
		"another count":    {func(e *Entry) { e.History[0].Count++ }, false},
		"another date":     {func(e *Entry) { e.History[0].At = e.History[0].At.Add(time.Millisecond) }, false},
		"unreadable":       {func(e *Entry) { e.fault = errors.New("damaged") }, false},
		"with other notes": {func(e *Entry) { e.Notes, e.Max = map[int64]Note{1: {}}, 99 }, true},
	} {
		made, there := entryAt(100, 4), entryAt(100, 4)
		c.change(&there)
		if got := made.isMadeIn(there); got != c.want {
			t.Errorf("%s: %t", name, got)
		}
	}
	made, there := entryAt(100, 4), entryAt(100, 4)
	if made.deleted, there.deleted = true, true; !made.isMadeIn(there) {
		t.Error("a deletion is not found again")
	}
}

// TestNewerEntries checks which of two entries of a key a view keeps.
func TestNewerEntries(t *testing.T) {
	version := func(v int64, change func(e *Entry)) Entry {
		e := entryAt(100, 4)
		e.Version = v
		change(&e)
		return e
	}
	same := func(*Entry) {}
	damaged := func(e *Entry) { e.fault = errors.New("damaged") }
	gone := func(e *Entry) { e.deleted = true }
	madeAgain := func(after time.Duration) func(e *Entry) { return func(e *Entry) { e.Updated = e.Updated.Add(after) } }
	for i, c := range []struct {
		found, held Entry
		want        bool
	}{
		{version(5, same), version(5, same), false}, {version(6, same), version(5, same), true}, {version(4, same), version(5, same), false},
		{version(5, same), version(5, damaged), true}, {version(5, damaged), version(5, damaged), false}, {version(5, damaged), version(5, same), false}, {version(4, same), version(5, damaged), false},
		{version(1, madeAgain(tombstoneTime/2)), version(5, gone), false}, {version(1, madeAgain(tombstoneTime/2+1)), version(5, gone), true}, {version(1, madeAgain(tombstoneTime)), version(5, same), false},
	} {
		if got := c.found.replaces(c.held); got != c.want {
			t.Errorf("row %d: %t", i, got)
		}
		held := &view{keys: map[string]Entry{"E#a": c.held}}
		if held.mergeEntry(c.found); (held.findEntry("E#a").Updated == c.found.Updated && held.findEntry("E#a").Version == c.found.Version) != (c.want || c.found.Version == c.held.Version) {
			t.Errorf("row %d: the view has %+v", i, held.findEntry("E#a"))
		}
	}
}

// TestAgesOfViews checks which views may be used, which need a renewal, and which time a poll sets.
func TestAgesOfViews(t *testing.T) {
	polled := time.Unix(1000, 0)
	v := &view{polledAt: polled, keys: map[string]Entry{}}
	for _, c := range []struct {
		after         time.Duration
		usable, fresh bool
	}{{time.Minute, true, true}, {time.Minute + 1, false, false}, {0, true, true}, {-otherClock, true, true}, {-otherClock - 1, true, false}} {
		if now := polled.Add(c.after); v.isWithin(now, time.Minute) != c.usable || v.fresh(now, time.Minute) != c.fresh {
			t.Errorf("after %v: usable %t, fresh %t", c.after, v.isWithin(now, time.Minute), v.fresh(now, time.Minute))
		}
	}
	if (&view{polledAt: polled}).isWithin(polled, time.Minute) {
		t.Error("a view is usable before its first load")
	}
	for _, c := range []struct {
		at   time.Duration
		sets bool
	}{{1, true}, {-1, false}, {-otherClock, false}, {-otherClock - 1, true}} {
		v := &view{polledAt: polled}
		if v.setPolled(polled.Add(c.at)); v.polled().Equal(polled.Add(c.at)) != c.sets {
			t.Errorf("a poll at %v sets %v", c.at, v.polled())
		}
	}
}

// TestEntriesSince checks which keys of a view changed since a time.
func TestEntriesSince(t *testing.T) {
	since := time.Unix(100, 0)
	v := &view{keys: map[string]Entry{}}
	for key, e := range map[string]Entry{
		"at": entryAt(102, 4), "later": entryAt(103, 4), "before": entryAt(101, 4), "none": {Updated: since}, partitionsPrefix + "t": entryAt(102, 4),
		"gone": {Updated: since, History: entryAt(102, 4).History, deleted: true}, "damaged": {Updated: since, History: entryAt(102, 4).History, fault: errors.New("damaged")},
	} {
		e.Key = key
		v.replace(e, true)
	}
	var keys []string
	for _, e := range v.changedSince(since) {
		keys = append(keys, e.Key)
	}
	if slices.Sort(keys); !slices.Equal(keys, []string{"at", "later"}) {
		t.Errorf("%q", keys)
	}
	if v.replace(Entry{Key: "at"}, false); v.size() != 6 {
		t.Errorf("%d keys are left", v.size())
	}
	empty := &view{}
	if empty.replace(entryAt(1, 2), true); empty.keys != nil {
		t.Error("an entry makes a view that was not loaded")
	}
}

// TestTimeLimitOfCalls checks that a call that exceeds its limit may be repeated, unless its caller has left.
func TestTimeLimitOfCalls(t *testing.T) {
	left, leave := context.WithCancel(t.Context())
	leave()
	down := errors.New("down")
	wait := func(ctx context.Context) error { <-ctx.Done(); return ctx.Err() }
	for name, c := range map[string]struct {
		ctx    context.Context
		within time.Duration
		call   func(context.Context) error
		want   error
	}{
		"success": {t.Context(), time.Hour, func(context.Context) error { return nil }, nil},
		"failure": {t.Context(), time.Hour, func(context.Context) error { return down }, down},
		"slow":    {t.Context(), 1, wait, shard.ErrUnavailable},
		"left":    {left, time.Hour, wait, context.Canceled},
		"late":    {t.Context(), 1, func(ctx context.Context) error { <-ctx.Done(); return nil }, nil},
	} {
		if err := withTimeLimit(c.ctx, c.within, c.call); !errors.Is(err, c.want) || c.want == nil && err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, m := range map[string]*Map{"no client": New(nil, "m", Options{}), "no map": nil} {
		if err := m.renew(t.Context(), time.Unix(1, 0)); !errors.Is(err, shard.ErrMisused) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := New(enginetest.NewMapTable(10, 0, 0), "m", Options{}).renew(t.Context(), time.Time{}); !errors.Is(err, shard.ErrMisused) {
		t.Errorf("without a time: %v", err)
	}
}

// TestUnreadableItems checks which items of the map are entries. One that is none has its version, so that a newer one replaces it.
func TestUnreadableItems(t *testing.T) {
	most := entryAt(100, shard.MaxShards)
	most.Notes = map[int64]Note{100_000: {By: "a", Why: "b", Made: time.Unix(98, 0).UTC()}, 200_000: {By: "c"}}
	most.Forgotten, most.Pinned = true, true
	got, err := parseEntry("E#a", most.attributes())
	if err != nil || !most.isMadeIn(got) || got.Max != shard.MaxShards || !got.Pinned || got.Notes[100_000] != most.Notes[100_000] || got.Notes[200_000] != most.Notes[200_000] || !got.Forgotten {
		t.Errorf("%+v, %v", got, err)
	}
	foreign := most.attributes()
	delete(foreign, attrMax)
	if got, err := parseEntry("E#a", foreign); err != nil || got.Max != shard.MaxShards {
		t.Errorf("without a maximum: %+v, %v", got, err)
	}
	deleted := Entry{Key: "E#a", Version: 5, Updated: most.Updated, deleted: true}.attributes()
	if got, err := parseEntry("E#a", deleted); err != nil || !got.deleted || got.Max != 0 || dynamo.Digits(deleted, "expires_at") != strconv.FormatInt(most.Updated.Add(tombstoneTime).Unix(), 10) {
		t.Errorf("a deletion: %+v, %v", got, err)
	}
	for name, change := range map[string]func(dynamo.Item){
		"a number in the history": func(it dynamo.Item) {
			it[attrHistory] = &types.AttributeValueMemberL{Value: []types.AttributeValue{dynamo.Number(1)}}
		},
		"a text as maximum": func(it dynamo.Item) { it[attrMax] = dynamo.String("4") },
		"1,001 as maximum":  func(it dynamo.Item) { it[attrMax] = dynamo.Number(shard.MaxShards + 1) },
		"a text as time":    func(it dynamo.Item) { it[attrUpdated] = dynamo.String("1") },
		"a malformed change": func(it dynamo.Item) {
			it[attrHistory] = &types.AttributeValueMemberL{Value: []types.AttributeValue{dynamo.String("x")}}
		},
	} {
		it := most.attributes()
		change(it)
		if got := readEntry("E#a", it); got.fault == nil || got.Version != 5 || got.Key != "E#a" || got.History != nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// TestUnreadableLogItems checks which log items name a key whose entry can't be read, and which are no change.
func TestUnreadableLogItems(t *testing.T) {
	a, b := entryAt(100, 4), entryAt(100, 4)
	b.Key = "E#b"
	for name, c := range map[string]struct {
		packed []byte
		fault  bool
	}{
		"the entry": {appendEntry(nil, a), false}, "another key's": {appendEntry(nil, b), true}, "two": {appendEntry(appendEntry(nil, a), a), true},
		"damaged": {[]byte("damaged"), true}, "empty": {nil, true},
	} {
		it := new(tableReader).logPuts(a)[0].Put.Item
		it[attrEntry] = &types.AttributeValueMemberB{Value: c.packed}
		if e, ok := parseLogItem(it); !ok || e.Key != "E#a" || (e.fault != nil) != c.fault {
			t.Errorf("%s: %+v, %t", name, e, ok)
		}
	}
	if e, ok := parseLogItem(dynamo.Key("log#0", "x")); ok {
		t.Errorf("an item that is no change: %+v", e)
	}
	if logTime < 2*(reload+maxLoadTime+loadBack+RenewTime) || tombstoneTime <= logTime || LookBack >= LateTime || overlap < 2*(CommitTime+Clocks) {
		t.Error("a view may miss a change")
	}
}

// stuck is a map whose first raise of a version fails, and whose second finds a change that was committed meanwhile.
type stuck struct {
	*strictMap
	puts int
	made dynamo.Item
}

func (s *stuck) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	switch s.puts++; s.puts {
	case 1:
		return nil, errors.New("down")
	case 2:
		time.Sleep(time.Millisecond) // dates have milliseconds
		s.Put(s.made)
		return nil, &types.ConditionalCheckFailedException{}
	}
	return s.strictMap.PutItem(ctx, in, o...)
}

// TestChangesCommittedLate checks which changes with an unknown outcome are dated again if they were committed after the
// commit's bound: those that raise the count, and resets.
func TestChangesCommittedLate(t *testing.T) {
	for name, c := range map[string]struct {
		old, next   int // 0 for a reset
		late, again bool
	}{
		"a growth": {2, 4, true, true}, "a growth in time": {2, 4, false, false}, "a decrease": {8, 4, true, false}, "the same count": {4, 4, true, false}, "a reset": {4, 0, true, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			begun := time.Now()
			old, next := entryAt(begun.Unix()-100, c.old), entryAt(begun.Unix()+2, c.next)
			if next.Version++; c.next == 0 {
				next.History = nil
			}
			f := &stuck{strictMap: &strictMap{enginetest.NewMapTable(10, 0, 0)}, made: next.attributes()}
			f.Put(old.attributes())
			decide := func(_ Entry, now time.Time) (Entry, error) {
				e := next
				e.Updated = entryTime(now)
				return e, nil
			}
			got, err := NewChanger(f, New(f, "m", Options{}), ChangerOptions{}).void(t.Context(), old, next, decide, begun, func() bool { return c.late })
			if err != nil || got.Updated.After(next.Updated) != c.again || f.puts != 2 {
				t.Errorf("%s: %+v, %v after %d puts", name, got, err, f.puts)
			}
		})
	}
}

// TestClocksOfChanges checks how far a caller's time and a key's newest change may be from the Changer's clock.
func TestClocksOfChanges(t *testing.T) {
	clock := time.Unix(1000, 0)
	c := &Changer{clock: func() time.Time { return clock }}
	for off, valid := range map[time.Duration]bool{0: true, clockError: true, clockError + 1: false, -clockError: true, -clockError - 1: false} {
		if now, err := c.changeTime(clock.Add(off)); (err == nil) != valid || valid && !now.Equal(clock) {
			t.Errorf("a time %v from the clock: %v, %v", off, now, err)
		}
		if err := checkNewest(Entry{Updated: clock.Add(off)}, clock); (err == nil) != (valid || off < 0) {
			t.Errorf("a change %v from the clock: %v", off, err)
		}
	}
	if now, err := (&Changer{}).changeTime(clock.Add(time.Hour)); err != nil || !now.Equal(clock.Add(time.Hour)) {
		t.Errorf("without a clock: %v, %v", now, err)
	}
}

// TestActiveEntries checks which change an entry's newest write shard count at a time is from.
func TestActiveEntries(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(seconds, 0).UTC() }
	e := Entry{History: shard.History{{At: at(10), Count: 8}, {At: at(20), Count: 4}, {At: at(30), Count: 8}, {At: at(40), Count: 2}}}
	for seconds, want := range map[int64]int64{5: 40, 10: 10, 19: 10, 20: 20, 30: 30, 39: 30, 40: 40, 50: 40} {
		if got := e.Active(at(seconds)).Effective(); !got.Equal(at(want)) {
			t.Errorf("at %d s: the change at %v, want %d", seconds, got.Unix(), want)
		}
	}
	for _, c := range []struct{ forgotten, want bool }{{false, false}, {true, true}} {
		e.Forgotten = c.forgotten
		if e.Forgot(at(9)) != c.want || e.Forgot(at(10)) || (Entry{Forgotten: true}).Forgot(at(9)) {
			t.Errorf("forgotten %t: before the first change %t", c.forgotten, e.Forgot(at(9)))
		}
	}
	if !(Entry{}).Effective().IsZero() || (Entry{}).Most() != 1 || (Entry{Max: 3}).Most() != 3 {
		t.Error("a key without a history has a change")
	}
}

// TestStepsOfADeletion checks which entries of a key can be reset and forgotten, and that a forgotten key may grow again.
func TestStepsOfADeletion(t *testing.T) {
	changed, pinned := entryAt(100, 4), Entry{Version: 5, Max: 4, Pinned: true}
	for name, c := range map[string]struct {
		there         Entry
		reset, forget error
	}{
		"not in the map": {Entry{}, ErrNoChange, ErrNoChange},
		"changed":        {changed, nil, ErrInUse},
		"only pinned":    {pinned, nil, ErrInUse},
		"reset":          {Entry{Version: 5, Max: 4, Forgotten: true}, ErrNoChange, nil},
		"forgotten":      {Entry{Version: 5, deleted: true}, ErrNoChange, ErrNoChange},
	} {
		synctest.Test(t, func(t *testing.T) {
			now, changer := time.Now(), func() *Changer {
				f := &strictMap{enginetest.NewMapTable(10, 0, 0)}
				if c.there.Key = "E#a"; c.there.Version > 0 {
					f.Put(c.there.attributes())
				}
				return NewChanger(f, New(f, "m", Options{}), ChangerOptions{})
			}
			entry, err := changer().Reset(t.Context(), "E#a", now)
			if !errors.Is(err, c.reset) || err == nil && (c.reset != nil || entry.Version != 6 || entry.Max != 4 || entry.Pinned || !entry.Forgotten || entry.History != nil || !entry.Updated.Equal(now)) || err != nil && entry.Version != c.there.Version {
				t.Errorf("%s: reset to %+v, %v", name, entry, err)
			}
			forget := changer()
			if err := forget.Forget(t.Context(), "E#a", now); !errors.Is(err, c.forget) || c.forget == nil && err != nil {
				t.Errorf("%s: forgotten: %v, want %v", name, err, c.forget)
			}
			gone, err := forget.Read(t.Context(), "E#a")
			if listed, failed := forget.Entries(t.Context()); c.forget == nil && (err != nil || failed != nil || gone.Version != 6 || gone.Most() != 1 || !gone.deleted || !gone.Updated.Equal(now) || len(listed) > 0) {
				t.Errorf("%s: %+v, %v; listed %+v, %v", name, gone, err, listed, failed)
			}
			if again, err := forget.GrowFrom(t.Context(), gone, 5, Note{}, now); c.forget == nil && (err != nil || again.Most() != 5 || again.Version != 7) {
				t.Errorf("%s: used again: %+v, %v", name, again, err)
			}
		})
	}
}

// TestHiddenDecreases checks which pending changes a change hides, and when it takes effect.
func TestHiddenDecreases(t *testing.T) {
	at := func(seconds int64) time.Time { return time.Unix(1000+seconds, 0) }
	lowered := shard.History{{At: at(-60), Count: 24}, {At: at(-1), Count: 4}, {At: at(60), Count: 2}}
	raised := shard.History{{At: at(-60), Count: 2}, {At: at(10), Count: 24}, {At: at(60), Count: 4}}
	for i, c := range []struct {
		h         shard.History
		count     int
		hidden    int
		effective int64
	}{
		{nil, 8, 0, 0}, {lowered, 96, 2, 0}, {lowered, 4, 2, 0}, {lowered, 3, 2, 60}, {lowered, 2, 2, 60}, {lowered, 1, 3, 0},
		{raised, 96, 1, 0}, {raised, 24, 2, 60}, {raised, 5, 2, 60}, {raised, 4, 2, 60}, {raised, 3, 3, 0},
	} {
		if hidden, effective := hideDecreases(c.h, c.count, at(0)); hidden != c.hidden || !effective.Equal(at(c.effective)) {
			t.Errorf("row %d: %d, %v", i, hidden, effective.Sub(at(0)))
		}
	}
}

// TestDatedAgain checks that a change which was committed late is made again by the current time, if it is still the newest.
func TestDatedAgain(t *testing.T) {
	misused := errors.New("misused")
	for name, c := range map[string]struct {
		there   int // the key's newest count; the change is to 4
		decides error
		want    int64
		after   time.Duration
	}{
		"the newest":     {4, nil, 6, 3 * time.Second},
		"another change": {5, nil, 5, 0},
		"refused":        {4, misused, 5, 0},
	} {
		synctest.Test(t, func(t *testing.T) {
			f := &strictMap{enginetest.NewMapTable(10, 0, 0)}
			begun := time.Now()
			made := entryAt(begun.Unix()+2, 4)
			f.Put(entryAt(begun.Unix()+2, c.there).attributes())
			time.Sleep(3 * time.Second)
			again, err := NewChanger(f, New(f, "m", Options{}), ChangerOptions{}).redate(t.Context(), Entry{Key: "E#a"}, made, func(_ Entry, now time.Time) (Entry, error) {
				e := made
				e.Updated = now
				return e, c.decides
			}, begun)
			if !errors.Is(err, c.decides) || again.Version != c.want || again.Updated.Sub(made.Updated) != c.after || time.Since(begun) != 3*time.Second {
				t.Errorf("%s: %+v, %v after %v", name, again, err, time.Since(begun))
			}
		})
	}
}

// TestEarlyReads checks for how long a process without a view uses a key's item that it has read.
func TestEarlyReads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f, began := enginetest.NewMapTable(10, 0, 0), time.Now()
		f.Down = func() error { return errors.New("down") }
		m := New(f, "m", Options{})
		for version, c := range []struct {
			after time.Duration
			want  int
		}{{0, 2}, {ViewAge, 2}, {ViewAge + 1, 4}, {1, 4}, {0, 6}} {
			change(f, int64(version+1), "C#a", version+2)
			if _, n := m.Newest(t.Context(), "C#a", began.Add(c.after)); n != c.want {
				t.Errorf("after %v: %d write shards, want %d", c.after, n, c.want)
			}
		}
		time.Sleep(RenewTime)
	})
}

// unread is a client that can't read an item.
type unread struct{ *strictMap }

func (unread) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return nil, errors.New("down")
}

// TestSnapshotNeedsItsAge checks that no snapshot is stored if the age of the stored one, or the keys, can't be read.
func TestSnapshotNeedsItsAge(t *testing.T) {
	f := unread{&strictMap{enginetest.NewMapTable(10, 0, 0)}}
	if err := NewChanger(f, New(f, "m", Options{}), ChangerOptions{}).StoreSnapshot(t.Context(), time.Now()); err == nil || len(f.Items) > 0 {
		t.Errorf("%d items, %v", len(f.Items), err)
	}
	down := &strictMap{enginetest.NewMapTable(10, 0, 0)}
	down.Down = func() error { return &types.ResourceNotFoundException{} }
	if err := NewChanger(down, New(down, "m", Options{}), ChangerOptions{}).StoreSnapshot(t.Context(), time.Now()); err == nil || len(down.Items) > 0 {
		t.Errorf("without the keys: %d items, %v", len(down.Items), err)
	}
}

// TestPlacesNearAChange checks which write shards may have an item of a time near a growth from 1 to 4 write shards.
func TestPlacesNearAChange(t *testing.T) {
	grown := time.Unix(1_700_000_000, 0)
	e := Entry{Key: "E#a", Max: 4, History: shard.History{{At: grown, Count: 4}}}
	last := func(_ string, n int) int { return n - 1 }
	for after, want := range map[time.Duration][]int{
		-LateMargin - time.Millisecond: {0}, -LateMargin: {0, 3}, 0: {0, 3}, LateMargin - time.Millisecond: {0, 3}, LateMargin: {3},
	} {
		if got := e.PlacesDuring(last, "x", grown.Add(after), grown.Add(after)); !slices.Equal(got, want) {
			t.Errorf("%v after the growth: write shards %v, want %v", after, got, want)
		}
	}
}
