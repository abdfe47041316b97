package folds

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"os"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/counters"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// compare holds each counter's summary against the sum of its write shards, and
// that against the books; then the events; and wants that nothing was given up.
func (r *system) compare(ctx context.Context) error {
	view := shardmap.New(r.DB, r.Names.ShardMap, shardmap.Options{})
	strong := counters.NewReader(r.DB, r.Names.Items, view)
	summaries := counters.NewSummaries(r.DB, r.Names.Rollups, view)
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
			b.differ("counter %s: its summary has %s, its write shards have %s: %s", name, read[0].Value, sum.Value, r.revs(ctx, name))
		}
	}
	if err := r.compareEvents(ctx); err != nil {
		return err
	}
	for i := range mappings {
		if err := r.compareFailures(r.FailureFile(mappingName(i))); err != nil {
			return err
		}
	}
	return nil
}

// revs shows the write shards of a counter that its summary has with another rev.
func (r *system) revs(ctx context.Context, counter string) string {
	var b strings.Builder
	for n := range maxCount {
		pk := schema.Key{Base: schema.BaseKey{Type: schema.Counter, Name: counter}, Shard: n}.String()
		source := r.get(ctx, r.Names.Items, pk)
		summary := r.get(ctx, r.Names.Rollups, schema.SummaryKey(counter, n))
		rev, folded := digitsOf(source["rev"]), digitsOf(summary[schema.RevAttr(n)])
		if source != nil && rev != folded {
			fmt.Fprintf(&b, "write shard %d has %s at rev %s and was folded at rev %s; ", n, digitsOf(source["value"]), rev, folded)
		}
	}
	return b.String()
}

// get reads an item for a description; nil if there is none.
func (r *system) get(ctx context.Context, table, pk string) item {
	out, err := r.DB.GetItem(ctx, &dynamodb.GetItemInput{TableName: &table, Key: rig.Key(pk, schema.SoleSK)})
	if err != nil {
		return nil
	}
	return out.Item
}

func digitsOf(value types.AttributeValue) string {
	n, ok := value.(*types.AttributeValueMemberN)
	if !ok {
		return "none"
	}
	return n.Value
}

// maxFailureShown bounds what is shown of a failure file, in bytes.
const maxFailureShown = 2000

// compareFailures wants no records that a mapping gave up: what can't be folded is
// the aggregator's to deal with. The caller holds the books' lock.
func (r *system) compareFailures(path string) error {
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("reading the failures of a mapping: %w", err)
	}
	r.books.differ("a mapping gave up records: %s", text[:min(len(text), maxFailureShown)])
	return nil
}
