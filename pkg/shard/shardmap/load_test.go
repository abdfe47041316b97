package shardmap

import (
	"context"
	"errors"
	"fmt"
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

// TestLoadHasChangesDuringIt checks that a load has changes of keys that it had and had not read, without reading a
// page twice.
func TestLoadHasChangesDuringIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		m := New(f, "m", Options{})
		begun := time.Now()
		go func() {
			time.Sleep(3 * f.Takes) // the load has read some pages of each bucket
			for n := range 200 {
				change(f, 2, fmt.Sprint("C#k", n), 40)
			}
			change(f, 1, "C#new", 40)
		}()
		require.NoError(t, m.Load(t.Context(), begun))
		pages := f.Pages()
		for _, key := range []string{"C#k0", "C#k77", "C#k199", "C#new"} {
			if e, err := m.Lookup(t.Context(), key, begun); err != nil || e.History.Newest() != 40 {
				t.Errorf("%s: %d write shards, %v; want 40", key, e.History.Newest(), err)
			}
		}
		if f.Again() != 0 || f.Pages() != pages {
			t.Errorf("the load read %d pages, %d of them again, and lookups read %d more; want none", pages, f.Again(), f.Pages()-pages)
		}
	})
}

// TestForeignItemsAreIgnored checks that items of other programs in the table change no lookup and no list.
func TestForeignItemsAreIgnored(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := enginetest.NewMapTable(10, 0, 0)
		m := New(f, "m", Options{})
		change(f, 1, "C#k", 16)
		_, elsewhere := schema.MapKey("C#k")
		for n := range schema.MapBuckets {
			it := dynamo.Key(schema.MapBucket(n), elsewhere) // C#k belongs to one of these buckets
			if _, there := f.Items[enginetest.ItemSlot(it)]; !there {
				it[attrVersion] = dynamo.Number(9)
				f.Put(it)
			}
		}
		for _, sk := range []string{"", "9", "zz", "2026-13-45T00:00:00.000Z#x", schema.MapLogSK(time.Now(), "x"), "partitions#items"} {
			it := dynamo.Key(m.log, sk)
			it[attrCount], it[attrEntry] = dynamo.Number(4), &types.AttributeValueMemberS{Value: "many"}
			f.Put(it)
		}
		f.Put(dynamo.Key("junk", "junk"))
		entry, err := m.Lookup(t.Context(), "C#k", time.Now())
		if err != nil || entry.History.Newest() != 16 || m.Partitions("items") != 4 {
			t.Errorf("%+v, %v, %d partitions; want 16 write shards and the 4 partitions of a new on-demand table", entry, err, m.Partitions("items"))
		}
		if list, err := m.Entries(t.Context()); err != nil || len(list) != 1 {
			t.Errorf("Entries = %+v, %v; want C#k", list, err)
		}
	})
}

// TestOldViewIsLoadedAgain checks that a view is loaded again after 30 minutes, when the log may lack changes.
func TestOldViewIsLoadedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := manyPages()
		m := New(f, "m", Options{})
		require.NoError(t, m.Load(t.Context(), time.Now()))
		pages := f.Pages()
		time.Sleep(29 * time.Minute)
		change(f, 2, "C#k3", 40)
		if e, err := m.Lookup(t.Context(), "C#k3", time.Now()); err != nil || e.History.Newest() != 40 || f.Pages() != pages {
			t.Errorf("after 29 minutes: %d write shards, %v, %d pages of keys; want 40 and none", e.History.Newest(), err, f.Pages()-pages)
		}
		_, logs := change(f, 3, "C#k3", 80)
		drop(f, logs)
		time.Sleep(31 * time.Minute)
		if e, err := m.Lookup(t.Context(), "C#k3", time.Now()); err != nil || e.History.Newest() != 80 || f.Pages() != 2*pages {
			t.Errorf("after 31 minutes: %d write shards, %v, %d pages of keys; want 80 and %d", e.History.Newest(), err, f.Pages()-pages, pages)
		}
	})
}

