package audit

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// change replaces a write shard's state in a summary. It removes that of write shard 0.
type change struct {
	n    int
	was  *state // the summary's state; nil if there is none
	now  state  // the item's state; unused for write shard 0
	gone bool   // the write shard's item is gone
}

// repair writes the right states of the sources that can be repaired, in one update for each
// partial, and marks their findings. It reports again if something had changed since it was read.
func (c *counters) repair(ctx context.Context, name string, sources []source, findings []Finding) (again bool, err error) {
	byPartial := map[string][]change{}
	for _, s := range sources {
		m, moved, err := c.changeOf(ctx, name, s)
		if err != nil {
			return false, err
		}
		if again = again || moved; m != nil {
			pk := schema.SummaryKey(name, s.n)
			byPartial[pk] = append(byPartial[pk], *m)
		}
	}
	for pk, list := range byPartial {
		moved, err := c.update(ctx, c.repairOf(pk, list))
		if err != nil {
			return false, fmt.Errorf("repairing %q: %w", pk, err)
		}
		if moved {
			again = true
			continue
		}
		for i, f := range findings {
			if slices.ContainsFunc(list, func(c change) bool { return c.n == *f.WriteShard }) {
				findings[i].Repaired = true
			}
		}
	}
	return again, nil
}

var one = big.NewInt(1)

// changeOf returns the change that repairs the summary for a source, or nil if none is needed or safe. If the item is
// behind its summary, changeOf first raises the item's rev above it, so that later writes are folded. moved means that the
// item has changed.
func (c *counters) changeOf(ctx context.Context, name string, s source) (m *change, moved bool, err error) {
	switch found := s.judge(); {
	case s.n == 0 && found == Wrong:
		return &change{n: 0, was: s.summary}, false, nil
	case found == Stale, found == Wrong:
		return &change{n: s.n, was: s.summary, now: *s.item}, false, nil
	case found == Removed:
		return &change{s.n, s.summary, state{new(big.Int).Add(s.summary.rev, one), new(big.Int)}, true}, false, nil
	case found == Ahead:
		above := new(big.Int).Add(s.summary.rev, one)
		if moved, err = c.raise(ctx, name, s, above); moved || err != nil {
			return nil, moved, err
		}
		return &change{n: s.n, was: s.summary, now: state{above, s.item.value}}, false, nil
	}
	return nil, false, nil
}

// raise sets the rev of a write shard. moved means that the item no longer has the rev that was read.
func (c *counters) raise(ctx context.Context, name string, s source, to *big.Int) (moved bool, err error) {
	pk, sk := schema.CounterKey(name, s.n)
	moved, err = c.update(ctx, &dynamodb.UpdateItemInput{
		TableName: &c.o.Names.Items, Key: dynamo.Key(pk, sk),
		UpdateExpression:          aws.String("SET rev = :rev"),
		ConditionExpression:       aws.String("rev = :was"),
		ExpressionAttributeValues: item{":rev": number(to), ":was": number(s.item.rev)},
	})
	if err != nil {
		return false, fmt.Errorf("raising the rev of %q: %w", pk, err)
	}
	return moved, nil
}

// repairOf returns the update that gives a partial its new states, if it still has the old ones.
func (c *counters) repairOf(pk string, list []change) *dynamodb.UpdateItemInput {
	sets := []string{"v = :v", schema.AsOf + " = :at"}
	var removes string
	var conditions []string
	values := item{
		":v":  dynamo.Decimal(schema.SummaryVersion),
		":at": dynamo.Number(c.o.Now().UnixMilli()),
	}
	if slices.ContainsFunc(list, func(c change) bool { return c.gone }) {
		sets = append(sets, schema.Gone+" = :at")
	}
	for _, m := range list {
		rev, value := schema.RevAttr(m.n), schema.ValueAttr(m.n)
		if m.n == 0 {
			removes = " REMOVE " + rev + ", " + value
		} else {
			sets = append(sets, rev+" = :"+rev, value+" = :"+value)
			values[":"+rev], values[":"+value] = number(m.now.rev), number(m.now.value)
		}
		if m.was == nil {
			conditions = append(conditions, "attribute_not_exists("+rev+")")
			continue
		}
		conditions = append(conditions, rev+" = :p"+rev, value+" = :p"+value)
		values[":p"+rev], values[":p"+value] = number(m.was.rev), number(m.was.value)
	}
	return &dynamodb.UpdateItemInput{
		TableName: &c.o.Names.Rollups, Key: dynamo.Key(pk, schema.SoleSK),
		UpdateExpression:          aws.String("SET " + strings.Join(sets, ", ") + removes),
		ConditionExpression:       aws.String(strings.Join(conditions, " AND ")),
		ExpressionAttributeValues: values,
	}
}

func number(n *big.Int) types.AttributeValue {
	return dynamo.Decimal(n.String())
}
