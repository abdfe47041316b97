package ddbstream_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/aws/aws-lambda-go/events"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/secondary"
	"github.com/hotshard/hotshard/internal/test/require"
)

// benchPayload returns 1,000 records of modified items of about 500 B, with both images.
func benchPayload(b *testing.B) []byte {
	b.Helper()
	var list []string
	for i := range 1000 {
		keys := fmt.Sprintf(`"pk":{"S":"E#sensor-%d#2026-01-05#0"},"sk":{"S":"2026-01-05T13:00:00.%03dZ#%d"}`, i%50, i, i)
		item := fmt.Sprintf(`{%s,"n":{"N":"%d.5"},"data":{"M":{"text":{"S":"%s"},"list":{"L":[{"BOOL":true},{"N":"7"}]}}}}`, keys, i, strings.Repeat("x", 380))
		list = append(list, record("MODIFY", fmt.Sprintf(
			`"ApproximateCreationDateTime":1.7675892E9,"Keys":{%s},"NewImage":%s,"OldImage":%s,"SequenceNumber":"%d","SizeBytes":1000`, keys, item, item, i)))
	}
	payload := []byte(`{"Records":[` + strings.Join(list, ",") + `]}`)
	if agreed, err := compare(payload); !agreed || err != nil {
		b.Fatal(agreed, err)
	}
	b.SetBytes(int64(len(payload)))
	b.ReportAllocs()
	return payload
}

// BenchmarkWriteUnits decodes a batch and gets the key and the write units of each record.
func BenchmarkWriteUnits(b *testing.B) {
	payload := benchPayload(b)
	var decoder ddbstream.Decoder
	for b.Loop() {
		batch, err := decoder.Decode(payload)
		require.NoError(b, err)
		for i := range batch.Records {
			if key, _ := batch.Records[i].Keys.Key("pk"); len(key) == 0 {
				b.Fatal("no key")
			}
			if units, err := batch.Records[i].WriteUnits(); units != 1 || err != nil {
				b.Fatal(units, err)
			}
		}
	}
}

// BenchmarkStock decodes the batch with aws-lambda-go.
func BenchmarkStock(b *testing.B) {
	payload := benchPayload(b)
	for b.Loop() {
		var event events.DynamoDBEvent
		if err := json.Unmarshal(payload, &event); err != nil || len(event.Records) != 1000 {
			b.Fatal(err)
		}
	}
}

// BenchmarkIndexWrites decodes a batch and calculates the writes of three indexes.
func BenchmarkIndexWrites(b *testing.B) {
	table := []string{"pk", "sk"}
	indexes := []secondary.Index{
		secondary.New("all", []string{"sk"}, []string{"n"}, table, nil),
		secondary.New("keys", []string{"n"}, []string{"pk"}, table, []string{}),
		secondary.New("sparse", []string{"absent"}, []string{"n"}, table, []string{"data"}),
	}
	payload := benchPayload(b)
	var decoder ddbstream.Decoder
	var writes secondary.Writes
	for b.Loop() {
		batch, err := decoder.Decode(payload)
		require.NoError(b, err)
		for i := range batch.Records {
			writes.Reset()
			if err := batch.Records[i].IndexWrites(&writes, indexes); err != nil || len(writes.List) != 1 {
				b.Fatal(len(writes.List), err)
			}
		}
	}
}
