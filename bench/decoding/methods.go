package decoding

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"unsafe"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/bytedance/sonic"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
)

// method counts a payload's keys, without removals by TTL. The floor counts none.
type method struct {
	name  string
	count func(payload []byte) (map[string]int, error)
}

func methods() []method {
	return []method{
		{"stock", newStock()},
		{"encoding/json, minimal struct", minimal(json.Unmarshal)},
		{"sonic, minimal struct", minimal(func(payload []byte, to any) error {
			return sonic.ConfigDefault.UnmarshalFromString(unsafe.String(&payload[0], len(payload)), to) // makes no copy
		})},
		{"hotshard", newHotshard()},
		{"crc32, the floor", func(payload []byte) (map[string]int, error) {
			if crc32.ChecksumIEEE(payload) == 0 {
				return nil, errors.New("the sum of all bytes is 0")
			}
			return nil, nil
		}},
	}
}

// newStock returns the usual handler, which decodes with the AWS events library.
func newStock() func([]byte) (map[string]int, error) {
	var counts map[string]int
	handler := lambda.NewHandler(func(_ context.Context, event events.DynamoDBEvent) error {
		counts = make(map[string]int)
		for _, r := range event.Records {
			if id := r.UserIdentity; id == nil || id.PrincipalID != "dynamodb.amazonaws.com" {
				counts[r.Change.Keys["pk"].String()]++
			}
		}
		return nil
	})
	return func(payload []byte) (map[string]int, error) {
		_, err := handler.Invoke(context.Background(), payload)
		return counts, err
	}
}

// batch has only the fields of an event that counting keys needs.
type batch struct {
	Records []struct {
		UserIdentity *struct{ PrincipalID string }
		Dynamodb     struct {
			Keys struct{ PK struct{ S string } }
		}
	}
}

func minimal(unmarshal func([]byte, any) error) func([]byte) (map[string]int, error) {
	return func(payload []byte) (map[string]int, error) {
		var b batch
		if err := unmarshal(payload, &b); err != nil {
			return nil, err
		}
		counts := make(map[string]int)
		for i := range b.Records {
			if id := b.Records[i].UserIdentity; id == nil || id.PrincipalID != "dynamodb.amazonaws.com" {
				counts[b.Records[i].Dynamodb.Keys.PK.S]++
			}
		}
		return counts, nil
	}
}

// newHotshard returns a handler that counts write units of keys and of an index, as the detector does.
func newHotshard() func([]byte) (map[string]int, error) {
	indexes := []ddbstream.Index{ddbstream.NewIndex("by_rank", []string{"board_shard"}, []string{"rank_key"}, nil, nil)}
	var decoder ddbstream.Decoder
	var writes ddbstream.IndexWrites
	var counts map[string]int // of the first payload only, so that the sketch is measured alone
	return func(payload []byte) (map[string]int, error) {
		batch, err := decoder.Decode(payload)
		if err != nil {
			return nil, err
		}
		sketch := ddbstream.NewSketch(ddbstream.SketchLimits{Entries: 2000, Bytes: 350_000})
		for i := range batch.Records {
			r := &batch.Records[i]
			key, ok := r.Keys.Key("pk")
			if r.Err != nil || !ok {
				return nil, fmt.Errorf("record %d: %w, key %t", i, r.Err, ok)
			}
			units, err := r.WriteUnits()
			if err != nil {
				return nil, err
			}
			writes.Reset()
			if err = r.IndexWrites(&writes, indexes); err != nil || len(writes.List) > 0 {
				return nil, fmt.Errorf("record %d: %d index writes, %w", i, len(writes.List), err)
			}
			sketch.Add(key, uint64(units), r.Created.Unix())
		}
		if counts == nil {
			counts = make(map[string]int)
			for _, e := range sketch.Entries() {
				counts[e.Key] = int(e.Low())
			}
		}
		return counts, nil
	}
}
