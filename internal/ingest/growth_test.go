package ingest

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/busy"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/keyname"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// crowded is a client whose updates of one partition key are throttled.
type crowded struct {
	*dynamodb.Client
	pk string
}

func (c *crowded) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if dynamo.Text(in.Key, "pk") == c.pk {
		return nil, errThrottled
	}
	return c.Client.UpdateItem(ctx, in, o...)
}

// TestRepeatsUnderOneKeyGrowNothing sends each keyed increment 30 times at once, while a transaction holds its items for
// 5 ms. Conflicts of one call with its own repeats are no load, so the counter must not grow.
func TestRepeatsUnderOneKeyGrowNothing(t *testing.T) {
	r := newRig(t)
	limits, err := throttle.New(throttle.Options{Partitions: 4, PartitionWCU: 100_000, TransactionHold: 5 * time.Millisecond, Base: dynamolocal.Transport()})
	require.NoError(t, err)
	r.use(dynamodb.New(r.client.Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: limits} }))
	increments := lane.Runs(3, 40)
	for i := range increments {
		var senders sync.WaitGroup
		for range 30 {
			senders.Go(func() {
				if got := r.post("/v1/counters", `{"increments":[{"counter":"a","delta":1}]}`, "Idempotency-Key", fmt.Sprint(i)); got.status != http.StatusOK {
					t.Errorf("%d %s", got.status, got.body)
				}
			})
		}
		senders.Wait()
	}
	if entry, err := r.shardMap().Refresh(t.Context(), "C#a"); err != nil || entry.Version != 0 || r.sum("a") != fmt.Sprint(increments) {
		t.Errorf("the entry is %+v, %v; the sum is %s, want %d", entry, err, r.sum("a"), increments)
	}
	var conflicts int64
	for _, o := range limits.Stats().Operations {
		conflicts += o.Conflicts
	}
	if conflicts == 0 {
		t.Error("no transaction was in conflict")
	}
}

// TestThrottledRequestLearnsOfOthersGrowth checks that a throttled request refreshes its process's view, even if the view
// is young.
func TestThrottledRequestLearnsOfOthersGrowth(t *testing.T) {
	r := newRig(t)
	r.use(&crowded{r.client, "C#hot#0"}, func(s *Settings) { s.ViewAge, s.Deadline = shardmap.MaxViewAge, 4*time.Second })
	if a := r.post("/v1/counters", `{"increments":[{"counter":"other","delta":1}]}`); a.status != http.StatusOK { // loads the view
		t.Fatalf("%d %s", a.status, a.body)
	}
	_, err := r.shardMap().GrowFrom(t.Context(), shardmap.Entry{Key: "C#hot"}, 4, shardmap.Note{By: "another"}, enginetest.Later)
	require.NoError(t, err)
	if a := r.post("/v1/counters", `{"increments":[{"counter":"hot","delta":1}]}`); a.status != http.StatusOK {
		t.Errorf("%d %s; log:\n%s", a.status, a.body, r.log)
	}
}

func (r *rig) shardMap() *shardmap.Changer {
	changer := shardmap.NewChanger(r.client, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), shardmap.ChangerOptions{})
	busy.AnyTime(changer)
	return changer
}

// TestControl checks that a throttled counter grows under growth.Act, is only logged under Observe, and neither under
// Off. The log has the key in the style of MetricNames.
func TestControl(t *testing.T) {
	for _, c := range []struct {
		control growth.Control
		names   keyname.Style
		want    string
	}{
		{growth.Act, keyname.Plain, "msg=grown key=C#hot shards=4"},
		{growth.Act, keyname.Hashed, "msg=grown key=" + keyname.Pseudonym("C#hot") + " shards=4"},
		{growth.Act, keyname.Unnamed, `msg=grown key="" shards=4`},
		{growth.Observe, keyname.Plain, `msg="would grow" key=C#hot shards=4`},
		{growth.Off, keyname.Plain, ""},
	} {
		r := newRig(t)
		r.use(&crowded{r.client, "C#hot#0"}, func(s *Settings) { s.Control, s.MetricNames = c.control, c.names })
		r.service.settings.Deadline = 500 * time.Millisecond
		for range 4 {
			r.post("/v1/counters", `{"increments":[{"counter":"hot","delta":1}]}`)
		}
		entry, err := r.shardMap().Read(t.Context(), "C#hot")
		if got := r.log.String(); err != nil || (entry.Version > 0) != (c.control == growth.Act) ||
			!strings.Contains(got, c.want) || c.want == "" && strings.Contains(got, "grow") {
			t.Errorf("%+v: the entry has version %d, %v; log:\n%s", c, entry.Version, err, got)
		}
	}
}
