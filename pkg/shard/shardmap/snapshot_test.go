package shardmap

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/mapfake"
	"github.com/hotshard/hotshard/pkg/shard"
)

// storeSnapshot stores a snapshot of the fake's keys now.
func storeSnapshot(t *testing.T, f *mapfake.Table) {
	t.Helper()
	if err := NewChanger(f, New(f, "m", Options{}), ChangerOptions{}).StoreSnapshot(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
}

// started returns a view that was loaded now, and the pages of keys that this read.
func started(t *testing.T, f *mapfake.Table) (*Map, int) {
	t.Helper()
	before, m := f.Pages(), New(f, "m", Options{})
	if err := m.Load(t.Context(), time.Now()); err != nil {
		t.Fatal(err)
	}
	return m, f.Pages() - before
}

// TestASnapshotHasWhatALoadHas checks that a start from a snapshot equals a load, for entries of all forms.
// Each field of Entry is set in one of them, so a new field must be in the snapshot, too.
func TestASnapshotHasWhatALoadHas(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := mapfake.New(10, 0, 0)
		full := Entry{
			Key: "E#all", Max: 90, Version: 7, Pinned: true, Forgotten: true, Updated: dated(time.Now()),
			History: shard.History{{At: time.UnixMilli(1_763_808_100_250).UTC(), Count: 4}, {At: time.UnixMilli(1_763_808_123_000).UTC(), Count: 16}},
		}
		for field, value := range reflect.ValueOf(full).Fields() {
			if value.IsZero() && field.Name != "Notes" && field.Name != "gone" && field.Name != "fault" {
				t.Errorf("field %s of Entry is not in this test", field.Name)
			}
		}
		f.Put(full.attributes())
		f.Put(Entry{Key: "C#gone", Version: 3, Updated: dated(time.Now()), gone: true}.attributes())
		f.Put(Entry{Key: "C#reset", Version: 4, Max: 8, Updated: dated(time.Now())}.attributes())
		f.Put(dynamo.Key(schema.MapKey("C#by others")))
		for n := range 100 {
			change(f, int64(n), fmt.Sprint("R#", n), 1+n)
		}
		loaded, _ := started(t, f)
		storeSnapshot(t, f)
		m, pages := started(t, f)
		if got := m.current().keys; pages != 0 || len(got) != 104 || !reflect.DeepEqual(got, loaded.current().keys) {
			t.Errorf("%d entries with %d pages of keys:\n%+v\nwant\n%+v", len(got), pages, got, loaded.current().keys)
		}
	})
}

// TestSnapshotsThatAreNotUsed checks that a start reads the keys of the one bucket whose snapshot is damaged.
func TestSnapshotsThatAreNotUsed(t *testing.T) {
	item := func(f *mapfake.Table) dynamo.Item { return f.Items[mapfake.Slot(snapshotKey(2, 5))] }
	entries := func(f *mapfake.Table) *types.AttributeValueMemberB {
		return item(f)[attrEntries].(*types.AttributeValueMemberB)
	}
	for name, damage := range map[string]func(*mapfake.Table){
		"an item is missing":     func(f *mapfake.Table) { delete(f.Items, mapfake.Slot(snapshotKey(2, 5))) },
		"one without its time":   func(f *mapfake.Table) { delete(item(f), attrTaken) },
		"one of another clock":   func(f *mapfake.Table) { item(f)[attrTaken] = seconds(time.Now().Add(Clocks + time.Second)) },
		"one that is too old":    func(f *mapfake.Table) { item(f)[attrTaken] = seconds(time.Now().Add(-31 * time.Minute)) },
		"one that is cut":        func(f *mapfake.Table) { entries(f).Value = entries(f).Value[:len(entries(f).Value)-1] },
		"one without entries":    func(f *mapfake.Table) { delete(item(f), attrEntries) },
		"another item beside it": func(f *mapfake.Table) { f.Put(dynamo.Key(schema.MapSnapshot(2), "x")) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := manyPages()
				loaded, all := started(t, f)
				storeSnapshot(t, f)
				if _, pages := started(t, f); pages != 0 {
					t.Fatalf("%d pages of keys with a whole snapshot", pages)
				}
				damage(f)
				asked := len(f.Asked)
				m, pages := started(t, f)
				for _, page := range f.Asked[asked:] {
					if !strings.HasPrefix(page, schema.MapPart(2)+" ") {
						t.Errorf("page %q of keys was read", page)
					}
				}
				if pages == 0 || pages >= all/2 || !maps.EqualFunc(m.current().keys, loaded.current().keys, func(a, b Entry) bool { return reflect.DeepEqual(a, b) }) {
					t.Errorf("%d of %d pages of keys, %d entries", pages, all, len(m.current().keys))
				}
			})
		})
	}
}

// TestUnreadableEntriesAreInNoSnapshot checks that a start reads the keys of an unreadable entry's bucket, and
// has the others from the snapshot.
func TestUnreadableEntriesAreInNoSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		f.Items[mapfake.Slot(mapKey("C#k7"))][attrHistory] = newForm
		c := NewChanger(f, New(f, "m", Options{}), ChangerOptions{})
		if err := c.StoreSnapshot(t.Context(), time.Now()); err == nil {
			t.Error("an unreadable entry is not in the error")
		}
		m, pages := started(t, f)
		if e, ok, _ := m.current().find("C#k7"); !ok || e.fault == nil || pages == 0 || pages > 40 || len(m.current().keys) != 200 {
			t.Errorf("%+v, %d pages of keys, %d entries", e, pages, len(m.current().keys))
		}
	})
}

