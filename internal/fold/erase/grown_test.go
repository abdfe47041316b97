package erase_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/erase"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/events"
)

// counted returns the number of events in an entity's rollups.
func (r *rig) counted(t *testing.T, entity string) (n int) {
	t.Helper()
	for _, it := range r.all(t, r.names.Rollups) {
		if name, _, err := schema.ParseRollupPartition(dynamo.Text(it, schema.PK)); err == nil && name == entity {
			events, err := dynamo.Integer(it, schema.RollupEvents)
			require.NoError(t, err)
			n += int(events)
		}
	}
	return n
}

// TestGrowthDuringADelete checks that a delete keeps the rollup of events which lie on write shards that
// the entity got after the sweep.
func TestGrowthDuringADelete(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	k, now := base(kind.Event, "sensor"), time.Now()
	r.put(t, k.Name, now, 5, 0)
	stop := r.run(t, false)
	defer stop()
	enginetest.Eventually(t, func() bool { return r.counted(t, k.Name) == 5 })
	var list []events.Event
	for i := 0; len(list) < 6; i++ {
		if id := fmt.Sprint("new", i); shard.Calculated(id, 8) != 0 {
			list = append(list, events.Event{Entity: k.Name, ID: id, Time: now, Data: item{"t": num(i)}})
		}
	}
	growOnce := sync.OnceFunc(func() {
		r.pin(t, k, 8, now.Add(-96*time.Hour))
		if _, err := r.shards.Lookup(t.Context(), k.String(), now.Add(time.Hour)); err != nil { // the writer's view
			t.Error(err)
		}
		for _, err := range r.events.Put(t.Context(), list, now.Add(time.Hour)) {
			if err != nil {
				t.Error(err)
			}
		}
		enginetest.Eventually(t, func() bool { return r.counted(t, k.Name) == 5+len(list) })
	})
	client := enginetest.Before(r.db, func(in any) error {
		if in, ok := in.(*dynamodb.PutItemInput); ok {
			if audit, ok := schema.ParseMark(dynamo.Text(in.Item, schema.SK)); ok && !strings.HasPrefix(audit, "delete-") {
				growOnce()
			}
		}
		return nil
	})
	report, err := erase.New(r.options(), client).Key(t.Context(), k)
	if err != nil || len(report.Left) != 1 || !strings.Contains(report.Left[0], "hotshard check --repair --lower") {
		t.Fatalf("%+v, %v; want the rollup left", report, err)
	}
	if !strings.HasPrefix(report.Kept[0], "6 events of ") {
		t.Errorf("kept %q, want 6 events", report.Kept)
	}
	if n := r.counted(t, k.Name); n != 5+len(list) {
		t.Errorf("the rollup counts %d events, want %d", n, 5+len(list))
	}
}
