package rebuild_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/events"
)

// TestRepairsUnderTraffic checks and repairs repeatedly while counters and events are written and
// folded, and while summaries are damaged. The events' hour changes three times, so that some
// rollups are at rest. After the traffic one more check repairs the remaining faults, and the last one
// finds nothing.
func TestRepairsUnderTraffic(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for c := range 3 {
		r.pin(t, fmt.Sprint("C#c", c), 2+c)
	}
	stop := r.run(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ofAnHour := int64(lane.Runs(150, 500))
	writes := 4 * ofAnHour
	var written atomic.Int64
	at := func() time.Time { return hour().Add(time.Duration(written.Load()/ofAnHour) * time.Hour) }
	var group sync.WaitGroup
	for w := range 4 {
		random := rand.New(rand.NewPCG(uint64(w), 0))
		group.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if err := r.write(random, w, i, at()); err != nil {
					t.Error(err)
				}
				if written.Add(1) >= writes {
					cancel()
				}
				time.Sleep(time.Millisecond)
			}
		})
	}
	group.Go(func() { r.vandalize(ctx, t, at) })
	a := r.checker(func(o *rebuild.Options) { o.Repair, o.Fewer, o.Wait = true, true, 30*time.Second })
	checks, repaired, undecided := 0, 0, 0
	for ctx.Err() == nil {
		report := all(t, a)
		checks, repaired, undecided = checks+1, repaired+report.Repaired, undecided+report.Bad()
		for _, f := range report.Findings {
			if !f.Repaired && f.State != rebuild.Busy && f.State != rebuild.Unsettled {
				t.Errorf("not repaired under traffic: %+v", f)
			}
		}
	}
	group.Wait()
	t.Logf("%d checks, %d targets repaired, %d undecided", checks, repaired, undecided)
	rest := all(t, a)
	if rest.Bad() != 0 || repaired+rest.Repaired == 0 {
		t.Errorf("the check at rest: %+v, after %d repairs", rest, repaired)
	}
	stop()
	report := all(t, r.checker(hasty))
	if report.Right != report.Targets || report.Targets < 9 || checks == 0 {
		t.Errorf("the last check: %+v after %d checks, want 9 or more targets, all right", report, checks)
	}
	for c := range 3 {
		r.wantSum(t, fmt.Sprint("c", c))
	}
}

// write makes an increment and some events of an hour.
func (r *rig) write(random *rand.Rand, writer, i int, at time.Time) error {
	ctx, now := context.Background(), time.Now()
	err := r.counter.Add(ctx, fmt.Sprint("c", random.IntN(3)), random.Int64N(100)-30, now)
	var list []events.Event
	for n := range 1 + random.IntN(4) {
		list = append(list, events.Event{
			Entity: fmt.Sprint("e", random.IntN(2)), ID: fmt.Sprint(writer, i, n),
			Time: at.Add(time.Duration(random.IntN(3600_000)) * time.Millisecond), Data: item{"t": num(random.IntN(100))},
		})
	}
	return errors.Join(err, errors.Join(r.events.Put(ctx, list, now)...))
}

