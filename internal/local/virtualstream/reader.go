package virtualstream

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodbstreams/types"

	"github.com/hotshard/hotshard/internal/local/eventsource"
	"github.com/hotshard/hotshard/internal/schema"
)

// Open implements [eventsource.Source]. Sequence numbers are the base's.
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

// readTo notes that a reader has come so far in a stream shard of the base. The
// caller holds mu.
func (v *Stream) readTo(base, sequence string) {
	if compareSequences(sequence, v.plan.Read[base]) > 0 {
		v.plan.Read[base] = sequence
	}
}

// lostReader reads a stream shard that there is not.
type lostReader string

// Next implements [eventsource.Reader].
func (r lostReader) Next(context.Context, int) ([]eventsource.Record, bool, error) {
	return nil, false, fmt.Errorf("virtual stream: there is no stream shard %q", string(r))
}

type reader struct {
	v     *Stream
	shard string
	base  eventsource.Reader
	at    string // sequence number of the base that it has come to
}

// Next implements [eventsource.Reader]. It reads on while the base has nothing but other stream
// shards' records, since to return none would say that there are none.
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

// ended says that there is no more to read before the stream shard's end.
func (r *reader) ended() bool {
	r.v.mu.Lock()
	defer r.v.mu.Unlock()
	return r.v.plan.Shards[r.v.index(r.shard)].endsBy(r.at)
}

func (s Shard) endsBy(sequence string) bool {
	return s.Closed && compareSequences(sequence, s.Last) >= 0
}

// take moves behind a page, or to the stream shard's end in it, and returns the
// stream shard's records. Whether one is before the end is decided under the lock
// under which the end is set, so that it is not set before what was returned.
func (r *reader) take(page []eventsource.Record) (own []eventsource.Record, ended bool) {
	hashes := make([]uint64, len(page))
	for i, record := range page {
		hashes[i] = r.v.hash(record.Change.Dynamodb.Keys)
	}
	r.v.mu.Lock()
	defer r.v.mu.Unlock()
	s := r.v.plan.Shards[r.v.index(r.shard)]
	for i, record := range page {
		if s.Closed && compareSequences(record.Sequence(), s.Last) > 0 {
			return own, true
		}
		r.at = record.Sequence()
		if hashes[i] >= s.Low && hashes[i] <= s.High {
			own = append(own, record)
		}
	}
	r.v.readTo(s.Base, r.at)
	return own, s.endsBy(r.at)
}

// hash places an item, in the same way on every machine.
func (v *Stream) hash(keys map[string]types.AttributeValue) uint64 {
	var of any = textOf(keys[schema.PK])
	if v.o.Spread == ByItem {
		texts := map[string]keyText{}
		for name, value := range keys {
			texts[name] = textOf(value)
		}
		of = texts
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

func textOf(v types.AttributeValue) (text keyText) {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		text.S = v.Value
	case *types.AttributeValueMemberN:
		text.N = v.Value
	case *types.AttributeValueMemberB:
		text.B = v.Value
	}
	return text
}
