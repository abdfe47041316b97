package parts

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

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// ProverClient has the DynamoDB calls of a Prover.
type ProverClient interface {
	client.Querier
	client.Putter
	client.Deleter
}

// ProverOptions configure a Prover. All fields are needed.
type ProverOptions struct {
	Names schema.Names
	Wait  time.Duration // for all acknowledgements of a round of markers
	Poll  time.Duration // between two reads of the acknowledgements
	Now   func() time.Time
}

// Prover proves that the aggregator has folded earlier writes: it writes stream markers, and awaits their acknowledgements.
// It is safe for concurrent use.
type Prover struct {
	o      ProverOptions
	client ProverClient
}

// NewProver returns a Prover.
func NewProver(o ProverOptions, client ProverClient) *Prover { return &Prover{o, client} }

// Proof is the outcome of a set of markers.
type Proof struct {
	// Missing is why nothing is proved, for a report; "" if all earlier writes are folded.
	Missing string
	// Watermarks has the low watermark of each stream shard: the sequence number, of 40 digits, of its last marker. Of the
	// records that the proof covers, those up to the watermark were written before the proof.
	Watermarks map[string]string
}

// Bounds of stream markers.
const (
	edgeMarks  = 24   // markers of a board in the first round, which shows how many stream shards there are
	gapMarks   = 15   // markers that are added between two markers of different stream shards
	shardMarks = 32   // markers of a board for each stream shard, which gets none of them with probability e^-32
	maxMarks   = 4096 // markers of one proof
	maxCalls   = 16   // calls in flight
)

// proofMarker is a stream marker that was written.
type proofMarker struct {
	pk, sk string
	at     time.Time // the marker sorts before the events of this time; zero for a marker beside an entry
	shard  string    // the stream shard that acknowledged the marker; "" before the acknowledgement
	seq    string    // the sequence number of the marker's record, 40 digits; "" if it is unknown
}

// proofRun has the markers of one proof.
type proofRun struct {
	*Prover
	id      string
	markers []*proofMarker
}

// prove writes the markers that addMarkers adds, and awaits their acknowledgements, until addMarkers adds no more. Then it
// removes all markers.
func (m *Prover) prove(ctx context.Context, addMarkers func(*proofRun)) (Proof, error) {
	f := &proofRun{Prover: m, id: ulid.Make().String()}
	defer f.remove(ctx)
	addMarkers(f)
	for from := 0; from < len(f.markers); {
		if len(f.markers) > maxMarks {
			return Proof{Missing: fmt.Sprintf("it would take more than %d stream markers", maxMarks)}, nil
		}
		missing, err := f.putAndAwait(ctx, f.markers[from:])
		if missing != "" || err != nil {
			return Proof{Missing: missing}, err
		}
		from = len(f.markers)
		addMarkers(f)
	}
	watermarks := map[string]string{}
	for _, m := range f.markers {
		if m.seq != "" {
			watermarks[m.shard] = max(watermarks[m.shard], m.seq)
		}
	}
	return Proof{Watermarks: watermarks}, nil
}

// countStreamShards returns how many stream shards acknowledged the markers.
func (f *proofRun) countStreamShards() int {
	seen := map[string]bool{}
	for _, m := range f.markers {
		seen[m.shard] = true
	}
	return len(seen)
}

// putAndAwait writes markers and awaits their acknowledgements. missing is why it gave up; "" if all are acknowledged.
func (f *proofRun) putAndAwait(ctx context.Context, markers []*proofMarker) (missing string, err error) {
	if err := f.putAll(ctx, markers); err != nil {
		return "", err
	}
	left := markers
	for deadline := f.o.Now().Add(f.o.Wait); ; {
		left, err = f.readAcknowledgements(ctx, left)
		switch {
		case err != nil:
			return "", err
		case len(left) == 0:
			return whyUnnamed(markers), nil
		case !f.o.Now().Before(deadline):
			return fmt.Sprintf("%d of %d stream markers did not come through the stream within %v", len(left), len(markers), f.o.Wait), nil
		}
		if err := dynamo.WaitFor(ctx, f.o.Poll); err != nil {
			return "", err
		}
	}
}

// unnamed stands for the stream shard of a delivery that does not name it.
const unnamed = "-"

// whyUnnamed returns why acknowledged markers prove nothing: a delivery did not name its stream shard. Otherwise it
// returns "".
func whyUnnamed(markers []*proofMarker) (missing string) {
	if slices.ContainsFunc(markers, func(m *proofMarker) bool { return m.shard == unnamed }) {
		return "the aggregator's event source mapping does not name its stream shards: it needs a tumbling window"
	}
	return ""
}

func (f *proofRun) putAll(ctx context.Context, markers []*proofMarker) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(maxCalls)
	for _, m := range markers {
		group.Go(func() error { return f.putMarker(ctx, m.pk, m.sk) })
	}
	return group.Wait()
}

func (m *Prover) putMarker(ctx context.Context, pk, sk string) error {
	it := dynamo.Key(pk, sk)
	it[schema.ExpiresAt] = dynamo.Number(m.o.Now().Add(schema.MarkerLifetime).Unix())
	if _, err := m.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: aws.String(m.o.Names.OfKey(pk)), Item: it}); err != nil {
		return fmt.Errorf("putting a stream marker into %q: %w", pk, err)
	}
	return nil
}

// readAcknowledgements reads the acknowledgements of markers, and returns the markers without one.
func (f *proofRun) readAcknowledgements(ctx context.Context, markers []*proofMarker) (left []*proofMarker, err error) {
	bySK := map[string]*proofMarker{}
	for _, m := range markers {
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
		if m := bySK[dynamo.Text(it, schema.SK)]; m != nil {
			m.shard, m.seq = cmp.Or(dynamo.Text(it, schema.StreamShard), unnamed), dynamo.Text(it, schema.RollupSequence)
		}
	}
	return slices.DeleteFunc(slices.Clone(markers), func(m *proofMarker) bool { return m.shard != "" }), nil
}

// removeTime bounds the removal of markers. The remaining markers expire.
const removeTime = 30 * time.Second

// remove deletes the markers, even after ctx has ended. It ignores errors.
func (f *proofRun) remove(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), removeTime)
	defer cancel()
	var group errgroup.Group
	group.SetLimit(maxCalls)
	for _, m := range f.markers {
		group.Go(func() error {
			_, _ = f.client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: aws.String(f.o.Names.OfKey(m.pk)), Key: dynamo.Key(m.pk, m.sk)})
			return nil
		})
	}
	_ = group.Wait()
}
