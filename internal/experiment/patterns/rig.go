package main

import (
	"context"
	"crypto/rand"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/local/limiter"
)

// rig is the engine, and how much is written.
type rig struct {
	endpoint string
	items    int
}

// meter is a database whose calls and units are counted.
type meter struct {
	client *dynamodb.Client
	limits *limiter.Limiter

	mu    sync.Mutex
	calls map[string]int // by operation
}

func (r *rig) meter(o limiter.Options) (*meter, error) {
	o.Base, o.TopKeys = local.Transport(), 10_000
	limits, err := limiter.New(o)
	if err != nil {
		return nil, err
	}
	m := &meter{limits: limits, calls: map[string]int{}}
	m.client = local.DynamoDB(r.endpoint, "p"+rand.Text(), func(o *dynamodb.Options) { o.HTTPClient = &http.Client{Transport: m} })
	return m, nil
}

// RoundTrip counts a call.
func (m *meter) RoundTrip(req *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	m.mu.Lock()
	m.calls[operation]++
	m.mu.Unlock()
	return m.limits.RoundTrip(req)
}

// cost is what was called and consumed since the last reset.
type cost struct {
	calls map[string]int
	stats limiter.Stats
}

func (m *meter) cost(call func() error) (cost, error) {
	m.mu.Lock()
	m.calls = map[string]int{}
	m.mu.Unlock()
	m.limits.Reset()
	err := call()
	m.mu.Lock()
	defer m.mu.Unlock()
	return cost{maps.Clone(m.calls), m.limits.Stats()}, err
}

// reads is a read's cost in a table's cell: requests and read units.
func (c cost) reads() string {
	n := 0
	for _, calls := range c.calls {
		n += calls
	}
	return fmt.Sprintf("%d / %.1f", n, c.stats.ReadUnits)
}

// hottest is the share of the writes that went to the partition key that got most,
// and the number of keys.
func (c cost) hottest() (share float64, keys int) {
	list := c.stats.Keys.Writes
	if len(list) == 0 {
		return 0, 0
	}
	return list[0].Units / c.stats.WriteUnits, len(list)
}

// table makes a table with the keys pk and sk.
func (m *meter) table(ctx context.Context, name string) error {
	_, err := m.client.CreateTable(ctx, &dynamodb.CreateTableInput{
		TableName: &name, BillingMode: types.BillingModePayPerRequest,
		AttributeDefinitions: []types.AttributeDefinition{
			{AttributeName: aws.String("pk"), AttributeType: "S"}, {AttributeName: aws.String("sk"), AttributeType: "S"},
		},
		KeySchema: []types.KeySchemaElement{{AttributeName: aws.String("pk"), KeyType: "HASH"}, {AttributeName: aws.String("sk"), KeyType: "RANGE"}},
	})
	return err
}

// unlimited lets everything through and only counts.
var unlimited = limiter.Options{Partitions: 64, PartitionWCU: 100_000, PartitionRCU: 300_000}

// start is when the items begin: two hours, two of the hour buckets.
var start = time.Date(2026, 1, 5, 12, 0, 0, 0, time.UTC)
