package rebuild

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// GivenUp is the result of ReadGivenUp: records that an event source mapping has given up on.
type GivenUp struct {
	Targets []schema.Target // distinct targets of the records
	Records int
	Unknown int // records without a readable key
}

// ReadGivenUp reads records that an event source mapping gave up on, one JSON document after
// another. Lambda writes them to a failure destination in S3, and hotshard local to a failure file.
func (a *Checker) ReadGivenUp(r io.Reader) (*GivenUp, error) {
	found := &GivenUp{}
	seen := map[schema.Target]bool{}
	for decoder, n := json.NewDecoder(r), 1; ; n++ {
		var document struct {
			Payload json.RawMessage `json:"payload"`
		}
		err := decoder.Decode(&document)
		if errors.Is(err, io.EOF) {
			return found, nil
		}
		var batch *ddbstream.Batch
		if err == nil {
			batch, err = batchOf(document.Payload)
		}
		if err != nil {
			return nil, fmt.Errorf("document %d: %w", n, err)
		}
		for i := range batch.Records {
			found.addRecord(a, seen, &batch.Records[i])
		}
	}
}

func (found *GivenUp) addRecord(a *Checker, seen map[schema.Target]bool, r *ddbstream.Record) {
	found.Records++
	pk, readable := r.Keys.String(schema.PK)
	sk, _ := r.Keys.String(schema.SK)
	if !readable {
		found.Unknown++
		return
	}
	t, ok := a.o.Rules.Target(pk, sk)
	t.Partial = 0 // the whole counter is checked
	if ok && !seen[t] {
		seen[t] = true
		found.Targets = append(found.Targets, t)
	}
}

// batchOf decodes the event in a document, which may be JSON or a string of JSON.
func batchOf(payload json.RawMessage) (*ddbstream.Batch, error) {
	if len(payload) == 0 {
		return nil, errors.New("it has no payload: only failure destinations in S3 have the records")
	}
	var quoted string
	if err := json.Unmarshal(payload, &quoted); err == nil {
		payload = json.RawMessage(quoted)
	}
	batch, err := ddbstream.Decode(payload)
	if err != nil {
		return nil, fmt.Errorf("its payload: %w", err)
	}
	return batch, nil
}
