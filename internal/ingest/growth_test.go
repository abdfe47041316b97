package ingest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/aws/dynamolocal"
	"github.com/hotshard/hotshard/internal/base/busy"
	"github.com/hotshard/hotshard/internal/base/growth"
	"github.com/hotshard/hotshard/internal/base/keyname"
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// crowded is a client that rejects writes to a counter's first write shard: as throttled, or as in conflict with other
// transactions.
type crowded struct {
	*dynamodb.Client
	pk string
}

func (c *crowded) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if textOf(in.Key["pk"]) == c.pk {
		return nil, errHotKey
	}
	return c.Client.UpdateItem(ctx, in, o...)
}

func (c *crowded) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (*dynamodb.TransactWriteItemsOutput, error) {
	reasons := make([]types.CancellationReason, len(in.TransactItems))
	met := false
	for i, action := range in.TransactItems {
		reasons[i].Code = aws.String("None")
		if action.Update != nil && textOf(action.Update.Key["pk"]) == c.pk {
			reasons[i].Code, met = aws.String("TransactionConflict"), true
		}
	}
	if met {
		return nil, &types.TransactionCanceledException{CancellationReasons: reasons}
	}
	return c.Client.TransactWriteItems(ctx, in, o...)
}

func textOf(v types.AttributeValue) string {
	s, _ := v.(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}

// TestARequestGoesOnByTheNewCount calls a counter whose only write shard is full or in conflict. Two calls are
// rejected; the third raises the count, and is accepted itself.
func TestARequestGoesOnByTheNewCount(t *testing.T) {
	for name, header := range map[string][]string{"full": nil, "in conflict": {"Idempotency-Key"}} {
		r := newRig(t)
		r.use(&crowded{r.client, "C#hot#0"})
		r.service.settings.Deadline = 200 * time.Millisecond
		var statuses []int
		for i := range 3 {
			if i == 2 {
				r.service.settings.Deadline = 10 * time.Second // for a busy machine
			}
			var key []string
			if header != nil {
				key = []string{header[0], fmt.Sprint("k", i)}
			}
			statuses = append(statuses, r.post("/v1/counters", `{"increments":[{"counter":"hot","delta":1}]}`, key...).status)
		}
		if !slices.Equal(statuses, []int{429, 429, http.StatusOK}) || !strings.Contains(r.log.String(), "msg=grown key=C#hot shards=4") || r.sum("hot") != "1" {
			t.Errorf("%s: %v, the sum is %s; log:\n%s", name, statuses, r.sum("hot"), r.log)
		}
	}
}

// TestRepeatsUnderOneKeyGrowNothing sends 10 keyed increments, 40 in the long run, each 30 times at once,
// while a transaction holds its items for 5 ms. They are one request after the other, and no load.
func TestRepeatsUnderOneKeyGrowNothing(t *testing.T) {
	r := newRig(t)
	limits, err := throttle.New(throttle.Options{Partitions: 4, PartitionWCU: 100_000, TransactionHold: 5 * time.Millisecond, Base: dynamolocal.Transport()})
	if err != nil {
		t.Fatal(err)
	}
	r.use(dynamodb.New(r.client.Options(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: limits} }))
	increments := lane.Runs(10, 40)
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
	if entry, err := r.shardMap().Refresh(t.Context(), "C#a", enginetest.Later); err != nil || entry.Version != 0 || r.sum("a") != fmt.Sprint(increments) {
		t.Errorf("%+v, %v; the sum is %s", entry, err, r.sum("a"))
	}
	var met int64
	for _, o := range limits.Stats().Operations {
		met += o.Conflicts
	}
	if met == 0 {
		t.Error("no transaction met another")
	}
}

// TestARefusedRequestLearnsOfOthersGrowth checks that a throttled request refreshes its view, even if it is the first
// of its process and the view is young.
func TestARefusedRequestLearnsOfOthersGrowth(t *testing.T) {
	r := newRig(t)
	r.use(&crowded{r.client, "C#hot#0"}, func(s *Settings) { s.ViewAge, s.Deadline = shardmap.MaxViewAge, 4*time.Second })
	if a := r.post("/v1/counters", `{"increments":[{"counter":"other","delta":1}]}`); a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body) // now it has a view
	}
	if _, err := r.shardMap().GrowFrom(t.Context(), shardmap.Entry{Key: "C#hot"}, 4, shardmap.Note{By: "another"}, enginetest.Later); err != nil {
		t.Fatal(err)
	}
	if a := r.post("/v1/counters", `{"increments":[{"counter":"hot","delta":1}]}`); a.status != http.StatusOK {
		t.Errorf("%d %s; log:\n%s", a.status, a.body, r.log)
	}
}

// TestTheShardMapAsAGrowerNeedsIt checks what package grow assumes of the real shard map.
func TestTheShardMapAsAGrowerNeedsIt(t *testing.T) {
	r := newRig(t)
	one, two := r.shardMap(), r.shardMap()
	now, ctx := enginetest.Later, t.Context()
	seen, err := one.Refresh(ctx, "C#k", now)
	if err != nil || seen.Version != 0 || seen.Key != "C#k" {
		t.Fatalf("a key that is not there: %+v, %v", seen, err)
	}
	grown, err := one.GrowFrom(ctx, seen, 4, shardmap.Note{By: "test"}, now)
	if err != nil || grown.Version != 1 || grown.History.Newest() != 4 {
		t.Fatalf("%+v, %v", grown, err)
	}
	if lost, err := two.GrowFrom(ctx, seen, 4, shardmap.Note{By: "test"}, now); !errors.Is(err, shardmap.ErrNoChange) || lost.Version != 1 {
		t.Errorf("who comes later: %+v, %v", lost, err)
	}
	if again, err := two.Refresh(ctx, "C#k", now); err != nil || again.Version != 1 {
		t.Errorf("what the winner wrote: %+v, %v", again, err)
	}
	if n := one.Partitions(kind.Items); n != shardmap.FewPartitions {
		t.Errorf("%d partitions without a note", n)
	}
}

func (r *rig) shardMap() *shardmap.Changer {
	changer := shardmap.NewChanger(r.client, shardmap.New(r.client, r.names.ShardMap, shardmap.Options{}), shardmap.ChangerOptions{})
	busy.AnyTime(changer)
	return changer
}

// TestControl checks that a throttled counter grows under the control act, would grow under observe, and does not
// under off. Log lines name its key as the setting says.
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
			t.Errorf("%+v: version %d, %v; log:\n%s", c, entry.Version, err, got)
		}
	}
}
