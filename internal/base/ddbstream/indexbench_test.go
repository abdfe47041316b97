package ddbstream_test

import (
	"testing"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/secondary"
	"github.com/hotshard/hotshard/internal/test/require"
)

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
