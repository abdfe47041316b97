package fold

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

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// State is the state of a counter's write shard after a write.
type State struct {
	Rev     *big.Int
	Value   string // a number's digits
	Removed bool   // the write removed the write shard
}

// NewState returns the state with a rev and a value. It returns an error if the rev is not a whole number.
func NewState(rev, value string) (s State, err error) {
	n, whole := new(big.Int).SetString(rev, 10)
	if !whole {
		return s, fmt.Errorf("rev %q is not a whole number", rev)
	}
	return State{Rev: n, Value: value}, nil
}

// Removal returns the state after the removal of the write shard: value 0 at the next rev.
func (s State) Removal() State {
	return State{Rev: new(big.Int).Add(s.Rev, big.NewInt(1)), Value: "0", Removed: true}
}

// counterChanges has the changes of one batch by the partition key of the partial.
type counterChanges map[string]*partialChange

// addRecord adds a record of a counter's write shard other than 0, and ignores all other records.
func (c counterChanges) addRecord(r *ddbstream.Record) error {
	pk, _ := r.Keys.String(schema.PK)
	sk, _ := r.Keys.String(schema.SK)
	if _, ok := counterTarget(pk, sk); !ok {
		return nil
	}
	key, err := schema.ParseKey(pk)
	if err != nil {
		return err
	}
	s, err := stateOf(r)
	if err != nil {
		return fmt.Errorf("a record of write shard %q: %w", pk, err)
	}
	t := c.addState(key.Base.Name, key.Shard, s)
	t.sequences = append(t.sequences, string(r.Sequence))
	return nil
}

// addState adds a state of a write shard, unless one with at least its rev was added. It returns its partial's change.
func (c counterChanges) addState(counter string, writeShard int, s State) *partialChange {
	pk := schema.SummaryKey(counter, writeShard)
	if c[pk] == nil {
		c[pk] = &partialChange{pk: pk, sources: map[int]State{}}
	}
	t := c[pk]
	if old, ok := t.sources[writeShard]; !ok || old.Rev.Cmp(s.Rev) < 0 {
		t.sources[writeShard] = s
	}
	return t
}

func (c counterChanges) jobs(d *delivery) (jobs []job) {
	for _, t := range c {
		jobs = append(jobs, job{
			target:    t.pk,
			fold:      func(ctx context.Context) error { return d.counters.fold(ctx, t) },
			sequences: func() []string { return t.sequences },
		})
	}
	return jobs
}

// counterTarget returns the partial that has the state of a counter's write shard. ok is false for write shard 0, which
// is never folded, and for other items.
func counterTarget(pk, sk string) (t schema.Target, ok bool) {
	key, err := schema.ParseKey(pk)
	traits := schema.TraitsOf(key.Base.Type)
	t = schema.Target{Base: key.Base, Partial: key.Shard / schema.SourcesPerPartial}
	return t, err == nil && traits.Summary == schema.PartialSummary && sk == traits.FoldedSK && key.Shard > 0
}

func storedCounterTarget(pk, sk string) (schema.Target, bool) {
	t, err := schema.ParseTarget(pk)
	return t, err == nil && sk == schema.SoleSK
}

// stateOf returns the state of a write shard after a record. A removed write shard has the value 0 and the rev after its
// last one. If it is created again, its first rev is higher: the clock's time in microseconds.
func stateOf(r *ddbstream.Record) (State, error) {
	image := r.New
	if r.Name == ddbstream.Remove {
		image = r.Old
	}
	rev, hasRev := image.Number("rev")
	value, hasValue := image.Number("value")
	if !hasRev || !hasValue {
		return State{}, errors.New("its image lacks rev or value")
	}
	s, err := NewState(rev, value)
	if err == nil && r.Name == ddbstream.Remove {
		s = s.Removal()
	}
	return s, err
}

// partialChange has the newest states of a batch to fold into a partial of a counter's summary.
type partialChange struct {
	pk        string        // of the partial
	sources   map[int]State // by write shard
	sequences []string      // sequence numbers of the records, in stream order
}

// FoldStates folds states, by write shard, into a counter's summary. The summary then has these or newer states. The client
// needs UpdateItem only.
func FoldStates(ctx context.Context, client client.Updater, table, counter string, states map[int]State, now func() time.Time) error {
	changes := counterChanges{}
	for n, s := range states {
		changes.addState(counter, n, s)
	}
	for _, t := range changes {
		if _, err := t.fold(ctx, client, table, now, nil); err != nil {
			return err
		}
	}
	return nil
}

