package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/pkg/shard/table"
	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/limiter"
)

const items = 2000

// rig is a table with its items over n write shards.
type rig struct {
	n        int
	client   *dynamodb.Client
	limits   *limiter.Limiter // counts units, and limits nothing
	requests atomic.Int64
	delay    time.Duration
	want     []string
}

// RoundTrip waits for the round trip, and counts.
func (r *rig) RoundTrip(req *http.Request) (*http.Response, error) {
	r.requests.Add(1)
	select {
	case <-time.After(r.delay):
	case <-req.Context().Done():
		return nil, req.Context().Err()
	}
	return r.limits.RoundTrip(req)
}

func newRig(ctx context.Context, endpoint string, n int) (*rig, error) {
	limits, err := limiter.New(limiter.Options{Partitions: 64, PartitionWCU: 100_000, PartitionRCU: 300_000, Base: local.Transport()})
	if err != nil {
		return nil, err
	}
	r := &rig{n: n, limits: limits}
	r.client = local.DynamoDB(endpoint, "s"+rand.Text(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: r} })
	_, err = r.client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: aws.String("orders"), BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: "S"}, {AttributeName: aws.String("sk"), AttributeType: "S"},
		},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: "HASH"}, {AttributeName: aws.String("sk"), KeyType: "RANGE"}},
	})
	if err != nil {
		return nil, err
	}
	return r, r.fill(ctx)
}

func (r *rig) table() *table.Table {
	return &table.Table{Client: r.client, Name: "orders", PartitionKey: "pk", SortKey: "sk", Shards: table.Fixed(r.n), Layout: table.CalculatedSuffix{}}
}

func (r *rig) fill(ctx context.Context) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(16)
	for i := range items {
		sk := fmt.Sprintf("2026-01-05#%06d", i)
		r.want = append(r.want, sk)
		group.Go(func() error {
			return r.table().Put(ctx, table.Item{
				"pk": &types.AttributeValueMemberS{Value: "acme"}, "sk": &types.AttributeValueMemberS{Value: sk},
				"data": &types.AttributeValueMemberS{Value: strings.Repeat("x", 150)},
			})
		})
	}
	return group.Wait()
}

// measure prints a row for each way. They take turns, after one round that warms up.
func (r *rig) measure(ctx context.Context, w io.Writer, delay time.Duration, rounds int) error {
	r.delay = delay
	times := make([][]time.Duration, len(ways))
	costs := make([]string, len(ways))
	for round := range rounds + 1 {
		for i, way := range ways {
			r.limits.Reset()
			r.requests.Store(0)
			begin := time.Now()
			got, err := way.read(ctx, r)
			took := time.Since(begin)
			if err != nil {
				return fmt.Errorf("%s: %w", way.name, err)
			}
			if !slices.Equal(got, r.want) {
				return fmt.Errorf("%s: read %d items, want %d, or not in order", way.name, len(got), len(r.want))
			}
			if round > 0 {
				times[i] = append(times[i], took)
			}
			costs[i] = fmt.Sprintf("%d | %.1f", r.requests.Load(), r.limits.Stats().ReadUnits)
		}
	}
	for i, way := range ways {
		slices.Sort(times[i])
		fmt.Fprintf(w, "| %d | %s | %s | %s | %s | %s |\n", r.n, delay, way.name,
			at(times[i], 0.5), at(times[i], 0.99), costs[i])
	}
	return nil
}

func at(sorted []time.Duration, q float64) time.Duration {
	return sorted[int(q*float64(len(sorted)-1)+0.5)].Round(100 * time.Microsecond)
}
