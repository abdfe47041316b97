package events_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestReadUnitsOfEvents checks what a page without a cursor, the same with one, and a look-up cost: read units of the
// events' table, and of the shard map.
func TestReadUnitsOfEvents(t *testing.T) {
	t.Parallel()
	d := deploy(t)
	client, meter := d.Limited(t, throttle.Options{Partitions: 4, PartitionWCU: 1000, PartitionRCU: 3000})
	now := libtest.Later
	d.SetShards(t, "E#grown", fmt.Sprintf("%d:24", now.Add(-time.Hour).Unix()))
	for _, key := range []string{"E#growing", "E#growing at once"} {
		d.SetShards(t, key, fmt.Sprintf("%d:24", now.Add(2*time.Second).Unix()))
	}
	for _, c := range []struct {
		entity string
		isNew  bool
		want   []float64 // a page, a full page, a page with a cursor, a look-up, a look-up of an event that is not there
	}{
		{"plain", true, []float64{0.5, 1.5, 1.5, 1, 2}},
		{"grown", true, []float64{12, 13, 13, 1, 2}},
		{"growing", false, []float64{12, 13.5, 13, 1, 3}},
		{"growing at once", true, []float64{12, 13, 13, 2, 3}},
	} {
		view := shardmap.New(client, d.Names.ShardMap, shardmap.Options{})
		require.NoError(t, view.Load(libtest.Within(t), now))
		list := []events.Event{{Entity: c.entity, ID: "b", Time: now, New: c.isNew}, {Entity: c.entity, ID: "x", Time: now.Add(time.Millisecond), New: c.isNew}}
		require.NoError(t, errors.Join(events.NewWriter(client, d.Names.Events, view, events.Options{}).Put(libtest.Within(t), list, now)...))
		reader := events.NewReader(client, d.Names.Events, view)
		r := events.Range{Entity: c.entity, From: now, To: now.Add(time.Second), Limit: 10}
		full, after := r, r
		full.Limit, after.After = 1, schema.EventSortKey(now, "a")
		for i, read := range []func() error{
			func() error { _, err := reader.Query(libtest.Within(t), r, now); return err },
			func() error { _, err := reader.Query(libtest.Within(t), full, now); return err },
			func() error { _, err := reader.Query(libtest.Within(t), after, now); return err },
			func() error { _, err := reader.Get(libtest.Within(t), c.entity, "x", list[1].Time, now); return err },
			func() error { _, _ = reader.Get(libtest.Within(t), c.entity, "absent", now, now); return nil },
		} {
			meter.Reset()
			require.NoError(t, read())
			if got := meter.Stats().ReadUnits; got != c.want[i] {
				t.Errorf("%s, new %t: read %d costs %g read units, want %g", c.entity, c.isNew, i, got, c.want[i])
			}
		}
	}
}
