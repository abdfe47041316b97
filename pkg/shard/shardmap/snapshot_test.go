package shardmap

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
)

// storeSnapshot stores a snapshot of the fake's keys now.
func storeSnapshot(t *testing.T, f *enginetest.MapTable) {
	t.Helper()
	require.NoError(t, NewChanger(f, New(f, "m", Options{}), ChangerOptions{}).StoreSnapshot(t.Context(), time.Now()))
}

// loadView returns a view that was loaded now, and the number of pages of keys that the load read.
func loadView(t *testing.T, f *enginetest.MapTable) (*Map, int) {
	t.Helper()
	before, m := f.Pages(), New(f, "m", Options{})
	require.NoError(t, m.Load(t.Context(), time.Now()))
	return m, f.Pages() - before
}

// TestSnapshotEqualsLoad checks that a start from a snapshot and a load of the keys have equal entries of all forms.
// One entry has every stored field of Entry, so that a new field must be in the snapshot, too.
func TestSnapshotEqualsLoad(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := enginetest.NewMapTable(10, 0, 0)
		full := Entry{
			Key: "E#all", Max: 90, Version: 7, Pinned: true, Forgotten: true, Updated: entryTime(time.Now()),
			History: shard.History{{At: time.UnixMilli(1_763_808_100_250).UTC(), Count: 4}, {At: time.UnixMilli(1_763_808_123_000).UTC(), Count: 16}},
		}
		for field, value := range reflect.ValueOf(full).Fields() {
			if value.IsZero() && field.Name != "Notes" && field.Name != "deleted" && field.Name != "fault" {
				t.Errorf("field %s of Entry has no value in this test", field.Name)
			}
		}
		f.Put(full.attributes())
		f.Put(Entry{Key: "C#gone", Version: 3, Updated: entryTime(time.Now()), deleted: true}.attributes())
		f.Put(Entry{Key: "C#reset", Version: 4, Max: 8, Updated: entryTime(time.Now())}.attributes())
		f.Put(dynamo.Key(schema.MapKey("C#by others")))
		for n := range 100 {
			change(f, int64(n), fmt.Sprint("R#", n), 1+n)
		}
		if flagPinned != 1 || flagForgotten != 2 || flagDeleted != 4 {
			t.Error("another version of the program can't read the snapshot's flags")
		}
		loaded, _ := loadView(t, f)
		storeSnapshot(t, f)
		m, pages := loadView(t, f)
		if got := m.current().keys; pages != 0 || len(got) != 104 || !reflect.DeepEqual(got, loaded.current().keys) {
			t.Errorf("%d entries with %d pages of keys:\n%+v\nwant\n%+v", len(got), pages, got, loaded.current().keys)
		}
	})
}

// TestTooLargeEntriesAreNotStored checks that a snapshot's item is stored without entries that DynamoDB would reject, with an
// error, so that starts read the keys of its bucket.
func TestTooLargeEntriesAreNotStored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := enginetest.NewMapTable(10, 0, 0)
		long := "E#" + strings.Repeat("k", maxSlice)
		change(f, 1, long, 16)
		if err := NewChanger(f, New(f, "m", Options{}), ChangerOptions{}).StoreSnapshot(t.Context(), time.Now()); err == nil {
			t.Error("too large entries are stored without an error")
		}
		m, pages := loadView(t, f)
		if e, err := m.Lookup(t.Context(), long, time.Now()); pages == 0 || err != nil || e.History.Newest() != 16 {
			t.Errorf("%d write shards, %v, after %d pages of keys; want 16 and at least one page", e.History.Newest(), err, pages)
		}
	})
}

// TestDamagedSnapshotReadsItsBucketOnly checks that a start reads the keys of a bucket whose snapshot is damaged, and no
// other bucket's keys.
func TestDamagedSnapshotReadsItsBucketOnly(t *testing.T) {
	item := func(f *enginetest.MapTable) dynamo.Item { return f.Items[enginetest.ItemSlot(snapshotKey(2, 5))] }
	entries := func(f *enginetest.MapTable) *types.AttributeValueMemberB {
		return item(f)[attrEntries].(*types.AttributeValueMemberB)
	}
	for name, damage := range map[string]func(*enginetest.MapTable){
		"an item is missing": func(f *enginetest.MapTable) { delete(f.Items, enginetest.ItemSlot(snapshotKey(2, 5))) },
		"no time":            func(f *enginetest.MapTable) { delete(item(f), attrTaken) },
		"a time ahead":       func(f *enginetest.MapTable) { item(f)[attrTaken] = secondsValue(time.Now().Add(Clocks + time.Second)) },
		"too old":            func(f *enginetest.MapTable) { item(f)[attrTaken] = secondsValue(time.Now().Add(-31 * time.Minute)) },
		"truncated entries":  func(f *enginetest.MapTable) { entries(f).Value = entries(f).Value[:len(entries(f).Value)-1] },
		"no entries":         func(f *enginetest.MapTable) { delete(item(f), attrEntries) },
		"a foreign item":     func(f *enginetest.MapTable) { f.Put(dynamo.Key(schema.MapSnapshot(2), "x")) },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := manyPages()
				loaded, all := loadView(t, f)
				storeSnapshot(t, f)
				if _, pages := loadView(t, f); pages != 0 {
					t.Fatalf("%d pages of keys with an intact snapshot, want none", pages)
				}
				damage(f)
				before := len(f.Asked)
				m, pages := loadView(t, f)
				for _, page := range f.Asked[before:] {
					if !strings.HasPrefix(page, schema.MapBucket(2)+" ") {
						t.Errorf("page %q of an intact bucket was read", page)
					}
				}
				if pages == 0 || pages >= all/2 || !maps.EqualFunc(m.current().keys, loaded.current().keys, func(a, b Entry) bool { return reflect.DeepEqual(a, b) }) {
					t.Errorf("%d of %d pages of keys, %d entries; want one bucket's pages and %d entries", pages, all, len(m.current().keys), len(loaded.current().keys))
				}
			})
		})
	}
}

