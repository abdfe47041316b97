package reader_test

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/fold"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/reader"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
)

// instant is a client whose updates succeed at once. The handlers make no other call in the benchmarks.
type instant struct{ *dynamodb.Client }

func (instant) UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	return &dynamodb.UpdateItemOutput{}, nil
}

// BenchmarkReaders measures the CPU time and memory of a batch of 1,000 new events of 100 entities, 600 bytes a record:
// in two invocations, of hotkeys and of the aggregator, and in one. DynamoDB answers at once.
//
//	go test -run '^$' -bench Readers -benchmem -count 10 ./internal/reader
func BenchmarkReaders(b *testing.B) {
	log, settings := slog.New(slog.DiscardHandler), hotkeys.Settings{
		ItemsTable: "hotshard-items", EventsTable: "hotshard-events", HeatTable: "heat", ShardMapTable: "map",
		Window: 10 * time.Second, PartitionWCU: 1000, Threshold: 0.7, TopK: 2000, Control: "act", MetricNames: "plain", EventAhead: 2 * time.Second,
	}
	detector, err := hotkeys.New(settings, hotkeys.Deps{
		Heat: instant{}, Shards: hotkeys.OpenShards(instant{}, settings), Log: log, Now: time.Now,
	})
	require.NoError(b, err)
	rules, err := fold.ParseRules(`[{"every":"1h"}]`)
	require.NoError(b, err)
	aggregator, err := fold.New(fold.Settings{RollupsTable: "rollups", ItemsTable: "hotshard-items", ShardMapTable: "map", Rules: rules}, instant{}, log)
	require.NoError(b, err)
	sequence := 0 // of records, which are folded once
	for name, readers := range map[string][]eventsource.Handler{
		"two": {detector, aggregator}, "one": {reader.New(detector, aggregator, log, time.Now)},
	} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				payload := batchOf(&sequence, 1000)
				b.StartTimer()
				for _, r := range readers {
					if _, err := r.Invoke(b.Context(), payload); err != nil {
						b.Fatal(err)
					}
				}
			}
		})
	}
}

// batchOf returns a delivery of new events.
func batchOf(sequence *int, n int) []byte {
	now, records := time.Now(), make([]string, n)
	for i := range records {
		*sequence++
		records[i] = fmt.Sprintf(`{"eventID":"%d","eventName":"INSERT","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"eu-west-1",`+
			`"dynamodb":{"ApproximateCreationDateTime":%d,"Keys":{"pk":{"S":"E#sensor-%d#%s#0"},"sk":{"S":"%s#id%d"}},`+
			`"NewImage":{"pk":{"S":"E#sensor-%[3]d#%[4]s#0"},"sk":{"S":"%[5]s#id%[6]d"},"data":{"M":{"temperature":{"N":"21.5"},"text":{"S":"%[7]s"}}}},`+
			`"SequenceNumber":"%021[1]d","SizeBytes":300,"StreamViewType":"NEW_AND_OLD_IMAGES"},"eventSourceARN":"arn:aws:dynamodb:eu-west-1:123456789012:table/hotshard-events/stream/2026-01-05T12:00:00.000"}`,
			*sequence, now.Unix(), *sequence%100, now.UTC().Format(time.DateOnly), now.UTC().Format("2006-01-02T15:04:05.000Z"), *sequence, strings.Repeat("x", 150))
	}
	payload := enginetest.WindowedBatch("shardId-1", records...)
	begin := now.UTC().Truncate(10 * time.Second)
	return []byte(strings.NewReplacer("2026-01-05T12:00:00Z", begin.Format(time.RFC3339), "2026-01-05T12:00:10Z", begin.Add(10*time.Second).Format(time.RFC3339)).Replace(string(payload)))
}
