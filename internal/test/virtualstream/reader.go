package virtualstream

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/hotshard/hotshard/internal/aws/eventsource"
	"github.com/hotshard/hotshard/internal/base/decimal"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// Open implements [eventsource.Source]. Sequence numbers are those of the base.
func (v *Stream) Open(shard, after string) eventsource.Reader {
	v.mu.Lock()
	defer v.mu.Unlock()
	at := v.index(shard)
	if at < 0 {
		return lostReader(shard)
	}
	s := v.plan.Shards[at]
	if after == "" {
		after = s.After
	}
	v.readTo(s.Base, after)
	return &reader{v: v, shard: shard, at: after, base: v.base.Open(s.Base, after)}
}

// readTo records a reader's progress in a stream shard of the base. The caller holds mu.
func (v *Stream) readTo(base, sequence string) {
	if decimal.CompareWhole(sequence, v.plan.Read[base]) > 0 {
		v.plan.Read[base] = sequence
	}
}

// lostReader reads a stream shard that does not exist.
type lostReader string

// Next implements [eventsource.Reader].
func (r lostReader) Next(context.Context, int) ([]eventsource.Record, bool, error) {
	return nil, false, fmt.Errorf("virtual stream: there is no stream shard %q", string(r))
}

type reader struct {
	v     *Stream
	shard string
	base  eventsource.Reader
	at    string // last sequence number read from the base
}

// Next implements [eventsource.Reader]. It skips pages that have only other stream shards'
// records, because an empty page would mean that there are none.
func (r *reader) Next(ctx context.Context, limit int) ([]eventsource.Record, bool, error) {
	for {
		if r.ended() {
			return nil, true, nil
		}
		page, baseClosed, err := r.base.Next(ctx, limit)
		if err != nil {
			return nil, false, err
		}
		own, ended := r.take(page)
		if closed := ended || baseClosed; closed || len(own) > 0 || len(page) == 0 {
			return own, closed, nil
		}
		if err := ctx.Err(); err != nil {
			return nil, false, err
		}
	}
}

// ended reports whether all records up to the stream shard's end were read.
func (r *reader) ended() bool {
	r.v.mu.Lock()
	defer r.v.mu.Unlock()
	return r.v.plan.Shards[r.v.index(r.shard)].endsBy(r.at)
}

func (s Shard) endsBy(sequence string) bool {
	return s.Closed && decimal.CompareWhole(sequence, s.Last) >= 0
}

// take advances to the end of a page or of the stream shard, and returns the stream shard's
// records. It holds the lock under which the end is set, so that a returned record is never
// past the end.
func (r *reader) take(page []eventsource.Record) (own []eventsource.Record, ended bool) {
	hashes := make([]uint64, len(page))
	for i, record := range page {
		hashes[i] = r.v.hash(record.JSON)
	}
	r.v.mu.Lock()
	defer r.v.mu.Unlock()
	s := r.v.plan.Shards[r.v.index(r.shard)]
	for i, record := range page {
		if s.Closed && decimal.CompareWhole(record.Sequence, s.Last) > 0 {
			return own, true
		}
		r.at = record.Sequence
		if hashes[i] >= s.Low && hashes[i] <= s.High {
			own = append(own, record)
		}
	}
	r.v.readTo(s.Base, r.at)
	return own, s.endsBy(r.at)
}

// hash places the item of a record, in the same way on every machine.
func (v *Stream) hash(record []byte) uint64 {
	var r struct {
		Dynamodb struct{ Keys map[string]keyText }
	}
	if err := json.Unmarshal(record, &r); err != nil {
		panic(fmt.Sprintf("virtual stream: a record of the base is no JSON: %v", err))
	}
	var of any = r.Dynamodb.Keys[schema.PK]
	if v.o.Spread == ByItem {
		of = r.Dynamodb.Keys
	}
	text, _ := json.Marshal(of) // texts in the names' order: that never fails
	sum := sha256.Sum256(append(binary.BigEndian.AppendUint64(nil, v.o.Seed), text...))
	return binary.BigEndian.Uint64(sum[:])
}

// keyText is a key's attribute by its type, as DynamoDB's JSON has it.
type keyText struct {
	S string `json:",omitempty"`
	N string `json:",omitempty"`
	B []byte `json:",omitempty"`
}
