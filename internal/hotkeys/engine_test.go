package hotkeys_test

import (
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// deployed is a fixture over tables in DynamoDB Local. Tests invoke its detector with records of their own.
type deployed struct {
	*fixture
	db    *dynamodb.Client
	names schema.Names
	view  *shardmap.Map
}

// deploy creates the tables and a detector.
func deploy(t *testing.T) *deployed {
	t.Helper()
	d := &deployed{db: enginetest.Client(t)}
	d.names = enginetest.Tables(t, d.db)
	d.keepAll(t)
	d.view = shardmap.New(d.db, d.names.ShardMap, shardmap.Options{})
	s := settings()
	s.ItemsTable, s.EventsTable, s.HeatTable, s.ShardMapTable = d.names.Items, d.names.Events, d.names.Heat, d.names.ShardMap
	d.fixture = newFixture(settings())
	d.rebuild(t, s, func(deps *hotkeys.Deps) {
		deps.Heat, deps.Shards = d.db, libtest.Patient(shardmap.NewChanger(d.db, d.view, shardmap.ChangerOptions{}))
	})
	return d
}

// keepAll turns TTL off. The tests' clock is in the past, so DynamoDB Local would expire their items.
func (d *deployed) keepAll(t *testing.T) {
	t.Helper()
	for _, table := range []string{d.names.Items, d.names.Heat} {
		_, err := d.db.UpdateTimeToLive(t.Context(), &dynamodb.UpdateTimeToLiveInput{
			TableName:               &table,
			TimeToLiveSpecification: &types.TimeToLiveSpecification{AttributeName: aws.String("expires_at"), Enabled: aws.Bool(false)},
		})
		if err != nil {
			t.Fatal(err)
		}
	}
}

// count returns a key's newest shard count in the table.
func (d *deployed) count(t *testing.T, key string) int {
	t.Helper()
	entry, err := d.view.Read(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	return entry.History.Newest()
}

// TestOnTheEngine checks minutes and blocks with a late item, and a growth in the shard map, in DynamoDB Local.
func TestOnTheEngine(t *testing.T) {
	d := deploy(t)
	d.heatTask(t)
	d.must(t, unwindowed(units(d.now, "C#a#0", 750), 1))
	if n := d.count(t, "C#a"); n != 3 {
		t.Errorf("%d write shards after the growth, want 3", n)
	}
	d.now = d.now.Add(11 * time.Minute)
	d.heatTask(t)
	d.heatTask(t)
	d.must(t, unwindowed(units(start, "C#a#0", 300), 2000))
	d.must(t, unwindowed(units(start, "C#a#0", 300), 2000)) // redelivered
	for range 12 {
		d.now = d.now.Add(10 * time.Minute)
		d.heatTask(t)
	}
	reader := heat.WindowReader{Client: d.db, Table: d.names.Heat}
	for _, step := range []time.Duration{time.Second, time.Minute, 10 * time.Minute} {
		n, length := 0, 10*time.Second
		if step == heat.Blocks.Length() {
			length = step
		}
		for w, err := range reader.Windows(t.Context(), start, start.Add(10*time.Minute), step) {
			if n++; err != nil || len(w.Items) != 1 || w.Items[0].Units != 1050 || w.Items[0].Base != 10*time.Second || w.Items[0].Window != length {
				t.Errorf("step %v: %v, window %+v; want one item of 1,050 units", step, err, w)
			}
		}
		if n != 1 {
			t.Errorf("step %v: %d windows, want 1", step, n)
		}
	}
}
