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

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
)

// mending is what a summary is to have of a write shard instead of what it had.
type mending struct {
	n    int
	was  *state // nil for nothing
	now  state
	gone bool // the write shard is
}

// repair writes what the summary should have of the sources that can be repaired,
// in one update for each partial, and marks their findings. again is true when
// something had changed since it was read.
func (c *counters) repair(ctx context.Context, name string, sources []source, findings []Finding) (again bool, err error) {
	byPartial := map[string][]mending{}
	for _, s := range sources {
		m, refused, err := c.mend(ctx, name, s)
		if err != nil {
			return false, err
		}
		if again = again || refused; m != nil {
			pk := schema.SummaryKey(name, s.n)
			byPartial[pk] = append(byPartial[pk], *m)
		}
	}
	for pk, list := range byPartial {
		refused, err := c.update(ctx, c.change(pk, list))
		if err != nil {
			return false, fmt.Errorf("repairing %q: %w", pk, err)
		}
		if refused {
			again = true
			continue
		}
		for i, f := range findings {
			if slices.ContainsFunc(list, func(m mending) bool { return m.n == *f.WriteShard }) {
				findings[i].Repaired = true
			}
		}
	}
	return again, nil
}

var one = big.NewInt(1)

// mend says what the summary should have of a source, nil if nothing else, or if
// that can't be told. A source that is behind its summary is raised above it first,
// so that what is added to it later is folded; refused is that it had changed.
func (c *counters) mend(ctx context.Context, name string, s source) (m *mending, refused bool, err error) {
	switch s.judge() {
	case Stale, Wrong:
		return &mending{n: s.n, was: s.summary, now: *s.item}, false, nil
	case Removed:
		return &mending{s.n, s.summary, state{new(big.Int).Add(s.summary.rev, one), new(big.Int)}, true}, false, nil
	case Ahead:
		above := new(big.Int).Add(s.summary.rev, one)
		if refused, err = c.raise(ctx, sourceKey(name, s.n), s.item.rev, above); refused || err != nil {
			return nil, refused, err
		}
		return &mending{n: s.n, was: s.summary, now: state{above, s.item.value}}, false, nil
	}
	return nil, false, nil
}

// raise gives a write shard another rev, on condition that it has the one as read.
func (c *counters) raise(ctx context.Context, pk string, from, to *big.Int) (refused bool, err error) {
	refused, err = c.update(ctx, &dynamodb.UpdateItemInput{
		TableName: &c.o.Names.Items, Key: dynamo.Key(pk, schema.SoleSK),
		UpdateExpression:          aws.String("SET rev = :rev"),
		ConditionExpression:       aws.String("rev = :was"),
		ExpressionAttributeValues: item{":rev": number(to), ":was": number(from)},
	})
	if err != nil {
		return false, fmt.Errorf("raising the rev of %q: %w", pk, err)
	}
	return refused, nil
}

// change brings a partial to new states, on condition that it has the old ones.
func (c *counters) change(pk string, list []mending) *dynamodb.UpdateItemInput {
	sets := []string{"v = :v", schema.AsOf + " = :at"}
	var conditions []string
	values := item{
		":v":  dynamo.Decimal(schema.SummaryVersion),
		":at": dynamo.Number(c.o.Now().UnixMilli()),
	}
	if slices.ContainsFunc(list, func(m mending) bool { return m.gone }) {
		sets = append(sets, schema.Gone+" = :at")
	}
	for _, m := range list {
		rev, value := schema.RevAttr(m.n), schema.ValueAttr(m.n)
		sets = append(sets, rev+" = :"+rev, value+" = :"+value)
		values[":"+rev], values[":"+value] = number(m.now.rev), number(m.now.value)
		if m.was == nil {
			conditions = append(conditions, "attribute_not_exists("+rev+")")
			continue
		}
		conditions = append(conditions, rev+" = :p"+rev, value+" = :p"+value)
		values[":p"+rev], values[":p"+value] = number(m.was.rev), number(m.was.value)
	}
	return &dynamodb.UpdateItemInput{
		TableName: &c.o.Names.Rollups, Key: dynamo.Key(pk, schema.SoleSK),
		UpdateExpression:          aws.String("SET " + strings.Join(sets, ", ")),
		ConditionExpression:       aws.String(strings.Join(conditions, " AND ")),
		ExpressionAttributeValues: values,
	}
}

func number(n *big.Int) types.AttributeValue {
	return dynamo.Decimal(n.String())
}
