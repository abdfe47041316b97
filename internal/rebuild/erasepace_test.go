package rebuild_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/rebuild"
)

// stale is a client with sessions on one write shard. Each delete consumes this number of units.
type stale struct {
	rebuild.Client
	sessions, units int
	deleted         atomic.Int64
}

func (s *stale) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	out := &dynamodb.QueryOutput{}
	if dynamo.Text(in.ExpressionAttributeValues, ":pk") == "S#g#7" {
		for n := range s.sessions {
			out.Items = append(out.Items, dynamo.Key(fmt.Sprint("S#g#", n), fmt.Sprint("s#", n)))
		}
	}
	return out, nil
}

func (s *stale) GetItem(context.Context, *dynamodb.GetItemInput, ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	return &dynamodb.GetItemOutput{}, nil
}

func (s *stale) Scan(context.Context, *dynamodb.ScanInput, ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	return &dynamodb.ScanOutput{}, nil
}

func (s *stale) DeleteItem(_ context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	s.deleted.Add(1)
	out := &dynamodb.DeleteItemOutput{Attributes: in.Key}
	if in.ReturnConsumedCapacity == types.ReturnConsumedCapacityTotal {
		out.ConsumedCapacity = &types.ConsumedCapacity{CapacityUnits: aws.Float64(float64(s.units))}
	}
	return out, nil
}

// TestDeletesAreNoFasterThanTheRate checks the time of 2,000 write units at the default rate and at a given one.
func TestDeletesAreNoFasterThanTheRate(t *testing.T) {
	for rate, want := range map[int]time.Duration{0: 8 * time.Second, 1000: 2 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			client := &stale{sessions: 100, units: 20}
			eraser := rebuild.NewEraser(rebuild.EraserOptions{Options: rebuild.Options{Names: schema.NamesFor("t-"), IndexLag: time.Nanosecond}, WriteUnits: rate}, client)
			begun := time.Now()
			report, err := eraser.Key(t.Context(), base(schema.Session, "g"))
			if err != nil || report.Deleted[rebuild.Sessions] != 100 || client.deleted.Load() != 100 {
				t.Errorf("%+v, %v; want 100 sessions deleted", report, err)
			}
			if took := time.Since(begun).Truncate(time.Microsecond); took != want {
				t.Errorf("2,000 units at a rate of %d took %v, want %v", rate, took, want)
			}
		})
	}
}
