package ddb_test

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// mapReads counts what reads of the shard map are made.
type mapReads struct {
	*dynamodb.Client
	gets, scans atomic.Int64
}

func (m *mapReads) GetItem(ctx context.Context, in *dynamodb.GetItemInput, o ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	m.gets.Add(1)
	return m.Client.GetItem(ctx, in, o...)
}

func (m *mapReads) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	m.scans.Add(1)
	return m.Client.Scan(ctx, in, o...)
}

// TestADeletionIsOneReadForEveryProcess: beside the log, which each follows. Nobody
// reads the map anew.
func TestADeletionIsOneReadForEveryProcess(t *testing.T) {
	d := deploy(t)
	now := later
	const keys, processes = 10, 20
	for i := range keys {
		d.pin(t, fmt.Sprintf("C#%d", i), 4, now)
	}
	reads := &mapReads{Client: d.client}
	views := make([]*ddb.Map, processes)
	for i := range views {
		views[i] = ddb.NewMap(reads, d.names.ShardMap)
		if _, err := views[i].Lookup(within(t), "C#1", now); err != nil {
			t.Fatal(err)
		}
	}
	d.forget(t, "C#3", now)
	d.pin(t, "C#3", 9, now) // its versions start over
	reads.gets.Store(0)
	reads.scans.Store(0)
	for _, view := range views {
		for i := range keys {
			want := 4
			if i == 3 {
				want = 9
			}
			entry, err := view.Lookup(within(t), fmt.Sprintf("C#%d", i), now.Add(ddb.ViewAge+time.Second))
			if err != nil || entry.History.Newest() != want {
				t.Errorf("key %d: %+v, %v; want %d", i, entry, err, want)
			}
		}
	}
	// The reset, the deletion, the new pin and the log's end; and the key's item.
	if gets := reads.gets.Load(); gets > 5*processes || reads.scans.Load() != 0 {
		t.Errorf("%d processes made %d reads and %d scans", processes, gets, reads.scans.Load())
	}
}

// TestKeysOfTheLog: no key may be taken for the change log, and items that other
// programs wrote there harm nobody.
func TestKeysOfTheLog(t *testing.T) {
	d := deploy(t)
	now := later
	c := d.changer(ddb.ChangerOptions{})
	for _, key := range []string{"", "log#", "log#web", "log#7"} {
		_, pinned := c.Pin(within(t), key, 4, note, now)
		_, reset := c.Reset(within(t), key, now)
		_, looked := d.shards.Lookup(within(t), key, now)
		_, read := d.shards.Read(within(t), key)
		for name, err := range map[string]error{
			"pin": pinned, "reset": reset, "look-up": looked, "read": read, "forget": c.Forget(within(t), key, now),
		} {
			if !errors.Is(err, ddb.ErrMisused) {
				t.Errorf("%s of %q: %v", name, key, err)
			}
		}
	}
	for _, pk := range []string{"log#web", "log#2", "log#007", "log#900"} {
		d.setShards(t, pk, "1:4")
	}
	for i := range 4 {
		d.pin(t, fmt.Sprintf("C#%d", i), 5+i, now)
	}
	for name, view := range map[string]*ddb.Map{"new": ddb.NewMap(d.client, d.names.ShardMap), "the changer's": c.Map} {
		for i := range 4 {
			entry, err := view.Lookup(within(t), fmt.Sprintf("C#%d", i), now.Add(ddb.ViewAge+time.Second))
			if err != nil || entry.History.Newest() != 5+i {
				t.Errorf("%s view, key %d: %+v, %v", name, i, entry, err)
			}
		}
	}
}

// TestADeletionDuringAScan: what the scan saw of a key before it was deleted is gone
// from the view, with no further scan.
func TestADeletionDuringAScan(t *testing.T) {
	d := deploy(t)
	now := later
	d.pin(t, "C#gone", 30, now)
	d.pin(t, "C#stays", 30, now)
	late := &lateScan{mapReads: mapReads{Client: d.client}, then: func() {
		d.forget(t, "C#gone", now)
		d.pin(t, "C#gone", 3, now)
	}}
	view := ddb.NewMap(late, d.names.ShardMap)
	for key, want := range map[string]int{"C#gone": 3, "C#stays": 30} {
		entry, err := view.Lookup(within(t), key, now)
		if err != nil || entry.History.Newest() != want || late.scans.Load() != 1 {
			t.Errorf("%s: %+v, %v; want %d, of 1 scan: %d", key, entry, err, want, late.scans.Load())
		}
	}
}

// lateScan gives the answer of a scan when something else has happened since.
type lateScan struct {
	mapReads
	then func()
}

func (l *lateScan) Scan(ctx context.Context, in *dynamodb.ScanInput, o ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	out, err := l.mapReads.Scan(ctx, in, o...)
	l.then()
	// As a scan that came to the log later: the deletion is in it already.
	for _, n := range []string{"3", "4", "5"} {
		found, getErr := l.GetItem(ctx, &dynamodb.GetItemInput{TableName: in.TableName, Key: map[string]types.AttributeValue{
			"pk": &types.AttributeValueMemberS{Value: "log#" + n},
		}})
		if err = errors.Join(err, getErr); err == nil && found.Item != nil {
			out.Items = append(out.Items, found.Item)
		}
	}
	return out, err
}