// maxRevBytes is the approximate bound on the memory for cached revs in a container.
const maxRevBytes = 32 << 20

// maxRounds bounds the attempts of one fold. Another fold of the same write shards makes an attempt fail.
const maxRounds = 10

// counterFolder folds states. It caches the revs that it has folded, so that a redelivered batch writes nothing.
type counterFolder struct {
	client client.Updater
	table  string
	now    func() time.Time
	folded dynamo.Cache[map[int]*big.Int] // by the partial's key: folded revs by write shard; the maps are never changed
}

func newCounterFolder(client client.Updater, table string, now func() time.Time) *counterFolder {
	const summary, rev = 200, 90 // approximate bytes in memory: of a summary without revs, and of each rev
	return &counterFolder{client, table, now, dynamo.NewWeightedCache(maxRevBytes, func(pk string, revs map[int]*big.Int) uint32 {
		return uint32(summary + len(pk) + rev*len(revs))
	})}
}

// fold folds the states that are newer than those in the cache.
func (f *counterFolder) fold(ctx context.Context, t *partialChange) error {
	known, _ := f.folded.Get(t.pk)
	known, err := t.fold(ctx, f.client, f.table, f.now, known)
	if err == nil {
		f.folded.Set(t.pk, known)
	}
	return err
}

// fold folds the states in one update, and returns the revs that the partial then has. known has revs that the partial has
// already. If the partial has a newer state of a write shard, the update fails its condition, and fold makes another update
// without that write shard.
func (t *partialChange) fold(ctx context.Context, client client.Updater, table string, now func() time.Time, known map[int]*big.Int) (map[int]*big.Int, error) {
	err := dynamo.UpdateGuarded(ctx, client, maxRounds, func() (*dynamodb.UpdateItemInput, error) {
		maps.DeleteFunc(t.sources, func(n int, s State) bool { return known[n] != nil && known[n].Cmp(s.Rev) >= 0 })
		if len(t.sources) == 0 {
			return nil, nil
		}
		return t.update(table, now()), nil
	}, func(found dynamo.Item) (err error) {
		known, err = parseRevs(found)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("folding into %q: %w", t.pk, err)
	}
	folded := make(map[int]*big.Int, len(known)+len(t.sources))
	maps.Copy(folded, known)
	for n, s := range t.sources {
		folded[n] = s.Rev
	}
	return folded, nil
}

// update returns the update that stores the states. Its condition has only the write shards of these states, so folds of
// different write shards never fail each other's conditions.
func (t *partialChange) update(table string, now time.Time) *dynamodb.UpdateItemInput {
	sets := []string{"v = :v", schema.AsOf + " = :at"}
	var conditions []string
	values := map[string]types.AttributeValue{
		":v":  dynamo.Decimal(schema.SummaryVersion),
		":at": dynamo.Number(now.UnixMilli()),
	}
	if slices.ContainsFunc(slices.Collect(maps.Values(t.sources)), func(s State) bool { return s.Removed }) {
		sets = append(sets, schema.Gone+" = :at")
	}
	for _, n := range slices.Sorted(maps.Keys(t.sources)) {
		rev, value := schema.RevAttr(n), schema.ValueAttr(n)
		sets = append(sets, rev+" = :"+rev, value+" = :"+value)
		conditions = append(conditions, "(attribute_not_exists("+rev+") OR "+rev+" < :"+rev+")")
		values[":"+rev] = dynamo.Decimal(t.sources[n].Rev.String())
		values[":"+value] = dynamo.Decimal(t.sources[n].Value)
	}
	return &dynamodb.UpdateItemInput{
		TableName:                 &table,
		Key:                       dynamo.Key(t.pk, schema.SoleSK),
		UpdateExpression:          aws.String("SET " + strings.Join(sets, ", ")),
		ConditionExpression:       aws.String(strings.Join(conditions, " AND ")),
		ExpressionAttributeValues: values,
	}
}

// parseRevs returns the revs in a partial, by write shard. It returns an ErrUnreadable if a rev is not a whole number.
func parseRevs(item dynamo.Item) (map[int]*big.Int, error) {
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
