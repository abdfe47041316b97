package enginetest

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
)

// Open implements [eventsource.Source]. Sequence numbers are those of the base.
func (v *VirtualStream) Open(id, after string) eventsource.Reader {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := v.index(id)
	if at < 0 {
		return lostReader(id)
	}
	s := v.shards[at]
	return &reader{v, s, v.base.Open(s.base, after)}
}

// lostReader reads a stream shard that does not exist.
type lostReader string

// Next implements [eventsource.Reader].
func (r lostReader) Next(context.Context, int) ([]eventsource.Record, bool, error) {
	return nil, false, fmt.Errorf("virtual stream: there is no stream shard %q", string(r))
}

type reader struct {
	v     *VirtualStream
	shard shard
	base  eventsource.Reader
}

// Next implements [eventsource.Reader]. It skips pages that have only other stream shards'
// records, because an empty page would mean that there are none.
func (r *reader) Next(ctx context.Context, limit int) ([]eventsource.Record, bool, error) {
	for {
		page, closed, err := r.base.Next(ctx, limit)
		if err != nil {
			return nil, false, err
		}
		own := slices.DeleteFunc(slices.Clone(page), func(record eventsource.Record) bool {
			hash := r.v.hash(record.JSON)
			return hash < r.shard.low || hash > r.shard.high
		})
		if closed || len(own) > 0 || len(page) == 0 {
			return own, closed, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
	}
}

// hash places the partition key of a record, in the same way on every machine.
func (v *VirtualStream) hash(record []byte) uint64 {
	var r struct {
		Dynamodb struct{ Keys map[string]keyText }
	}
	if err := json.Unmarshal(record, &r); err != nil {
		panic(fmt.Sprintf("virtual stream: a record of the base is no JSON: %v", err))
	}
	text, _ := json.Marshal(r.Dynamodb.Keys["pk"]) // that never fails
	sum := sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, v.o.Seed), text...))
	return binary.BigEndian.Uint64(sum[:])
}

// keyText is a key's attribute by its type, as DynamoDB's JSON has it.
type keyText struct {
	S string `json:",omitempty"`
	N string `json:",omitempty"`
	B []byte `json:",omitempty"`
}
