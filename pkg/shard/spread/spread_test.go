package spread_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/events"
	"github.com/hotshard/hotshard/pkg/shard/spread"
)

// ofEvents returns a reader of the events table.
func (d *deployment) ofEvents() *spread.Reader {
	return spread.NewReader(d.Client, d.Names.Events, d.Shards)
}

// spaced returns n events of an entity, five at each instant.
func spaced(entity string, n int, start time.Time, step time.Duration) (list []events.Event) {
	for i := range n {
		list = append(list, events.Event{Entity: entity, ID: fmt.Sprintf("id/%03d#x", i), Time: start.Add(time.Duration(i/5) * step)})
	}
	return list
}

func (d *deployment) putAll(t *testing.T, list []events.Event, now time.Time) {
	t.Helper()
	writer := events.NewWriter(d.Client, d.Names.Events, d.Shards, events.Options{})
	require.NoError(t, errors.Join(writer.Put(libtest.Within(t), list, now)...))
}

// TestSpreadOfEvents checks that Events counts each stretch with one shard count separately, and items on other write shards
// as strays.
func TestSpreadOfEvents(t *testing.T) {
	d := deploy(t)
	now := libtest.Later
	start := now.Add(-60 * time.Hour) // a midnight
	change := start.Add(30 * time.Hour)
	d.SetShards(t, "E#sensor", fmt.Sprintf("%d:5", start.Add(-time.Hour).Unix()), fmt.Sprintf("%d:2", change.Unix()))
	list := spaced("sensor", 300, start, time.Hour) // five an hour, for 60 hours
	d.putAll(t, list, now)
	d.putAll(t, spaced("other", 50, start, time.Hour), now)
	want := [][]int64{make([]int64, 5), make([]int64, 2)}
	for _, e := range list {
		if e.Time.Before(change) {
			want[0][shard.Calculated(e.ID, 5)]++
		} else {
			want[1][shard.Calculated(e.ID, 2)]++
		}
	}
	d.putItem(t, "E#sensor#"+change.Format("2006-01-02")+"#4", change.Format("2006-01-02T15:04:05.000Z")+"#stray", 0)
	d.putItem(t, "E#sensor#"+change.Format("2006-01-02")+"#0", change.Format("2006-01-02T15:04:05.000Z")+"#expired", now.Unix())
	got, err := d.ofEvents().Events(libtest.Within(t), "sensor", start, start.Add(72*time.Hour), now)
	if err != nil || len(got) != 2 {
		t.Fatalf("Events = %+v, %v; want 2 stretches", got, err)
	}
	for i, s := range got {
		if !slices.Equal(s.Counts, want[i]) || s.Strays != int64(i) || s.Verdict() != shard.Even {
			t.Errorf("stretch %d: %+v, want %v, even, with %d strays", i, s, want[i], i)
		}
	}
	if !got[0].To.Equal(change) || !got[1].From.Equal(change) || got[0].Total+got[1].Total != 300 {
		t.Errorf("stretches %+v, want them to meet at %v with 300 events", got, change)
	}
	if got, err = d.ofEvents().Events(libtest.Within(t), "never", start, now, now); err != nil || len(got) != 1 || got[0].Verdict() != shard.Unsharded {
		t.Errorf("an entity without events: %+v, %v; want 1 unsharded stretch", got, err)
	}
}

func (d *deployment) putItem(t *testing.T, pk, sk string, expires int64) {
	t.Helper()
	it := map[string]types.AttributeValue{"pk": &types.AttributeValueMemberS{Value: pk}, "sk": &types.AttributeValueMemberS{Value: sk}}
	if expires > 0 {
		it["expires_at"] = &types.AttributeValueMemberN{Value: fmt.Sprint(expires)}
	}
	if _, err := d.Client.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: &d.Names.Events, Item: it}); err != nil {
		t.Fatal(err)
	}
}
