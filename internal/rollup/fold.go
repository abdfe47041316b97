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

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// Client is what folds call of DynamoDB. They write by UpdateItem, and read tops of
// boards by GetItem. The rest is for notes of boards, and for reading entries, the
// settings and the index of boards with the shard map.
type Client interface {
	UpdateItem(context.Context, *dynamodb.UpdateItemInput, ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error)
	ddb.BoardClient
	ddb.MapClient
}

// maxRemembered bounds the summary items whose revs a container remembers.
const maxRemembered = 20_000

// maxRounds bounds how often one fold starts over because another consumer of
// the same write shards was faster.
const maxRounds = 10

type folder struct {
	client Client
	table  string
	now    func() time.Time
	folded *otter.Cache[string, map[int]*big.Int] // highest revs seen in a summary
}

func newFolder(client Client, table string, now func() time.Time) *folder {
	return &folder{
		client: client, table: table, now: now,
		folded: otter.Must(&otter.Options[string, map[int]*big.Int]{MaximumSize: maxRemembered}),
	}
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
		case !conflict:
			return fmt.Errorf("folding into %q: %w", t.pk, err)
		}
		if known, err = revs(refused.Item); err != nil {
			return fmt.Errorf("folding into %q: %w: %w", t.pk, errUnreadable, err)
		}
	}
	return fmt.Errorf("folding into %q: others were faster %d times", t.pk, maxRounds)
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
		Key:                                 itemKey(t.pk, schema.SoleSK),
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
