package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/local/limiter"
	"github.com/hotshard/hotshard/pkg/shard"
)

const series = 10_000

// openings counts how many names begin a new partition key in the same second, when
// each name writes every second. It is arithmetic, and asks no engine.
func (r *rig) openings(_ context.Context, w io.Writer) error {
	fmt.Fprintf(w, `
%d names that write every second: how many begin a new bucket in the busiest second.

| bucket | without offset | with its offset |
| --- | ---: | ---: |
`, series)
	for _, b := range []shard.Bucket{shard.Minute, shard.Hour, shard.Day} {
		perSecond := map[int]int{}
		for i := range series {
			perSecond[int(b.Offset(fmt.Sprintf("name-%d", i))/time.Second)]++
		}
		most := 0
		for _, n := range perSecond {
			most = max(most, n)
		}
		fmt.Fprintf(w, "| %s | %d | %d |\n", b, series, most)
	}
	return nil
}

const clients = 600

// jitter has clients write one item each on the minute, late by a random while, to a
// table of 16 partitions that take 5 write units a second each; the limiter's clock is
// the writes' own. Nobody repeats a refused write.
func (r *rig) jitter(ctx context.Context, w io.Writer) error {
	fmt.Fprintf(w, `
%d clients write one item each on the minute, to 16 partitions of 5 write units a second.

| jitter | refused at the first attempt |
| ---: | ---: |
`, clients)
	for _, most := range []time.Duration{0, time.Second, 5 * time.Second, 10 * time.Second, 30 * time.Second} {
		refused, err := r.herd(ctx, most)
		if err != nil {
			return fmt.Errorf("jitter of %s: %w", most, err)
		}
		fmt.Fprintf(w, "| %s | %d (%.1f %%) |\n", most, refused, 100*float64(refused)/clients)
	}
	return nil
}

func (r *rig) herd(ctx context.Context, most time.Duration) (refused int, err error) {
	now := start
	m, err := r.meter(limiter.Options{Partitions: 16, PartitionWCU: 5, Seed: 1, Now: func() time.Time { return now }})
	if err != nil {
		return 0, err
	}
	if err := m.table(ctx, "herd"); err != nil {
		return 0, err
	}
	random := rand.New(rand.NewPCG(1, 2)) // the same delays in each run
	var delays []time.Duration
	for range clients {
		if most > 0 {
			delays = append(delays, time.Duration(random.Int64N(int64(most))))
		} else {
			delays = append(delays, 0)
		}
	}
	slices.Sort(delays)
	table := "herd"
	for i, d := range delays {
		now = start.Add(d)
		_, err := m.client.PutItem(ctx, &dynamodb.PutItemInput{
			TableName: &table, Item: map[string]types.AttributeValue{"pk": text(fmt.Sprint("client-", i)), "sk": text("-")},
		}, func(o *dynamodb.Options) { o.RetryMaxAttempts = 1 })
		if _, throttled := errors.AsType[*types.ProvisionedThroughputExceededException](err); throttled {
			refused++
		} else if err != nil {
			return 0, err
		}
	}
	return refused, nil
}
