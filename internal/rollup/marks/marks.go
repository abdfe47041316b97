// Package marks proves that what was written has come through the stream: it puts marks
// into the items table, awaits the aggregator's acknowledgements, and removes the marks.
//
//	m := marks.New(marks.Options{Names: names, Wait: 30 * time.Second}, client)
//	proof, err := m.Around(ctx, hour, places) // the events of a bucket, or
//	proof, err := m.Beside(ctx, period, players) // the entries of a board's period
//	fmt.Println(proof.Missing, proof.Floors)
//
// The aggregator's side is [Of] and [Mark.Acknowledge]. An acknowledged mark proves that
// the stream shard by which it came is folded up to what was written before the mark.
package marks

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/oklog/ulid/v2"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/rollup/scan"
	"github.com/hotshard/hotshard/internal/schema"
)

// Client is what a Marker calls of DynamoDB.
type Client interface {
	dynamo.Querier
	dynamo.Putter
	dynamo.Deleter
}

// Options say where marks are put, and how long they are awaited.
type Options struct {
	Names schema.Names
	Wait  time.Duration // for all acknowledgements of a round of marks
	Poll  time.Duration // between two looks
	Now   func() time.Time
}

// Marker puts, awaits and removes marks. It is safe for concurrent use.
type Marker struct {
	o      Options
	client Client
}

// New returns a Marker.
func New(o Options, client Client) *Marker { return &Marker{o, client} }

// Proof is what came of some marks.
type Proof struct {
	// Missing says why nothing is proved; "" if all that was written before is folded.
	Missing string
	// Floors has, by stream shard, the sequence number of the last mark that came by it,
	// 40 digits: all records up to it that the marks are about were written before the
	// proof was there.
	Floors map[string]string
}

// Bounds of marks.
const (
	edgeMarks  = 24   // to begin with, or two a partition key: enough to tell a hash from ranges
	gapMarks   = 15   // between two that came by different stream shards
	shardMarks = 32   // for each stream shard, where items are spread by hash: one gets none by a chance of e^-32
	maxMarks   = 4096 // of one proof
	maxCalls   = 16   // under way at a time
)

// mark is one that was put.
type mark struct {
	pk, sk string
	at     time.Time // before which events it is
	shard  string    // by which it was acknowledged; "" before that
	seq    string    // of its record, 40 digits; "" for none
}

// fence is the marks of one proof.
type fence struct {
	*Marker
	id    string
	marks []*mark
}

// prove puts and awaits marks, as long as more adds some, and removes them all.
func (m *Marker) prove(ctx context.Context, more func(*fence)) (Proof, error) {
	f := &fence{Marker: m, id: ulid.Make().String()}
	defer f.remove(ctx)
	more(f)
	for from := 0; from < len(f.marks); {
		if len(f.marks) > maxMarks {
			return Proof{Missing: fmt.Sprintf("it would take more than %d marks", maxMarks)}, nil
		}
		missing, err := f.round(ctx, f.marks[from:])
		if missing != "" || err != nil {
			return Proof{Missing: missing}, err
		}
		from = len(f.marks)
		more(f)
	}
	floors := map[string]string{}
	for _, m := range f.marks {
		if m.seq != "" {
			floors[m.shard] = max(floors[m.shard], m.seq)
		}
	}
	return Proof{Floors: floors}, nil
}

// shards is how many stream shards marks came by.
func (f *fence) shards() int {
	seen := map[string]bool{}
	for _, m := range f.marks {
		seen[m.shard] = true
	}
	return len(seen)
}

// round puts marks and awaits them, or says why it gave up.
func (f *fence) round(ctx context.Context, marks []*mark) (missing string, err error) {
	if err := f.putAll(ctx, marks); err != nil {
		return "", err
	}
	left := marks
	for deadline := f.o.Now().Add(f.o.Wait); ; {
		left, err = f.acknowledged(ctx, left)
		switch {
		case err != nil:
			return "", err
		case len(left) == 0:
			return unnamedIn(marks), nil
		case !f.o.Now().Before(deadline):
			return fmt.Sprintf("%d of %d marks did not come through the stream within %v", len(left), len(marks), f.o.Wait), nil
		}
		if err := scan.Wait(ctx, f.o.Poll); err != nil {
			return "", err
		}
	}
}

// unnamed is the stream shard of a delivery that does not name it.
const unnamed = "-"

func unnamedIn(marks []*mark) (missing string) {
	if slices.ContainsFunc(marks, func(m *mark) bool { return m.shard == unnamed }) {
		return "the aggregator's event source mapping does not name its stream shards: it needs a tumbling window"
	}
	return ""
}

func (f *fence) putAll(ctx context.Context, marks []*mark) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxCalls)
	for _, m := range marks {
		group.Go(func() error { return f.put(ctx, m.pk, m.sk) })
	}
	return group.Wait()
}

func (m *Marker) put(ctx context.Context, pk, sk string) error {
	it := dynamo.Key(pk, sk)
	it[schema.ExpiresAt] = dynamo.Number(m.o.Now().Add(schema.MarkLifetime).Unix())
	if _, err := m.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &m.o.Names.Items, Item: it}); err != nil {
		return fmt.Errorf("putting a mark into %q: %w", pk, err)
	}
	return nil
}

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
	in := &dynamodb.QueryInput{
		TableName: &f.o.Names.Rollups, ConsistentRead: aws.Bool(true),
		KeyConditionExpression: aws.String("pk = :pk AND sk BETWEEN :low AND :high"),
		ExpressionAttributeValues: dynamo.Item{
			":pk": dynamo.String(pk), ":low": dynamo.String(sorted[0]), ":high": dynamo.String(sorted[len(sorted)-1]),
		},
	}
	for it, err := range dynamo.Items(ctx, f.client, in) {
		if err != nil {
			return nil, fmt.Errorf("reading the acknowledgements %q: %w", pk, err)
		}
		m := bySK[dynamo.Text(it, schema.SK)]
		if m != nil {
			m.shard, m.seq = cmp.Or(dynamo.Text(it, schema.StreamShard), unnamed), dynamo.Text(it, schema.RollupSequence)
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
	group.SetLimit(maxCalls)
	for _, m := range f.marks {
		group.Go(func() error {
			_, _ = f.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &f.o.Names.Items, Key: dynamo.Key(m.pk, m.sk)})
			return nil
		})
	}
	_ = group.Wait()
}
