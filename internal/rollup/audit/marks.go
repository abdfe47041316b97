package audit

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/oklog/ulid/v2"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/rollup/attribute"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/schema"
)

// fence is the marks that an audit puts around a bucket's events.
//
// An acknowledged mark proves that the stream shard by which it came is folded up
// to what was written before the mark. DynamoDB cuts its partitions, and with them
// stream shards, by ranges of sort keys: where two marks came by one stream shard,
// so did all that lies between them, or it came by its parents, which are read
// before it. Where they came by two, a third may lie between: more marks narrow
// that down to the millisecond.
//
// Where the same stream shard comes again behind another one, items are not spread
// by ranges, as on a virtual stream that spreads them by their hash. Then so many
// marks are put that no stream shard is likely to have got none.
type fence struct {
	a      *Auditor
	bucket parts.Bucket
	id     string
	marks  []*mark
}

// mark is before all events of its millisecond, or, at the bucket's end, after all
// events.
type mark struct {
	pk, sk string
	at     time.Time
	shard  string // by which it was acknowledged; "" before that
	seq    string // of its record, 40 digits; "" from an older aggregator
}

// Bounds of marks.
const (
	edgeMarks  = 24   // of a bucket to begin with, or two a partition key: enough to tell a hash from ranges
	gapMarks   = 15   // between two that came by different stream shards
	shardMarks = 32   // for each stream shard, where items are spread by hash: one gets none by a chance of e^-32
	maxMarks   = 4096 // of a bucket
)

// settle proves that all events that were read before it are folded, on these
// partition keys, or says why that is not so. Floors are, by stream shard, the
// sequence number of the last mark that came by it: all records of the bucket's up
// to it were written before settle has returned.
func (a *Auditor) settle(ctx context.Context, b parts.Bucket, places []string) (floors map[string]string, why string, err error) {
	if len(places) == 0 {
		return nil, "", nil
	}
	f := &fence{a: a, bucket: b, id: ulid.Make().String()}
	defer f.remove(ctx)
	f.edges(places)
	for from := 0; from < len(f.marks); {
		if len(f.marks) > maxMarks {
			return nil, fmt.Sprintf("it would take more than %d marks", maxMarks), nil
		}
		if err := f.put(ctx, f.marks[from:]); err != nil {
			return nil, "", err
		}
		if why, err := f.await(ctx, f.marks[from:]); why != "" || err != nil {
			return nil, why, err
		}
		from = len(f.marks)
		f.more(places)
	}
	return f.floors(), "", nil
}

func (f *fence) floors() map[string]string {
	floors := map[string]string{}
	for _, m := range f.marks {
		if m.seq != "" {
			floors[m.shard] = max(floors[m.shard], m.seq)
		}
	}
	return floors
}

// edges adds the first marks: some before the first instant and as many after the
// last.
func (f *fence) edges(places []string) {
	for _, pk := range places {
		for range (edgeMarks/2 + len(places) - 1) / len(places) {
			f.add(pk, f.bucket.Start)
			f.add(pk, f.bucket.End())
		}
	}
}

func (f *fence) add(pk string, at time.Time) {
	place := at.Format(schema.TimeLayout) + schema.MarkBefore
	switch {
	case at.Equal(f.bucket.Start):
		place = f.bucket.Width.Label(at, 0) + schema.MarkBefore
	case at.Equal(f.bucket.End()):
		place = f.bucket.Width.Label(f.bucket.Start, 0) + schema.MarkAfter
	}
	f.marks = append(f.marks, &mark{pk: pk, at: at, sk: place + f.id + "#" + strconv.Itoa(len(f.marks))})
}

// more adds the marks that are still needed, now that all are acknowledged.
func (f *fence) more(places []string) {
	byPlace := map[string][]*mark{}
	streamShards := map[string]bool{}
	for _, m := range f.marks {
		byPlace[m.pk] = append(byPlace[m.pk], m)
		streamShards[m.shard] = true
	}
	hashed := false
	for _, list := range byPlace {
		slices.SortStableFunc(list, func(m, n *mark) int { return m.at.Compare(n.at) })
		hashed = hashed || recurs(list)
	}
	if hashed {
		f.scatter(places, shardMarks*len(streamShards)-len(f.marks))
		return
	}
	for _, pk := range places {
		f.narrow(byPlace[pk])
	}
}

// recurs tells whether a stream shard comes again behind another one.
func recurs(list []*mark) bool {
	seen := map[string]bool{}
	for i, m := range list {
		if i > 0 && m.shard == list[i-1].shard {
			continue
		}
		if seen[m.shard] {
			return true
		}
		seen[m.shard] = true
	}
	return false
}