// TestSnapshotsAreStoredEveryTenMinutes checks that calls a minute apart store a snapshot when the last one
// is older than ten minutes. The fake's calls take no time, which would count.
func TestSnapshotsAreStoredEveryTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		f.Answer(0, 0)
		_, all := started(t, f)
		var stored []int
		for minute := range 30 {
			before := f.Pages()
			storeSnapshot(t, f)
			if read := f.Pages() - before; read == all {
				stored = append(stored, minute)
			} else if read != 0 {
				t.Fatalf("%d of %d pages", read, all)
			}
			time.Sleep(time.Minute)
		}
		if !slices.Equal(stored, []int{0, 11, 22}) {
			t.Errorf("stored in minutes %v", stored)
		}
	})
}

// TestASnapshotWithoutALateChange checks that a change which was committed 90 s after its time, and after
// the snapshot, is in a start.
func TestASnapshotWithoutALateChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		e := Entry{Key: "C#k3", History: shard.History{{At: dated(time.Now()), Count: 40}}, Max: 40, Version: 2, Updated: dated(time.Now())}
		time.Sleep(80 * time.Second)
		storeSnapshot(t, f)
		f.Put(e.attributes())
		for _, action := range new(stored).logPuts(e) {
			f.Put(action.Put.Item)
		}
		time.Sleep(5 * time.Minute)
		m, pages := started(t, f)
		if e, err := m.Lookup(t.Context(), "C#k3", time.Now()); err != nil || e.History.Newest() != 40 || pages != 0 {
			t.Errorf("%d write shards, %v, %d pages of keys", e.History.Newest(), err, pages)
		}
	})
}

// TestTwoWritersOfSnapshots checks that a writer which was frozen in its work for 20 minutes does no harm: its
// old items and the new ones of another writer make a start right, with a change that only the new ones have.
func TestTwoWritersOfSnapshots(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		slow := &frozenPuts{Table: f, after: 10, frozen: 20 * time.Minute}
		var group sync.WaitGroup
		group.Go(func() {
			if err := NewChanger(slow, New(slow, "m", Options{}), ChangerOptions{}).StoreSnapshot(t.Context(), time.Now()); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(15 * time.Minute)
		for n := range 200 {
			change(f, 2, fmt.Sprint("C#k", n), 40)
		}
		storeSnapshot(t, f)
		group.Wait()
		taken := map[string]bool{}
		for n := range schema.MapParts * schema.MapSlices {
			it := f.Items[mapfake.Slot(snapshotKey(n/schema.MapSlices, n%schema.MapSlices))]
			at, err := parseSeconds(it, attrTaken)
			if err != nil {
				t.Fatal(err)
			}
			taken[at.Format("15:04")] = true
		}
		m, pages := started(t, f)
		if len(taken) < 3 || pages != 0 {
			t.Errorf("items were taken at %v, %d pages of keys", taken, pages)
		}
		for n := range 200 {
			if e, ok, _ := m.current().find(fmt.Sprint("C#k", n)); !ok || e.History.Newest() != 40 {
				t.Errorf("%s has %d write shards", e.Key, e.History.Newest())
			}
		}
	})
}

// frozenPuts is a table whose writer is frozen before one of its puts.
type frozenPuts struct {
	*mapfake.Table
	after  int
	frozen time.Duration
}

func (f *frozenPuts) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if f.after--; f.after == 0 {
		time.Sleep(f.frozen)
	}
	return f.Table.PutItem(ctx, in, o...)
}

// TestAStartFollowsTheLogSinceItsSnapshot checks keys that changed, came or went after the snapshot.
func TestAStartFollowsTheLogSinceItsSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &strictMap{manyPages()}
		storeSnapshot(t, f.Table)
		c := NewChanger(f, New(f, "m", Options{}), ChangerOptions{})
		for key, n := range map[string]int{"C#k3": 40, "C#new": 50} {
			if _, err := c.Pin(t.Context(), key, n, Note{}, time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Reset(t.Context(), "C#k4", time.Now()); err != nil {
			t.Fatal(err)
		}
		if err := c.Forget(t.Context(), "C#k4", time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(29 * time.Minute)
		m, pages := started(t, f.Table)
		for key, want := range map[string]int{"C#k3": 40, "C#new": 50, "C#k4": 1, "C#k5": 16} {
			if e, err := m.Lookup(t.Context(), key, time.Now()); err != nil || e.History.Newest() != want || pages != 0 {
				t.Errorf("%s: %d write shards, %v, %d pages of keys", key, e.History.Newest(), err, pages)
			}
		}
	})
}

// TestEveryLogHasEveryChange checks that each copy of the log has a change and the note of partitions.
func TestEveryLogHasEveryChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := mapfake.New(10, 0, 0)
		c := NewChanger(f, New(f, "m", Options{}), ChangerOptions{})
		views := make([]*Map, schema.MapLogs)
		for n := range views {
			views[n] = New(f, "m", Options{})
			views[n].log = schema.MapLog(n)
			if err := views[n].Load(t.Context(), time.Now()); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := c.Pin(t.Context(), "E#e", 9, Note{}, time.Now()); err != nil {
			t.Fatal(err)
		}
		if err := c.NotePartitions(t.Context(), "items", 12, time.Now()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * time.Second)
		for n, m := range views {
			if e, err := m.Lookup(t.Context(), "E#e", time.Now()); err != nil || e.History.Newest() != 9 || m.Partitions("items") != 12 {
				t.Errorf("log %d: %d write shards, %v, %d partitions", n, e.History.Newest(), err, m.Partitions("items"))
			}
		}
	})
}