// TestBucketOfUnreadableEntryHasNoSnapshot checks that a start reads the keys of an unreadable entry's bucket, and
// takes the others from the snapshot.
func TestBucketOfUnreadableEntryHasNoSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		f.Items[enginetest.ItemSlot(mapKey("C#k7"))][attrHistory] = newForm
		c := NewChanger(f, New(f, "m", Options{}), ChangerOptions{})
		if err := c.StoreSnapshot(t.Context(), time.Now()); err == nil {
			t.Error("StoreSnapshot returns no error for an unreadable entry")
		}
		m, pages := loadView(t, f)
		if e := m.current().findEntry("C#k7"); e.fault == nil || pages == 0 || pages > 40 || len(m.current().keys) != 200 {
			t.Errorf("%+v, %d pages of keys, %d entries; want a fault, 1 to 40 pages and 200 entries", e, pages, len(m.current().keys))
		}
		if list, err := m.Entries(t.Context()); err != nil || len(list) != 199 {
			t.Errorf("%d entries are listed, %v; want 199", len(list), err)
		}
	})
}

// TestSnapshotsAreStoredEveryTenMinutes checks that calls a minute apart store a snapshot only if the last one is
// older than ten minutes.
func TestSnapshotsAreStoredEveryTenMinutes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		f.Answer(0, 0) // the calls' time would count
		_, all := loadView(t, f)
		var stored []int
		for minute := range 30 {
			before := f.Pages()
			storeSnapshot(t, f)
			if read := f.Pages() - before; read == all {
				stored = append(stored, minute)
			} else if read != 0 {
				t.Fatalf("minute %d: %d of %d pages were read", minute, read, all)
			}
			time.Sleep(time.Minute)
		}
		if !slices.Equal(stored, []int{0, 11, 22}) {
			t.Errorf("stored in minutes %v, want 0, 11 and 22", stored)
		}
	})
}

// TestStartHasChangeCommittedAfterSnapshot checks that a start has a change whose time is before the snapshot's, and
// which was committed after it.
func TestStartHasChangeCommittedAfterSnapshot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		e := Entry{Key: "C#k3", History: shard.History{{At: entryTime(time.Now()), Count: 40}}, Max: 40, Version: 2, Updated: entryTime(time.Now())}
		time.Sleep(80 * time.Second)
		storeSnapshot(t, f)
		f.Put(e.attributes())
		for _, action := range new(tableReader).logPuts(e) {
			f.Put(action.Put.Item)
		}
		time.Sleep(5 * time.Minute)
		m, pages := loadView(t, f)
		if e, err := m.Lookup(t.Context(), "C#k3", time.Now()); err != nil || e.History.Newest() != 40 || pages != 0 {
			t.Errorf("%d write shards, %v, %d pages of keys; want 40 and none", e.History.Newest(), err, pages)
		}
	})
}

// TestEveryLogHasEveryChange checks that each copy of the log has each change and the noted number of partitions.
func TestEveryLogHasEveryChange(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := enginetest.NewMapTable(10, 0, 0)
		c := NewChanger(f, New(f, "m", Options{}), ChangerOptions{})
		views := make([]*Map, schema.MapLogs)
		for n := range views {
			views[n] = New(f, "m", Options{})
			views[n].log = schema.MapLog(n)
			require.NoError(t, views[n].Load(t.Context(), time.Now()))
		}
		if _, err := c.Pin(t.Context(), "E#e", 9, Note{}, time.Now()); err != nil {
			t.Fatal(err)
		}
		require.NoError(t, c.NotePartitions(t.Context(), "items", 12, time.Now()))
		time.Sleep(2 * time.Second)
		for n, m := range views {
			if e, err := m.Lookup(t.Context(), "E#e", time.Now()); err != nil || e.History.Newest() != 9 || m.Partitions("items") != 12 {
				t.Errorf("log %d: %d write shards, %v, %d partitions; want 9 and 12", n, e.History.Newest(), err, m.Partitions("items"))
			}
		}
	})
}
