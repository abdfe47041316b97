package rollup

import (
	"context"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/memo"
	"github.com/hotshard/hotshard/internal/rollup/parts"
	"github.com/hotshard/hotshard/internal/schema"
)

// maxRevBytes bounds, roughly, the memory for revs that a container remembers.
const maxRevBytes = 32 << 20

// maxRounds bounds how often one fold starts over because another consumer of
// the same write shards was faster.
const maxRounds = 10

type folder struct {
	client dynamo.Updater
	table  string
	now    func() time.Time
	folded memo.Memo[map[int]*big.Int] // highest revs seen in a summary
}

func newFolder(client dynamo.Updater, table string, now func() time.Time) *folder {
	return &folder{
		client: client, table: table, now: now,
		folded: memo.Weighing(maxRevBytes, weighRevs),
	}
}

// weighRevs is about what the revs of a summary item take in memory.
func weighRevs(pk string, revs map[int]*big.Int) uint32 {
	const summary, rev = 200, 90
	return uint32(summary + len(pk) + rev*len(revs))
}

// fold brings a target up to these states of its sources, as far as this container
// doesn't remember that they were folded.
func (f *folder) fold(ctx context.Context, t *target) error {
	known, _ := f.folded.Get(t.pk)
	known, err := t.fold(ctx, f.client, f.table, f.now, known)
	if err == nil {
		f.remember(t, known)
	}
	return err
}

// fold brings a target up to these states of its sources, in one update. When the
// summary has a newer state of some of them already, the update is refused as a whole
// and made again without those. Known are the revs that the summary has, as far as that
// is known.
func (t *target) fold(ctx context.Context, client dynamo.Updater, table string, now func() time.Time, known map[int]*big.Int) (map[int]*big.Int, error) {
	err := dynamo.Guarded(ctx, client, maxRounds, func() (*dynamodb.UpdateItemInput, error) {
		drop(t.sources, known)
		if len(t.sources) == 0 {
			return nil, nil
		}
		return t.update(table, now()), nil
	}, func(found dynamo.Item) (err error) {
		known, err = revs(found)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("folding into %q: %w", t.pk, err)
	}
	return known, nil
}

// drop removes the sources that the summary has at least as new.
func drop(sources map[int]state, known map[int]*big.Int) {
	maps.DeleteFunc(sources, func(n int, s state) bool {
		return known[n] != nil && known[n].Cmp(s.rev) >= 0
	})
}

// remember notes what was written, in a copy: another fold may hold the old map.
func (f *folder) remember(t *target, known map[int]*big.Int) {
	merged := make(map[int]*big.Int, len(known)+len(t.sources))
	maps.Copy(merged, known)
	for n, s := range t.sources {
		merged[n] = s.rev
	}
	f.folded.Set(t.pk, merged)
}

// update is conditional on its own sources only, so that the folds of consumers
// with other sources of the same summary never refuse each other.
func (t *target) update(table string, now time.Time) *dynamodb.UpdateItemInput {
	sets := []string{"v = :v", schema.AsOf + " = :at"}
	var conditions []string
	values := map[string]types.AttributeValue{
		":v":  dynamo.Decimal(schema.SummaryVersion),
		":at": dynamo.Number(now.UnixMilli()),
	}
	if t.removes() {
		sets = append(sets, schema.Gone+" = :at")
	}
	for _, n := range slices.Sorted(maps.Keys(t.sources)) {
		rev, value := schema.RevAttr(n), schema.ValueAttr(n)
		sets = append(sets, rev+" = :"+rev, value+" = :"+value)
		conditions = append(conditions, "(attribute_not_exists("+rev+") OR "+rev+" < :"+rev+")")
		values[":"+rev] = dynamo.Decimal(t.sources[n].rev.String())
		values[":"+value] = dynamo.Decimal(t.sources[n].value)
	}
	return &dynamodb.UpdateItemInput{
		TableName:                 &table,
		Key:                       dynamo.Key(t.pk, schema.SoleSK),
		UpdateExpression:          aws.String("SET " + strings.Join(sets, ", ")),
		ConditionExpression:       aws.String(strings.Join(conditions, " AND ")),
		ExpressionAttributeValues: values,
	}
}

// revs reads the revs that a summary item holds.
func revs(item dynamo.Item) (map[int]*big.Int, error) {
	known := map[int]*big.Int{}
	for name := range item {
		n, err := strconv.Atoi(strings.TrimPrefix(name, "r"))
		if err != nil || schema.RevAttr(n) != name {
			continue
		}
		rev, whole := new(big.Int).SetString(dynamo.Digits(item, name), 10)
		if !whole {
			return nil, fmt.Errorf("%w: its %s is not a whole number", parts.ErrUnreadable, name)
		}
		known[n] = rev
	}
	return known, nil
}
