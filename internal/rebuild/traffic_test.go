package rebuild_test

import (
	"cmp"
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard/events"
)

var schedules = flag.Int("schedules", 0, "number of schedules of each world; 0 is as many as the run of the tests has")

// TestChecksChangeNoRightSum plays schedules of checks and repairs while events and increments are written, late,
// redelivered, copied or lost, stream shards split, and fragments are merged and damaged. No sum that was right may
// change, and a last repair makes the others right and each event stored once. -schedules N plays N.
func TestChecksChangeNoRightSum(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	first, worlds := require.Seed(t), cmp.Or(*schedules, require.Runs(require.UnlessQuick(12, 4), 200))
	for i := range worlds {
		seed := first + uint64(i)
		if newWorld(t, r, fmt.Sprintf("w%d", i), rand.New(rand.NewPCG(seed, 0))).play(t); t.Failed() {
			t.Fatalf("HOTSHARD_SEED=%d and -schedules=1 repeat the schedule", seed)
		}
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
		id, ok := schema.ParseMarker(sk)
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
