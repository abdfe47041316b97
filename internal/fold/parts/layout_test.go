package parts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
)

// layout is a table whose stream shards acknowledge each marker when it is written.
type layout struct {
	ProverClient
	streamShard func(pk, sk string) string
	fail        error  // of puts
	gone        func() // called by queries, which then find nothing

	mu      sync.Mutex
	acks    []dynamo.Item
	put     []string
	deleted []string
}

func (l *layout) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.fail != nil {
		return nil, l.fail
	}
	pk, sk := dynamo.Text(in.Item, "pk"), dynamo.Text(in.Item, "sk")
	check, ok := schema.ParseMarker(sk)
	if !ok || in.Item[schema.ExpiresAt] == nil {
		return nil, fmt.Errorf("%v is no stream marker that expires", in.Item)
	}
	ackPK, ackSK := schema.AckKey(check, pk, sk)
	ack := dynamo.Key(ackPK, ackSK)
	if s := l.streamShard(pk, sk); s != "" {
		ack[schema.StreamShard] = dynamo.String(s)
	}
	ack[schema.RollupSequence] = dynamo.String(fmt.Sprintf("%0*d", schema.RollupSequenceDigits, len(l.acks)))
	l.acks, l.put = append(l.acks, ack), append(l.put, pk+sk)
	return &dynamodb.PutItemOutput{}, nil
}

func (l *layout) Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.gone != nil {
		l.gone()
		return &dynamodb.QueryOutput{}, nil
	}
	return &dynamodb.QueryOutput{Items: slices.Clone(l.acks)}, nil
}

func (l *layout) DeleteItem(_ context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.deleted = append(l.deleted, dynamo.Text(in.Key, "pk")+dynamo.Text(in.Key, "sk"))
	return &dynamodb.DeleteItemOutput{}, nil
}

func (l *layout) prover() *Prover {
	return NewProver(ProverOptions{Names: schema.NamesFor("x"), Wait: time.Minute, Poll: time.Microsecond, Now: func() time.Time { return anHour }}, l)
}

// prove proves that the records at some places are folded. It returns what is missing, the
// stream shards that acknowledged a marker, and the number of markers.
func (l *layout) prove(t rapid.TB, places []EventPlace) (missing string, acknowledged map[string]bool, markers int) {
	proof, err := l.prover().prove(context.Background(), eventPlaces(places).addMarkers)
	require.NoError(t, err)
	acknowledged = map[string]bool{}
	for _, it := range l.acks {
		acknowledged[dynamo.Text(it, schema.StreamShard)] = true
	}
	slices.Sort(l.put)
	slices.Sort(l.deleted)
	if !slices.Equal(l.put, l.deleted) {
		t.Fatalf("%d markers were written and %d deleted, or not the same", len(l.put), len(l.deleted))
	}
	return proof.Missing, acknowledged, len(l.put)
}

var anHour = time.Date(2026, 1, 5, 13, 0, 0, 0, time.UTC)

func placesOf(width shard.Bucket, n int) (list []EventPlace) {
	for i := range n {
		key := schema.Key{Base: schema.BaseKey{Type: schema.Event, Name: "e"}, Bucket: schema.EventBucket.Label(anHour), Shard: i}
		list = append(list, EventPlace{key.String(), width, anHour.Truncate(width.Width())})
	}
	return list
}

// TestRangesAreProven checks that each stream shard with events acknowledges a marker if partitions are
// ranges of sort keys, wherever they are split.
func TestRangesAreProven(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		width := rapid.SampledFrom([]shard.Bucket{shard.Hour, shard.Day}).Draw(t, "width")
		milliseconds := rapid.Int64Range(-1, width.Width().Milliseconds()+1)
		cuts := map[string][]string{}
		places := placesOf(width, rapid.IntRange(1, 20).Draw(t, "partitions"))
		for _, p := range places[:min(3, len(places))] {
			for range rapid.IntRange(0, 4).Draw(t, "cuts") {
				at := p.Start.Add(time.Duration(milliseconds.Draw(t, "cut")) * time.Millisecond)
				cuts[p.PK] = append(cuts[p.PK], at.Format(schema.TimeLayout)+"#")
			}
		}
		l := &layout{streamShard: func(pk, sk string) string {
			n := 0
			for _, cut := range cuts[pk] {
				if sk >= cut {
					n++
				}
			}
			return fmt.Sprint(pk, n)
		}}
		missing, acknowledged, markers := l.prove(t, places)
		if missing != "" {
			t.Fatal(missing)
		}
		for _, p := range places {
			for _, at := range append([]string{schema.EventSortKey(p.Start, ""), schema.EventSortKey(p.end().Add(-time.Millisecond), "~")}, cuts[p.PK]...) {
				if at < p.end().Format(schema.TimeLayout) && at > p.Start.Format(schema.TimeLayout) && !acknowledged[l.streamShard(p.PK, at)] {
					t.Fatalf("the stream shard of %s, %s acknowledged none of %d markers", p.PK, at, markers)
				}
			}
		}
		if len(cuts) == 0 && markers != 2*len(places) {
			t.Fatalf("%d markers for %d partition keys", markers, len(places))
		}
	})
}

