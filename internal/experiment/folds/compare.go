package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/local"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// compare holds each counter's summary against the sum of its write shards, and
// that against the books; and wants all poison given up, and nothing else.
func (r *rig) compare(ctx context.Context) error {
	view := ddb.NewMap(r.db, r.names.ShardMap)
	strong := ddb.NewCounterReader(r.db, r.names.Items, view)
	summaries := ddb.NewSummaries(r.db, r.names.Rollups, view)
	b := r.books
	b.mu.Lock()
	defer b.mu.Unlock()
	for i := range r.o.Counters {
		name := r.counter(i)
		sum, err := strong.Sum(ctx, name)
		if err != nil {
			return err
		}
		read, err := summaries.Read(ctx, []string{name}, time.Now())
		if err != nil {
			return err
		}
		if sum.Value.Cmp(big.NewInt(b.want[name])) != 0 {
			b.differ("counter %s: its write shards have %s, want %d", name, sum.Value, b.want[name])
		}
		if read[0].Value.Cmp(sum.Value) != 0 {
			b.differ("counter %s: its summary has %s, its write shards have %s", name, read[0].Value, sum.Value)
		}
	}
	for i := range mappings {
		if err := r.compareFailures(r.failureFile(i)); err != nil {
			return err
		}
	}
	if given := b.totals.GivenUp; given < mappings*r.poison {
		b.differ("%d poison records were given up by %d mappings, of %d", given, mappings, r.poison)
	}
	return nil
}

// maxFailure bounds a line of a failure file, in bytes.
const maxFailure = 16 << 20

// compareFailures wants only poison among the records that were given up. The
// caller holds the books' lock.
func (r *rig) compareFailures(path string) error {
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // nothing was given up
	}
	if err != nil {
		return fmt.Errorf("opening the failures: %w", err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxFailure)
	for lines.Scan() {
		var failure local.Failure
		if err := json.Unmarshal(lines.Bytes(), &failure); err != nil {
			return fmt.Errorf("reading a failure: %w", err)
		}
		r.givenUp(failure)
	}
	return lines.Err()
}

func (r *rig) givenUp(failure local.Failure) {
	var payload struct {
		Records []struct {
			Dynamodb struct{ Keys map[string]struct{ S string } } `json:"dynamodb"`
		}
	}
	if err := json.Unmarshal(failure.Payload, &payload); err != nil || len(payload.Records) == 0 {
		r.books.differ("a failure without records: %v", err)
	}
	prefix := schema.BaseKey{Type: schema.Counter, Name: poisonName}.String()
	for _, record := range payload.Records {
		r.books.totals.GivenUp++
		if pk := record.Dynamodb.Keys[schema.PK].S; !strings.HasPrefix(pk, prefix) {
			r.books.differ("a record of %s was given up: %s", pk, failure.RequestContext.Error)
		}
	}
}