// scatter adds n marks all over the bucket.
func (f *fence) scatter(places []string, n int) {
	for i := range n {
		f.add(places[i%len(places)], f.within(f.bucket.Start, f.bucket.End(), i+1, n+1))
	}
}

// narrow adds marks between neighbours that came by different stream shards.
func (f *fence) narrow(list []*mark) {
	for i := 1; i < len(list); i++ {
		from, to := list[i-1], list[i]
		steps := min(gapMarks, int(to.at.Sub(from.at)/time.Millisecond)-1)
		if from.shard == to.shard {
			continue
		}
		for step := range max(0, steps) {
			f.add(from.pk, f.within(from.at, to.at, step+1, steps+1))
		}
	}
}

// within is a millisecond, n of all parts of the way.
func (f *fence) within(from, to time.Time, n, all int) time.Time {
	milliseconds := to.Sub(from).Milliseconds() * int64(n) / int64(all)
	return from.Add(time.Duration(milliseconds) * time.Millisecond)
}

// put writes marks.
func (f *fence) put(ctx context.Context, marks []*mark) error {
	expires := strconv.FormatInt(f.a.o.Now().Add(schema.MarkLifetime).Unix(), 10)
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxReads)
	for _, m := range marks {
		group.Go(func() error {
			it := attribute.Key(m.pk, m.sk)
			it[schema.ExpiresAt] = &types.AttributeValueMemberN{Value: expires}
			if _, err := f.a.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &f.a.o.Names.Items, Item: it}); err != nil {
				return fmt.Errorf("putting a mark beside the events of %q: %w", m.pk, err)
			}
			return nil
		})
	}
	return group.Wait()
}

// await waits until these marks are acknowledged, or says why it gave up.
func (f *fence) await(ctx context.Context, marks []*mark) (why string, err error) {
	left := marks
	for deadline := f.a.o.Now().Add(f.a.o.Wait); ; {
		if left, err = f.acknowledged(ctx, left); err != nil {
			return "", err
		}
		if len(left) == 0 {
			break
		}
		if !f.a.o.Now().Before(deadline) {
			return fmt.Sprintf("%d of %d marks did not come through the stream within %v", len(left), len(marks), f.a.o.Wait), nil
		}
		if err := f.a.pause(ctx); err != nil {
			return "", err
		}
	}
	if slices.ContainsFunc(marks, func(m *mark) bool { return m.shard == unnamed }) {
		return "the aggregator's event source mapping does not name its stream shards: it needs a tumbling window", nil
	}
	return "", nil
}

// unnamed is the stream shard of a delivery that does not name it.
const unnamed = "-"

// acknowledged reads the acknowledgements of marks, and returns the marks that have
// none yet. It reads no further than from the first of them to the last.
func (f *fence) acknowledged(ctx context.Context, marks []*mark) (left []*mark, err error) {
	bySK := map[string]*mark{}
	for _, m := range marks {
		_, sk := schema.AckKey(f.id, m.pk, m.sk)
		bySK[sk] = m
	}
	pk, _ := schema.AckKey(f.id, "", "")
	sorted := slices.Sorted(maps.Keys(bySK))
	pages := dynamodb.NewQueryPaginator(f.a.client, &dynamodb.QueryInput{
		TableName: &f.a.o.Names.Rollups, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: item{
			":pk":   &types.AttributeValueMemberS{Value: pk},
			":low":  &types.AttributeValueMemberS{Value: sorted[0]},
			":high": &types.AttributeValueMemberS{Value: sorted[len(sorted)-1]},
		},
	})
	for pages.HasMorePages() {
		page, err := pages.NextPage(ctx)
		if err != nil {
			return nil, fmt.Errorf("reading the acknowledgements %q: %w", pk, err)
		}
		for _, it := range page.Items {
			if m := bySK[attribute.TextOf(it, schema.SK)]; m != nil {
				m.shard, m.seq = cmp.Or(attribute.TextOf(it, schema.StreamShard), unnamed), attribute.TextOf(it, schema.RollupSequence)
			}
		}
	}
	return slices.DeleteFunc(slices.Clone(marks), func(m *mark) bool { return m.shard != "" }), nil
}

// removeTime bounds the removal of marks. What is left has an expiry.
const removeTime = 30 * time.Second

// remove deletes the marks, also after ctx has ended, as far as that can be done.
func (f *fence) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(maxReads)
	for _, m := range f.marks {
		group.Go(func() error {
			_, _ = f.a.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &f.a.o.Names.Items, Key: attribute.Key(m.pk, m.sk)})
			return nil
		})
	}
	_ = group.Wait()
}
