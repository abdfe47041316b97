package erase_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/events"
)

// marking is a client that does something before an audit's first mark is put.
type marking struct {
	*dynamodb.Client
	once sync.Once
	do   func()
}

func (m *marking) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	if sk, _ := in.Item["sk"].(*types.AttributeValueMemberS); sk != nil {
		if audit, ok := schema.ParseMark(sk.Value); ok && !strings.HasPrefix(audit, "delete-") {
			m.once.Do(m.do)
		}
	}
	return m.Client.PutItem(ctx, in, o...)
}

// counted is how many events an entity's rollups count.
func (r *rig) counted(t *testing.T, entity string) (n int) {
	t.Helper()
	for _, it := range r.all(t, r.names.Rollups) {
		if name, _, err := schema.ParseRollupPartition(plain(it)["pk"].(string)); err == nil && name == entity {
			var events int
			if _, err := fmt.Sscan(plain(it)["events"].(string), &events); err != nil {
				t.Fatal(err)
			}
			n += events
		}
	}
	return n
}

// TestGrowsWhileItIsDeleted: an entity gets more write shards when its items are swept,
// and events that all lie on the new ones. Their rollup is not taken for empty.
func TestGrowsWhileItIsDeleted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	k, now := base(kind.Event, "sensor"), time.Now()
	r.put(t, k.Name, now, 5, 0)
	stop := r.run(t, false)
	defer stop()
	r.await(t, func() bool { return r.counted(t, k.Name) == 5 })
	var list []events.Event
	for i := 0; len(list) < 6; i++ {
		if id := fmt.Sprint("new", i); shard.Calculated(id, 8) != 0 {
			list = append(list, events.Event{Entity: k.Name, ID: id, Time: now, Data: item{"t": num(i)}})
		}
	}
	client := &marking{Client: r.db, do: func() {
		r.pin(t, k, 8, now.Add(-96*time.Hour))
		if _, err := r.shards.Lookup(t.Context(), k.String(), now.Add(time.Hour)); err != nil { // the writer's view
			t.Error(err)
		}
		for _, err := range r.events.Put(t.Context(), list, now.Add(time.Hour)) {
			if err != nil {
				t.Error(err)
			}
		}
		r.await(t, func() bool { return r.counted(t, k.Name) == 5+len(list) })
	}}
	report, err := r.eraser(t, client, r.options()).Key(t.Context(), k)
	if err != nil || len(report.Left) != 1 || !strings.Contains(report.Left[0], "hotshard rebuild --fewer") {
		t.Fatalf("%+v, %v", report, err)
	}
	if !strings.HasPrefix(report.Kept[0], "6 events of ") {
		t.Errorf("kept %q", report.Kept)
	}
	if n := r.counted(t, k.Name); n != 5+len(list) {
		t.Errorf("the rollup counts %d events", n)
	}
}
