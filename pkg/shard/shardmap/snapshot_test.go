package shardmap

import (
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

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

// TestASnapshotHasWhatALoadHas of entries of all forms. Each field of Entry is set in one of them,
// so a new field must be in the snapshot, too.
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

// TestSnapshotsThatAreNotUsed lead to a load of their bucket's keys alone.
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

// TestUnreadableEntriesAreInNoSnapshot: their buckets are read, and the others are in the snapshot.
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

// TestSnapshotsAreStoredEveryTenMinutes, whoever stores them.
func TestSnapshotsAreStoredEveryTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		_, all := started(t, f)
		stored := 0
		for range 30 {
			before := f.Pages()
			storeSnapshot(t, f)
			if read := f.Pages() - before; read == all {
				stored++
			} else if read != 0 {
				t.Fatalf("%d of %d pages", read, all)
			}
			time.Sleep(time.Minute)
		}
		if stored != 3 {
			t.Errorf("%d snapshots in 30 minutes", stored)
		}
	})
}

// TestAStartFollowsTheLogSinceItsSnapshot: keys that changed, came or went meanwhile.
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

// TestEveryLogHasEveryChange, and the note of partitions.
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
