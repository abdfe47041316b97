package rollup

import (
	"context"
	"errors"
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
	"github.com/maypok86/otter/v2"

	"github.com/hotshard/hotshard/internal/rollup/attribute"
	"github.com/hotshard/hotshard/internal/schema"
)

// updater is what folds call of DynamoDB.
type updater interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
}

// maxRevBytes bounds, roughly, the memory for revs that a container remembers.
const maxRevBytes = 32 << 20

// maxRounds bounds how often one fold starts over because another consumer of
// the same write shards was faster.
const maxRounds = 10

type folder struct {
	client updater
	table  string
	now    func() time.Time
	folded *otter.Cache[string, map[int]*big.Int] // highest revs seen in a summary
}

func newFolder(client updater, table string, now func() time.Time) *folder {
	return &folder{
		client: client, table: table, now: now,
		folded: otter.Must(&otter.Options[string, map[int]*big.Int]{MaximumWeight: maxRevBytes, Weigher: weighRevs}),
	}
}

// weighRevs is about what the revs of a summary item take in memory.
func weighRevs(pk string, revs map[int]*big.Int) uint32 {
	const summary, rev = 200, 90
	return uint32(summary + len(pk) + rev*len(revs))
}

// fold brings a target up to these states of its sources, in one update. When
// the summary has a newer state of some of them already, the update is refused
// as a whole and made again without those.
func (f *folder) fold(ctx context.Context, t *target) error {
	known, _ := f.folded.GetIfPresent(t.pk)
	for range maxRounds {
		drop(t.sources, known)
		if len(t.sources) == 0 {
			return nil
		}
		_, err := f.client.UpdateItem(ctx, f.update(t))
		refused, conflict := errors.AsType[*types.ConditionalCheckFailedException](err)
		switch {
		case err == nil:
			f.remember(t, known)
			return nil
		case inTransaction(ctx, err):
			continue
		case !conflict:
			return fmt.Errorf("folding into %q: %w", t.pk, err)
		}
		if known, err = revs(refused.Item); err != nil {
			return fmt.Errorf("folding into %q: %w: %w", t.pk, errUnreadable, err)
		}
		f.folded.Set(t.pk, known)
	}
	return fmt.Errorf("folding into %q: others were faster %d times", t.pk, maxRounds)
}

// conflictPause is for how long a fold waits for a transaction that is changing its
// target: a merge, or a repair.
const conflictPause = 20 * time.Millisecond

// inTransaction tells whether an update met a transaction, which is over then.
func inTransaction(ctx context.Context, err error) bool {
	if _, ok := errors.AsType[*types.TransactionConflictException](err); !ok {
		return false
	}
	select {
	case <-ctx.Done():
	case <-time.After(conflictPause):
	}
	return true
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
func (f *folder) update(t *target) *dynamodb.UpdateItemInput {
	sets := []string{"v = :v", schema.AsOf + " = :at"}
	var conditions []string
	values := map[string]types.AttributeValue{
		":v":  &types.AttributeValueMemberN{Value: schema.SummaryVersion},
		":at": &types.AttributeValueMemberN{Value: strconv.FormatInt(f.now().UnixMilli(), 10)},
	}
	if t.removes() {
		sets = append(sets, schema.Gone+" = :at")
	}
	for _, n := range slices.Sorted(maps.Keys(t.sources)) {
		rev, value := schema.RevAttr(n), schema.ValueAttr(n)
		sets = append(sets, rev+" = :"+rev, value+" = :"+value)
		conditions = append(conditions, "(attribute_not_exists("+rev+") OR "+rev+" < :"+rev+")")
		values[":"+rev] = &types.AttributeValueMemberN{Value: t.sources[n].rev.String()}
		values[":"+value] = &types.AttributeValueMemberN{Value: t.sources[n].value}
	}
	return &dynamodb.UpdateItemInput{
		TableName:                           &f.table,
		Key:                                 attribute.Key(t.pk, schema.SoleSK),
		UpdateExpression:                    aws.String("SET " + strings.Join(sets, ", ")),
		ConditionExpression:                 aws.String(strings.Join(conditions, " AND ")),
		ExpressionAttributeValues:           values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}

// revs reads the revs that a summary item holds.
func revs(item map[string]types.AttributeValue) (map[int]*big.Int, error) {
	known := map[int]*big.Int{}
	for name, value := range item {
		n, err := strconv.Atoi(strings.TrimPrefix(name, "r"))
		if err != nil || schema.RevAttr(n) != name {
			continue
		}
		number, ok := value.(*types.AttributeValueMemberN)
		if !ok {
			return nil, fmt.Errorf("its %s is not a number", name)
		}
		rev, ok := new(big.Int).SetString(number.Value, 10)
		if !ok {
			return nil, fmt.Errorf("its %s is %q, not a whole number", name, number.Value)
		}
		known[n] = rev
	}
	return known, nil
}
