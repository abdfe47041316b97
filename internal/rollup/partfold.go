package rollup

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/maypok86/otter/v2"

	"github.com/hotshard/hotshard/internal/rollup/attribute"
	"github.com/hotshard/hotshard/internal/schema"
)

// part is what one stream shard contributed to a rollup: an item of its own, guarded
// by the sequence number of the last record that was folded.
type part interface {
	// seq is that number as text that sorts; "" for a part that is not there yet.
	seq() string
	// Attributes is the part as it is stored, without its keys, its TTL and the time
	// of the fold.
	Attributes() map[string]types.AttributeValue
}

// partKey names an item.
type partKey struct{ pk, sk string }

// partJob is what is to be folded into a part.
type partJob[P part] struct {
	partKey
	streamShard string
	what        string    // is folded, for errors
	expires     time.Time // zero for never
	// advance returns the part after the job's records, and whether any of them was
	// new to it. It doesn't change the part that it is given.
	advance func(P) (P, bool)
}

// partFolder folds records into parts of one kind.
type partFolder[P part] struct {
	client updater
	table  string
	now    func() time.Time
	parse  func(map[string]types.AttributeValue) (P, error)
	parts  *otter.Cache[partKey, P] // as they were written or found last; not changed
}

// maxPartBytes bounds, roughly, the memory for parts of one kind that a container
// remembers.
const maxPartBytes = 16 << 20

func newPartFolder[P part](client updater, table string, now func() time.Time, parse func(map[string]types.AttributeValue) (P, error), weigh func(P) int) partFolder[P] {
	const item = 300
	return partFolder[P]{
		client: client, table: table, now: now, parse: parse,
		parts: otter.Must(&otter.Options[partKey, P]{
			MaximumWeight: maxPartBytes,
			Weigher:       func(key partKey, p P) uint32 { return uint32(item + len(key.pk) + len(key.sk) + weigh(p)) },
		}),
	}
}

// errNoStreamShard: without it a record's sequence number says nothing about what
// was folded before.
var errNoStreamShard = errors.New("event rollups and boards need an event source mapping with a tumbling window: this one does not name its stream shard")

// fold adds the records that the part does not have yet, in one update. The
// condition is that the part is as this container remembers it: a failed one
// returns the part as it is, and what lies beyond its sequence number is then
// added to that.
func (f *partFolder[P]) fold(ctx context.Context, j partJob[P]) error {
	if j.streamShard == "" {
		return errNoStreamShard
	}
	fault := func(err error) error { return fmt.Errorf("folding %s into %q, %q: %w", j.what, j.pk, j.sk, err) }
	known, _ := f.parts.GetIfPresent(j.partKey)
	for range maxRounds {
		next, news := j.advance(known)
		if !news {
			return nil
		}
		_, err := f.client.UpdateItem(ctx, f.update(j, known.seq(), next))
		refused, conflict := errors.AsType[*types.ConditionalCheckFailedException](err)
		switch {
		case err == nil:
			f.parts.Set(j.partKey, next)
			return nil
		case inTransaction(ctx, err):
			continue
		case !conflict:
			return fault(err)
		}
		if known, err = f.found(refused.Item); err != nil {
			return fault(fmt.Errorf("%w: %w", errUnreadable, err))
		}
		f.parts.Set(j.partKey, known)
	}
	return fault(fmt.Errorf("others were faster %d times", maxRounds))
}

// found reads the part that refused an update; there may be none any more.
func (f *partFolder[P]) found(item map[string]types.AttributeValue) (none P, err error) {
	if len(item) == 0 {
		return none, nil
	}
	return f.parse(item)
}

// update writes the part anew. Its old sequence number stands for all that it was.
func (f *partFolder[P]) update(j partJob[P], was string, next P) *dynamodb.UpdateItemInput {
	attributes, remove := next.Attributes(), " REMOVE "+schema.ExpiresAt
	attributes[schema.AsOf] = attribute.Number(f.now().UnixMilli())
	if !j.expires.IsZero() {
		remove = ""
		attributes[schema.ExpiresAt] = attribute.Number(j.expires.Unix())
	}
	values := map[string]types.AttributeValue{}
	var sets []string
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		sets = append(sets, name+" = :"+name)
		values[":"+name] = attributes[name]
	}
	condition := "attribute_not_exists(" + schema.RollupSequence + ")"
	if was != "" {
		condition = schema.RollupSequence + " = :was"
		values[":was"] = &types.AttributeValueMemberS{Value: was}
	}
	return &dynamodb.UpdateItemInput{
		TableName:                           &f.table,
		Key:                                 attribute.Key(j.pk, j.sk),
		UpdateExpression:                    aws.String("SET " + strings.Join(sets, ", ") + remove),
		ConditionExpression:                 &condition,
		ExpressionAttributeValues:           values,
		ReturnValuesOnConditionCheckFailure: types.ReturnValuesOnConditionCheckFailureAllOld,
	}
}
