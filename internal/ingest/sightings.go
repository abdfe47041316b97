package ingest

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
)

// SightingClient is what sightings call of DynamoDB.
type SightingClient interface {
	PutItem(context.Context, *dynamodb.PutItemInput, ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error)
	Query(context.Context, *dynamodb.QueryInput, ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error)
}

// sightings writes this process's sightings, and reads those of others. A call
// that is throttled is not repeated: there will be another.
type sightings struct {
	client SightingClient
	table  string
	writer string // this process's id
}

// sighting is what one process saw of a key: see package schema.
type sighting struct {
	offered   float64
	throttled map[int]int
	refused   int
	ripe      bool // offered is of a whole second
}

func (s *sightings) put(ctx context.Context, key string, seen sighting, now time.Time) error {
	base, err := schema.ParseBaseKey(key)
	if err != nil {
		return err
	}
	total := 0
	shards := map[string]types.AttributeValue{}
	for n, count := range seen.throttled {
		total += count
		shards[strconv.Itoa(n)] = number(int64(count))
	}
	pk, sk := schema.SightingKey(base, now, s.writer)
	_, err = s.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &s.table, Item: map[string]types.AttributeValue{
		schema.PK:          &types.AttributeValueMemberS{Value: pk},
		schema.SK:          &types.AttributeValueMemberS{Value: sk},
		schema.Offered:     &types.AttributeValueMemberN{Value: strconv.FormatFloat(seen.offered, 'f', 1, 64)},
		schema.Throttled:   number(int64(total)),
		schema.FailedUnits: number(int64(seen.refused)),
		schema.Shards:      &types.AttributeValueMemberM{Value: shards},
		schema.Ripe:        &types.AttributeValueMemberBOOL{Value: seen.ripe},
		schema.Version:     number(1),
		schema.ExpiresAt:   number(now.Add(schema.SightingLifetime).Unix()),
	}}, unrepeated)
	return err
}

// sightingAge is how recent a sighting of another process must be to count: each
// writes one a second.
const sightingAge = 1500 * time.Millisecond

// rateOfOthers sums what other processes saw offered for the key lately. Waiting
// tells that some of them do not know their rate yet.
func (s *sightings) rateOfOthers(ctx context.Context, key string, now time.Time) (rate float64, waiting bool, err error) {
	out, err := s.client.Query(ctx, &dynamodb.QueryInput{
		TableName: &s.table, ConsistentRead: aws.Bool(true), ScanIndexForward: aws.Bool(false),
		KeyConditionExpression: aws.String("pk = :pk AND sk > :from"),
		ExpressionAttributeValues: map[string]types.AttributeValue{
			":pk":   &types.AttributeValueMemberS{Value: schema.SightingPrefix + key},
			":from": &types.AttributeValueMemberS{Value: schema.SightingTime(now.Add(-sightingAge))},
		},
	}, unrepeated)
	if err != nil {
		return 0, false, fmt.Errorf("reading the sightings of %q: %w", key, err)
	}
	seen := map[string]bool{s.writer: true}
	for _, item := range out.Items { // newest first
		pk, sk := textOf(item[schema.PK]), textOf(item[schema.SK])
		_, _, writer, err := schema.ParseSightingKey(pk, sk)
		offered, _ := item[schema.Offered].(*types.AttributeValueMemberN)
		if err != nil || offered == nil || seen[writer] {
			continue
		}
		seen[writer] = true
		if ripe, ok := item[schema.Ripe].(*types.AttributeValueMemberBOOL); ok && !ripe.Value {
			waiting = true
		}
		if r, err := strconv.ParseFloat(offered.Value, 64); err == nil {
			rate += r
		}
	}
	return rate, waiting, nil
}

func unrepeated(o *dynamodb.Options) { o.Retryer = aws.NopRetryer{} }

func number(n int64) *types.AttributeValueMemberN {
	return &types.AttributeValueMemberN{Value: strconv.FormatInt(n, 10)}
}

func textOf(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}
