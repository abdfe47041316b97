package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// Bounds of what happens to the system as a whole in one run.
const (
	calmTime   = 150 * time.Millisecond // between two upheavals, at most
	maxStreams = 9                      // open stream shards: each costs a read of the whole stream
	maxPoison  = 6
	maxCount   = 90 // write shards: two partials
)

// upheave changes the system until ctx ends, or too much has changed.
func (r *rig) upheave(ctx context.Context, kill chan<- struct{}) error {
	for {
		pause := time.Duration(r.faults.intN(int(calmTime)))
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(pause):
		}
		var err error
		switch n := r.faults.intN(100); {
		case n < 15:
			err = r.endStreamShard(split)
		case n < 40:
			err = r.endStreamShard(rotated)
		case n < 75:
			err = r.changeCount(ctx)
		case n < 85:
			err = r.putPoison(ctx)
		default:
			select {
			case kill <- struct{}{}:
			case <-ctx.Done():
			}
		}
		if err != nil && ctx.Err() == nil {
			return err
		}
	}
}

// endStreamShard splits or rotates an open stream shard.
func (r *rig) endStreamShard(how fault) error {
	virtual := r.virtual.Load()
	live := virtual.Live()
	if len(live) == 0 || len(virtual.Plan().Shards) > 500 {
		return nil
	}
	id := live[r.faults.intN(len(live))]
	end := virtual.Rotate
	if how == split && len(live) < maxStreams {
		end = virtual.Split
	} else {
		how = rotated
	}
	if err := end(id); err != nil {
		return err
	}
	r.faults.count(how)
	return nil
}

// changeCount gives a counter another shard count, up or down.
func (r *rig) changeCount(ctx context.Context) error {
	base := schema.BaseKey{Type: schema.Counter, Name: r.counter(r.faults.intN(min(20, r.o.Counters)))}
	count := 1 + r.faults.intN(8)
	if r.faults.intN(6) == 0 {
		count = 1 + r.faults.intN(maxCount)
	}
	_, err := r.changer.Pin(ctx, base.String(), count, ddb.Note{By: "harness", Why: "on purpose"}, time.Now())
	if errors.Is(err, ddb.ErrNoChange) {
		return nil
	}
	if err == nil {
		r.faults.count(counted)
	}
	return err
}

// putPoison puts an item that looks like a counter's and can't be folded.
func (r *rig) putPoison(ctx context.Context) error {
	if r.poison >= maxPoison {
		return nil
	}
	pk := schema.Key{Base: schema.BaseKey{Type: schema.Counter, Name: fmt.Sprint(poisonName, r.poison)}}.String()
	whole := context.WithoutCancel(ctx) // one that is cut off may be there, uncounted
	_, err := r.db.PutItem(whole, &dynamodb.PutItemInput{TableName: &r.names.Items, Item: map[string]types.AttributeValue{
		schema.PK: &types.AttributeValueMemberS{Value: pk}, schema.SK: &types.AttributeValueMemberS{Value: schema.SoleSK},
		"rev": &types.AttributeValueMemberN{Value: "1"},
	}})
	if err != nil {
		return fmt.Errorf("putting a poison record: %w", err)
	}
	r.poison++
	r.faults.count(poisoned)
	return nil
}

const poisonName = "poison"
