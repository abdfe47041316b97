package decoding

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"unsafe"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-lambda-go/lambda"
	"github.com/bytedance/sonic"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/ddbstream"
	"github.com/hotshard/hotshard/internal/topk"
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
		{"jsontext, streaming", streaming},
		{"sonic, minimal struct", minimal(func(payload []byte, to any) error {
			return sonic.ConfigDefault.UnmarshalFromString(unsafe.String(&payload[0], len(payload)), to) // makes no copy
		})},
		{"hotshard", newHotshard()},
		{"crc32, the floor", func(payload []byte) (map[string]int, error) {
			if crc32.ChecksumIEEE(payload) == 0 {
				return nil, errors.New("an unlikely sum")
			}
			return nil, nil
		}},
	}
}

// newStock is the handler that most functions have.
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

// batch has no more than it takes to count keys.
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

// streaming goes from token to token and passes over what it does not need.
func streaming(payload []byte) (map[string]int, error) {
	w := walk{Decoder: jsontext.NewDecoder(bytes.NewReader(payload)), counts: make(map[string]int)}
	w.object(func(name string) bool {
		if name != "Records" {
			return false
		}
		w.token()
		for w.PeekKind() == '{' {
			w.record()
		}
		w.token()
		return true
	})
	return w.counts, w.err
}

type walk struct {
	*jsontext.Decoder
	counts map[string]int
	err    error
}

func (w *walk) token() jsontext.Token {
	t, err := w.ReadToken()
	if err != nil && w.err == nil {
		w.err = err
	}
	return t
}

// object calls fn for each member; false says that it did not read the value.
func (w *walk) object(fn func(name string) bool) {
	w.token()
	for w.PeekKind() == '"' && w.err == nil {
		if name := w.token().String(); !fn(name) {
			if err := w.SkipValue(); err != nil {
				w.err = err
			}
		}
	}
	w.token()
}

func (w *walk) record() {
	key, expired := "", false
	w.object(func(name string) bool {
		switch name {
		case "dynamodb":
			w.object(func(name string) bool {
				if name == "Keys" {
					w.object(func(name string) bool { return w.text(name, "pk", &key) })
				}
				return name == "Keys"
			})
		case "userIdentity":
			principal := ""
			w.object(func(name string) bool {
				if name == "principalId" {
					principal = w.token().String()
				}
				return name == "principalId"
			})
			expired = principal == "dynamodb.amazonaws.com"
		default:
			return false
		}
		return true
	})
	if !expired {
		w.counts[key]++
	}
}

// text reads the value of an attribute of type S.
func (w *walk) text(name, want string, to *string) bool {
	if name != want {
		return false
	}
	w.object(func(string) bool {
		*to = w.token().String()
		return true
	})
	return true
}

// newHotshard counts write units of keys and of an index, as the detector does for
// each batch.
func newHotshard() func([]byte) (map[string]int, error) {
	indexes := []ddbstream.Index{{Name: "by_rank", PartitionKey: "board_shard", SortKey: "rank_key", All: true}}
	var decoder ddbstream.Decoder
	var writes []ddbstream.IndexWrite
	var counts map[string]int // of a payload, made once: the sketch is what is measured
	return func(payload []byte) (map[string]int, error) {
		batch, err := decoder.Decode(payload)
		if err != nil {
			return nil, err
		}
		sketch := topk.New(topk.Limits{Entries: 2000, Bytes: 350_000})
		for i := range batch.Records {
			r := &batch.Records[i]
			key, ok := r.Keys.Key("pk")
			if r.Err != nil || !ok {
				return nil, fmt.Errorf("record %d: %w", i, cmpErr(r.Err))
			}
			units, err := r.WriteUnits()
			if err != nil {
				return nil, err
			}
			if writes, err = r.AppendIndexWrites(writes[:0], indexes); err != nil || len(writes) > 0 {
				return nil, fmt.Errorf("record %d: %d index writes, %w", i, len(writes), cmpErr(err))
			}
			sketch.AddBytes(key, uint64(units), r.Created.Unix())
		}
		if counts == nil || sketch.Len() != len(counts) {
			counts = make(map[string]int)
			for _, e := range sketch.Top(sketch.Len()) {
				counts[e.Key] = int(e.Low())
			}
		}
		return counts, nil
	}
}

var errNoKey = errors.New("no key")

func cmpErr(err error) error {
	if err != nil {
		return err
	}
	return errNoKey
}