// TestNotedPartitionsOnlyRiseWithinADay checks that another process reads the noted number of partitions. A lower
// number replaces it after a day, and the same number is stored again after an hour.
func TestNotedPartitionsOnlyRiseWithinADay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &strictMap{enginetest.NewMapTable(10, 0, 0)}
		m, c := New(f, "m", Options{}), NewChanger(f, New(f, "m", Options{}), ChangerOptions{})
		for _, step := range []struct {
			n       int
			later   time.Duration
			want    int
			version int64 // the number of notes that were stored
		}{
			{9, 2 * time.Second, 9, 1}, {6, time.Hour, 9, 1}, {12, time.Hour, 12, 2}, {12, 23 * time.Hour, 12, 3}, {8, 23 * time.Hour, 12, 3}, {8, 2 * time.Hour, 8, 4},
			{8, 59 * time.Minute, 8, 4}, {8, time.Minute, 8, 5}, {shard.MaxShards + 1, 2 * time.Second, shard.MaxShards, 6}, {8, 24 * time.Hour, shard.MaxShards, 6}, {8, 2 * time.Second, 8, 7},
		} {
			time.Sleep(step.later)
			require.NoError(t, c.NotePartitions(t.Context(), "items", step.n, time.Now()))
			note, err := c.Read(t.Context(), partitionsPrefix+"items")
			if err := errors.Join(err, m.Load(t.Context(), time.Now())); err != nil || m.Partitions("items") != step.want || note.Version != step.version {
				t.Errorf("%+v: %d partitions, version %d, %v", step, m.Partitions("items"), note.Version, err)
			}
		}
		for _, bad := range []int{0, -1} {
			if err := c.NotePartitions(context.Background(), "items", bad, time.Now()); err == nil {
				t.Errorf("NotePartitions accepts %d partitions", bad)
			}
		}
	})
}

// TestLeadFollowsFromOptions checks the lead of a change and how far ahead events' times may lie.
func TestLeadFollowsFromOptions(t *testing.T) {
	now := time.UnixMilli(1_763_808_123_251)
	for _, c := range []struct {
		o           Options
		lead, ahead time.Duration
	}{
		{Options{}, LeadTime, MaxAhead},
		{Options{ViewAge: 3 * time.Second}, 5750 * time.Millisecond, MaxAhead},
		{Options{ViewAge: 500 * time.Millisecond, EventAhead: 4 * time.Second}, 5250 * time.Millisecond, 4 * time.Second},
		{Options{ViewAge: time.Hour, EventAhead: time.Hour}, 14250 * time.Millisecond, 8 * time.Second},
	} {
		f := enginetest.NewMapTable(10, 0, 0)
		view := New(f, "m", c.o)
		changer := NewChanger(f, view, ChangerOptions{Clock: func() time.Time { return now }})
		e, err := changer.GrowFrom(t.Context(), Entry{Key: "E#e"}, 4, Note{}, now)
		if late := e.Effective().Sub(now); err != nil || late < c.lead || late > c.lead+CommitTime {
			t.Errorf("%+v: takes effect after %v, %v; want %v", c.o, late, err, c.lead)
		}
		if got := changer.Options().EventAhead; got != c.ahead {
			t.Errorf("%+v: %v ahead, want %v", c.o, got, c.ahead)
		}
	}
}

// TestStoredTimesHaveMilliseconds checks that times of an entry keep their milliseconds when stored and read.
func TestStoredTimesHaveMilliseconds(t *testing.T) {
	e := Entry{Key: "E#e", Version: 2, Max: 16, History: shard.History{
		{At: time.UnixMilli(1_763_808_100_000), Count: 4}, {At: time.UnixMilli(1_763_808_123_250), Count: 16},
	}, Updated: time.UnixMilli(1_763_808_118_250), Notes: map[int64]Note{1_763_808_123_250: {By: "me", Why: "why", Made: time.UnixMilli(1_763_808_118_250)}}}
	it := e.attributes()
	list := it[attrHistory].(*types.AttributeValueMemberL).Value
	if got := list[1].(*types.AttributeValueMemberS).Value; got != "1763808123.250:16" {
		t.Errorf("the stored change is %s, want 1763808123.250:16", got)
	}
	it[attrUpdated] = &types.AttributeValueMemberN{Value: "1763808118.25"} // DynamoDB drops trailing zeros
	got, err := parseEntry(e.Key, it)
	if err != nil || !got.Effective().Equal(e.Effective()) || !got.Updated.Equal(e.Updated) || got.Notes[1_763_808_123_250].By != "me" {
		t.Errorf("parseEntry = %+v, %v; want %+v", got, err, e)
	}
}