// TestNoProof checks the reasons why there is no proof, and that no events need no markers.
func TestNoProof(t *testing.T) {
	places := placesOf(shard.Hour, 1)
	l := &layout{streamShard: func(string, string) string { return "" }}
	if missing, _, _ := l.prove(t, places); !strings.Contains(missing, "tumbling window") {
		t.Errorf("deliveries without a stream shard: %q", missing)
	}
	n := 0
	var mu sync.Mutex
	l = &layout{streamShard: func(string, string) string { mu.Lock(); defer mu.Unlock(); n++; return fmt.Sprint(n) }}
	if proof, err := l.prover().ProveEvents(t.Context(), Bucket{"e", anHour}, []string{places[0].PK}); err != nil || !strings.Contains(proof.Missing, "more than 4096 stream markers") {
		t.Errorf("a stream shard for each marker: %q, %v", proof.Missing, err)
	}
	if missing, _, markers := (&layout{}).prove(t, nil); missing != "" || markers != 0 {
		t.Errorf("no events: %q, %d markers; want none", missing, markers)
	}
}

// TestProofOfManyPlaces checks that each place has markers, in proofs of 128 places, and that the low watermark of a stream
// shard is the sequence number of its last marker.
func TestProofOfManyPlaces(t *testing.T) {
	l := &layout{streamShard: func(pk, _ string) string { return pk }}
	places := placesOf(shard.Hour, maxPlaces+1)
	missing, err := l.prover().ProveAllEvents(t.Context(), places)
	marked := map[string]bool{}
	for _, it := range l.acks {
		marked[dynamo.Text(it, schema.StreamShard)] = true
	}
	if missing != "" || err != nil || len(marked) != len(places) {
		t.Errorf("%d of %d places have markers, %q, %v", len(marked), len(places), missing, err)
	}
	l = &layout{streamShard: func(string, string) string { return "s" }}
	proof, err := l.prover().ProveEvents(t.Context(), Bucket{"e", anHour}, []string{places[0].PK})
	if want := fmt.Sprintf("%0*d", schema.RollupSequenceDigits, len(l.acks)-1); err != nil || proof.Watermarks["s"] != want {
		t.Errorf("the low watermarks are %v, %v; want %s", proof.Watermarks, err, want)
	}
}

// TestMarkersBesidePlayers checks that each player of a board gets a marker, and each stream shard 32 others, and that a
// failed put is an error.
func TestMarkersBesidePlayers(t *testing.T) {
	for _, shards := range []int{1, 3} {
		n := 0
		l := &layout{streamShard: func(string, string) string { n++; return fmt.Sprint(n % shards) }}
		if proof, err := l.prover().ProveEntries(t.Context(), Period{"b", "all"}, []string{"ann", "bob"}); err != nil || proof.Missing != "" || len(l.put) != 2+32*shards {
			t.Errorf("%d stream shards: %d markers, %+v, %v", shards, len(l.put), proof, err)
		}
	}
	l := &layout{fail: errors.New("down")}
	if _, err := l.prover().ProveEntries(t.Context(), Period{"b", "all"}, nil); !errors.Is(err, l.fail) {
		t.Errorf("a failed put: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	l = &layout{streamShard: func(string, string) string { return "s" }, gone: cancel}
	if _, err := l.prover().ProveEntries(ctx, Period{"b", "all"}, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled while it waits: %v", err)
	}
}