// vandalize damages summaries until ctx ends. The change of a fragment sets another sequence number, as
// every change must.
func (r *rig) vandalize(ctx context.Context, t *testing.T, at func() time.Time) {
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprint("c", i%3)
		expression, set := "SET x1 = :x", item{":x": num(99999)}
		if i%2 == 0 {
			expression, set = "SET x1 = :x, r1 = :x", item{":x": num(1)}
		}
		_, err := r.db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
			TableName: &r.names.Rollups, Key: dynamo.Key("C#"+name+"#0", "-"), UpdateExpression: &expression,
			ConditionExpression: aws.String("attribute_exists(r1)"), ExpressionAttributeValues: set,
		})
		if _, early := errors.AsType[*types.ConditionalCheckFailedException](err); err != nil && !early { // early: nothing is folded yet
			t.Error(err)
		}
		entity, at := fmt.Sprint("e", i%2), at().Add(-time.Duration(i%3)*time.Hour)
		for _, p := range r.parts(t, entity, at) {
			if p.StreamShard == schema.MergedPart {
				continue
			}
			pk, sk := schema.RollupKey(entity, shard.Hour, at, p.StreamShard)
			update, condition := "SET events = events + :n, seq = :new", "seq = :was"
			_, _ = r.db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{ // fails if a fold was faster
				TableName: &r.names.Rollups, Key: dynamo.Key(pk, sk), UpdateExpression: &update, ConditionExpression: &condition,
				ExpressionAttributeValues: item{":n": num(7), ":new": dynamo.String(p.Sequence + "!"), ":was": dynamo.String(p.Sequence)},
			})
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// wantSum checks that a counter's summary and its write shards have the same value.
func (r *rig) wantSum(t *testing.T, counter string) {
	t.Helper()
	sum, err := counters.NewReader(r.db, r.names.Items, r.shards).Sum(t.Context(), counter)
	require.NoError(t, err)
	summary, err := counters.NewSummaries(r.db, r.names.Items, r.names.Rollups, r.shards).Read(t.Context(), []string{counter}, time.Now())
	if err != nil || sum.Value.Cmp(summary[0].Value) != 0 {
		t.Errorf("%s: the write shards have %v, the summary %v, %v", counter, sum.Value, summary[0].Value, err)
	}
}

// deliver delivers records of a stream shard. Each is about the event of the hour's second that its
// sequence number names.
func deliver(t *testing.T, c *fold.Handler, at time.Time, sequences ...int) {
	t.Helper()
	var records []string
	for _, n := range sequences {
		sk := schema.EventSortKey(at.Add(time.Duration(n)*time.Second), fmt.Sprint("id", n))
		keys := fmt.Sprintf(`"pk":{"S":"E#e#%s#0"},"sk":{"S":%q}`, at.Format(time.DateOnly), sk)
		records = append(records, fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"%d","Keys":{%s},"NewImage":{%[2]s,"data":{"M":{"t":{"N":"%[1]d"}}}}}}`, n, keys))
	}
	if out, err := c.Invoke(context.Background(), enginetest.WindowedBatch("s", records...)); err != nil || string(out) != `{"state":{},"batchItemFailures":[]}` {
		t.Errorf("the aggregator returned %s, %v; want no failures", out, err)
	}
}

// event writes the event of a record of deliver.
func (r *rig) event(t *testing.T, at time.Time, sequence int) {
	t.Helper()
	err := r.events.Put(t.Context(), []events.Event{{
		Entity: "e", ID: fmt.Sprint("id", sequence), Time: at.Add(time.Duration(sequence) * time.Second), Data: item{"t": num(sequence)},
	}}, time.Now())[0]
	require.NoError(t, err)
}

// acknowledging returns a client that acknowledges each stream marker when it is written, as if all
// records were folded. The markers' records have this sequence number; 0 leaves it out, as older
// aggregators do.
func (r *rig) acknowledging(client *dynamodb.Client, sequence int) *dynamodb.Client {
	return enginetest.Before(client, func(in any) error {
		put, ok := in.(*dynamodb.PutItemInput)
		if !ok {
			return nil
		}
		pk, sk := dynamo.Text(put.Item, schema.PK), dynamo.Text(put.Item, schema.SK)
		id, ok := schema.ParseMark(sk)
		if !ok {
			return nil
		}
		ack := dynamo.Key(schema.AckKey(id, pk, sk))
		ack[schema.StreamShard] = dynamo.String("s")
		if sequence > 0 {
			ack[schema.RollupSequence] = dynamo.String(fmt.Sprintf("%0*d", schema.RollupSequenceDigits, sequence))
		}
		_, err := client.PutItem(context.Background(), &dynamodb.PutItemInput{TableName: &r.names.Rollups, Item: ack})
		return err
	})
}
