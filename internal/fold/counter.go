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

// State is the rev and value of a counter's write shard after one of its writes.
type State struct {
	Rev     *big.Int
	Value   string
	Removed bool
}

// NewState returns the state of a rev, which must be a whole number, and a value.
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

// counterChanges are the changes of one batch, by the key of the summary item.
type counterChanges map[string]*target

// addRecord adds a record of a counter's write shard other than 0, and ignores all other records.
func (c counterChanges) addRecord(r *ddbstream.Record) error {
	pk, _ := r.Keys.String(schema.PK)
	sk, _ := r.Keys.String(schema.SK)
	if _, ok := counterTarget(Rules{}, pk, sk); !ok {
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

// addState adds a state of a write shard, unless a newer one was added, and returns its target.
func (c counterChanges) addState(counter string, writeShard int, s State) *target {
	pk := schema.SummaryKey(counter, writeShard)
	if c[pk] == nil {
		c[pk] = &target{pk: pk, sources: map[int]State{}}
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
			fold:      func(ctx context.Context) error { return d.folder.fold(ctx, t) },
			sequences: func() []string { return t.sequences },
		})
	}
	return jobs
}

// counterTarget returns the partial that has the state of a counter's write shard. ok is false for
// write shard 0, which is never folded.
func counterTarget(_ Rules, pk, sk string) (t schema.Target, ok bool) {
	key, err := schema.ParseKey(pk)
	traits := schema.TraitsOf(key.Base.Type)
	t = schema.Target{Base: key.Base, Partial: key.Shard / schema.SourcesPerPartial}
	return t, err == nil && traits.Summary == schema.PartialSummary && sk == traits.FoldedSK && key.Shard > 0
}

func storedCounterTarget(pk, sk string) (schema.Target, bool) {
	t, err := schema.ParseTarget(pk)
	return t, err == nil && sk == schema.SoleSK
}

// stateOf returns the state in the new image. A removed write shard has the value 0 and the rev after
// its last one. If it is created again, its rev starts at the clock's microseconds, which is higher.
func stateOf(r *ddbstream.Record) (State, error) {
	image := r.New
	if r.Name == ddbstream.Remove {
		image = r.Old
	}
	rev, hasRev := image.Number("rev")
	value, hasValue := image.Number("value")
	if !hasRev || !hasValue {
		return State{}, errors.New("the item lacks rev or value")
	}
	s, err := NewState(rev, value)
	if err == nil && r.Name == ddbstream.Remove {
		s = s.Removal()
	}
	return s, err
}

// target is a summary item, and for each write shard the state with the highest rev, to fold into the item.
type target struct {
	pk        string
	sources   map[int]State
	sequences []string // of all its records: if the fold fails, Lambda redelivers from the first
}

// FoldStates folds states of a counter's write shards into its summary, as their stream records will. The
// summary then has them or newer ones. The client needs UpdateItem only.
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

// maxRounds bounds how often one fold starts over after another fold of the same write shards.
const maxRounds = 10

// counterFolder folds states, and caches what it has folded, so that a redelivered batch writes nothing again.
type counterFolder struct {
	client client.Updater
	table  string
	now    func() time.Time
	folded dynamo.Cache[map[int]*big.Int] // by summary key: highest revs seen; the maps are never changed
}

func newCounterFolder(client client.Updater, table string, now func() time.Time) *counterFolder {
	const summary, rev = 200, 90 // bytes
	return &counterFolder{client, table, now, dynamo.NewWeightedCache(maxRevBytes, func(pk string, revs map[int]*big.Int) uint32 {
		return uint32(summary + len(pk) + rev*len(revs))
	})}
}

// fold folds the states that this container has not cached as folded.
func (f *counterFolder) fold(ctx context.Context, t *target) error {
	known, _ := f.folded.Get(t.pk)
	known, err := t.fold(ctx, f.client, f.table, f.now, known)
	if err == nil {
		f.folded.Set(t.pk, known)
	}
	return err
}

// fold folds the states in one update, and returns the revs that the summary has then. known has revs that the
// summary has for certain. If the summary has a newer state of a write shard, the whole update fails its
// condition, and fold repeats it without that write shard.
func (t *target) fold(ctx context.Context, client client.Updater, table string, now func() time.Time, known map[int]*big.Int) (map[int]*big.Int, error) {
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

// update returns an update whose condition covers only the write shards of t. So folds of other sources
// into the same summary never fail each other's conditions.
func (t *target) update(table string, now time.Time) *dynamodb.UpdateItemInput {
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

// parseRevs returns the revs that a summary item has, by write shard.
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
