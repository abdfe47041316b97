package audit_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/fold/audit"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/events"
)

// TestRepairsUnderTraffic audits and repairs again and again while counters and
// events are written and folded as fast as they can be, items of one partition key on
// enginetest.StreamShards, and faults are injected. After each 500 writes events are of another
// hour, so that some are at rest. When all are, one more audit repairs what is left
// of the faults, and a last one finds nothing.
func TestRepairsUnderTraffic(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	for c := range 3 {
		r.pin(t, fmt.Sprint("C#c", c), 2+c)
	}
	stop := r.run(t, nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	const writes, ofAnHour = 2000, 500
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
	a := r.auditor(t, func(o *audit.Options) { o.Repair, o.Fewer, o.Wait = true, true, 30*time.Second })
	audits, repaired, undecided := 0, 0, 0
	for ctx.Err() == nil {
		report := all(t, a)
		audits, repaired, undecided = audits+1, repaired+report.Repaired, undecided+report.Bad()
		for _, f := range report.Findings {
			if !f.Repaired && f.State != audit.Busy && f.State != audit.Unsettled {
				t.Errorf("under traffic: %+v", f)
			}
		}
	}
	group.Wait()
	t.Logf("%d audits, %d targets repaired, %d undecided", audits, repaired, undecided)
	rest := all(t, a)
	if rest.Bad() != 0 || repaired+rest.Repaired == 0 {
		t.Errorf("at rest: %+v", rest)
	}
	stop()
	report := all(t, r.auditor(t, hasty))
	if report.Right != report.Targets || report.Targets < 9 || audits == 0 {
		t.Errorf("at the end: %+v after %d audits", report, audits)
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

// vandalize damages summaries behind the folds' back: of counters by what a fold
// would never write, of events by what changes a part's place as every change must.
func (r *rig) vandalize(ctx context.Context, t *testing.T, at func() time.Time) {
	for i := 0; ctx.Err() == nil; i++ {
		name := fmt.Sprint("c", i%3)
		expression, set := "SET x1 = :x", item{":x": num(99999)}
		if i%2 == 0 {
			expression, set = "SET x1 = :x, r1 = :x", item{":x": num(1)}
		}
		_, err := r.db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{
			TableName: &r.names.Rollups, Key: keyOf("C#"+name+"#0", "-"), UpdateExpression: &expression,
			ConditionExpression: aws.String("attribute_exists(r1)"), ExpressionAttributeValues: set,
		})
		if _, early := errors.AsType[*types.ConditionalCheckFailedException](err); err != nil && !early { // nothing is folded yet
			t.Error(err)
		}
		entity, at := fmt.Sprint("e", i%2), at().Add(-time.Duration(i%3)*time.Hour)
		for _, p := range r.parts(t, entity, at) {
			if p.StreamShard == schema.MergedPart {
				continue
			}
			pk, sk := schema.RollupKey(entity, shard.Hour, at, p.StreamShard)
			update, condition := "SET events = events + :n, seq = :new", "seq = :was"
			_, _ = r.db.UpdateItem(context.Background(), &dynamodb.UpdateItemInput{ // a fold may be faster
				TableName: &r.names.Rollups, Key: keyOf(pk, sk), UpdateExpression: &update, ConditionExpression: &condition,
				ExpressionAttributeValues: item{":n": num(7), ":new": str(p.Sequence + "!"), ":was": str(p.Sequence)},
			})
		}
		time.Sleep(300 * time.Millisecond)
	}
}

// wantSum compares what the API's two readings of a counter give.
func (r *rig) wantSum(t *testing.T, counter string) {
	t.Helper()
	sum, err := counters.NewReader(r.db, r.names.Items, r.shards).Sum(t.Context(), counter)
	if err != nil {
		t.Fatal(err)
	}
	summary, err := counters.NewSummaries(r.db, r.names.Items, r.names.Rollups, r.shards).Read(t.Context(), []string{counter}, time.Now())
	if err != nil || sum.Value.Cmp(summary[0].Value) != 0 {
		t.Errorf("%s: the write shards have %v, the summary %v, %v", counter, sum.Value, summary[0].Value, err)
	}
}

// paused is a container's client whose updates of parts wait until they are let go.
type paused struct {
	*dynamodb.Client
	reached chan struct{}
	let     chan struct{}
}

func (p *paused) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	if p.reached != nil && in.ConditionExpression != nil {
		close(p.reached)
		p.reached = nil
		<-p.let
	}
	return p.Client.UpdateItem(ctx, in, o...)
}

// TestAFoldPausedInTheMiddle: a container that remembers a part as it was before a
// repair adds nothing twice when it folds on.
func TestAFoldPausedInTheMiddle(t *testing.T) {
	r := newRig(t)
	at := hour()
	slow := &paused{Client: r.db, let: make(chan struct{})}
	container := r.aggregator(t, slow)
	for i := 1; i <= 2; i++ {
		r.event(t, at, i)
	}
	deliver(t, container, at, 1, 2)
	r.event(t, at, 3)
	reached := make(chan struct{})
	slow.reached = reached
	done := make(chan struct{})
	go func() { defer close(done); deliver(t, container, at, 2, 3) }()
	<-reached
	// Another consumer of the stream shard folds on, the rollup is damaged, and an
	// audit repairs it.
	deliver(t, r.aggregator(t, r.db), at, 3)
	pk, sk := schema.RollupKey("e", shard.Hour, at, "s")
	r.update(t, r.names.Rollups, pk, sk, "SET events = :n", item{":n": num(50)})
	a := r.auditorOver(t, acknowledging{r.db, r.names, 0}, audit.Options{Names: r.names, Rules: r.rules, Repair: true, Fewer: true, Wait: time.Second, Poll: time.Millisecond})
	if found := check(t, a, hourTarget("e", at)); len(found) != 1 || !found[0].Repaired {
		t.Fatalf("found %+v", found)
	}
	close(slow.let)
	<-done
	r.event(t, at, 4)
	deliver(t, container, at, 1, 2, 3, 4)
	if found := check(t, a, hourTarget("e", at)); len(found) != 0 {
		t.Fatalf("after the fold went on: %+v", found)
	}
}

// deliver hands over records of a stream shard, by their sequence numbers: each is of
// the event of an hour's second.
func deliver(t *testing.T, c *fold.Handler, at time.Time, sequences ...int) {
	t.Helper()
	var records []string
	for _, n := range sequences {
		sk := schema.EventSortKey(at.Add(time.Duration(n)*time.Second), fmt.Sprint("id", n))
		keys := fmt.Sprintf(`"pk":{"S":"E#e#%s#0"},"sk":{"S":%q}`, at.Format(time.DateOnly), sk)
		records = append(records, fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{"SequenceNumber":"%d","Keys":{%s},"NewImage":{%[2]s,"data":{"M":{"t":{"N":"%[1]d"}}}}}}`, n, keys))
	}
	payload := `{"Records":[` + strings.Join(records, ",") + `],"window":{"start":"2026-01-05T12:00:00Z","end":"2026-01-05T12:00:10Z"},"state":{},"shardId":"s",` +
		`"isFinalInvokeForWindow":false,"isWindowTerminatedEarly":false}`
	if out, err := c.Invoke(context.Background(), []byte(payload)); err != nil || string(out) != `{"state":{},"batchItemFailures":[]}` {
		t.Errorf("%s, %v", out, err)
	}
}

// event puts the event that such a record is about.
func (r *rig) event(t *testing.T, at time.Time, sequence int) {
	t.Helper()
	err := r.events.Put(t.Context(), []events.Event{{
		Entity: "e", ID: fmt.Sprint("id", sequence), Time: at.Add(time.Duration(sequence) * time.Second), Data: item{"t": num(sequence)},
	}}, time.Now())[0]
	if err != nil {
		t.Fatal(err)
	}
}

// acknowledging answers marks at once: all that was written was folded.
type acknowledging struct {
	*dynamodb.Client
	names    schema.Names
	sequence int // of the marks' records; 0 as from an aggregator that does not say
}

func (c acknowledging) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	pk, sk := in.Item["pk"].(*types.AttributeValueMemberS).Value, in.Item["sk"].(*types.AttributeValueMemberS).Value
	if id, ok := schema.ParseMark(sk); ok {
		ack := keyOf(schema.AckKey(id, pk, sk))
		ack[schema.StreamShard] = str("s")
		if c.sequence > 0 {
			ack[schema.RollupSequence] = str(fmt.Sprintf("%0*d", schema.RollupSequenceDigits, c.sequence))
		}
		if _, err := c.Client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &c.names.Rollups, Item: ack}); err != nil {
			return nil, err
		}
	}
	return c.Client.PutItem(ctx, in, o...)
}
