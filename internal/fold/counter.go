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
	"github.com/hotshard/hotshard/internal/base/kind"
	"github.com/hotshard/hotshard/internal/base/memo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/pkg/shard/client"
)

// state is the rev and value of a write shard after one of its writes.
type state struct {
	rev      *big.Int
	value    string
	removed  bool
	sequence string // of the stream record
}

// change is the new state of a counter's write shard in one record.
type change struct {
	counter string
	source  int
	state
}

// partial returns the key of the summary item that the change folds into.
func (c change) partial() string { return schema.SummaryKey(c.counter, c.source) }

// counterChanges are the changes of one batch.
type counterChanges struct{ changes []change }

// add adds a record of a counter's write shard, and ignores others.
func (n *counterChanges) add(r *ddbstream.Record) error {
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
		return fmt.Errorf("reading write shard %q: %w", pk, err)
	}
	n.changes = append(n.changes, change{key.Base.Name, key.Shard, s})
	return nil
}

func (n *counterChanges) jobs(d *delivery) (jobs []job) {
	for _, t := range newest(n.changes) {
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
	traits := kind.Of(key.Base.Type)
	t = schema.Target{Base: key.Base, Partial: key.Shard / schema.SourcesPerPartial}
	return t, err == nil && traits.Summary == kind.Partials && sk == traits.FoldedSK && key.Shard > 0
}

func counterStored(pk, sk string) (schema.Target, bool) {
	t, err := schema.ParseTarget(pk)
	return t, err == nil && sk == schema.SoleSK
}

// stateOf returns the state in the new image. A removed write shard has the value 0 and the rev after
// its last one. If it is created again, its rev starts at the clock's microseconds, which is higher.
func stateOf(r *ddbstream.Record) (state, error) {
	image, s := r.New, state{sequence: string(r.Sequence)}
	if r.Name == ddbstream.Remove {
		image = r.Old
	}
	digits, hasRev := image.Number("rev")
	value, hasValue := image.Number("value")
	if !hasRev || !hasValue {
		return s, errors.New("the item lacks rev or value")
	}
	rev, whole := new(big.Int).SetString(digits, 10)
	if !whole {
		return s, fmt.Errorf("rev %q is not a whole number", digits)
	}
	s.rev, s.value = rev, value
	if r.Name == ddbstream.Remove {
		s.rev, s.value, s.removed = rev.Add(rev, big.NewInt(1)), "0", true
	}
	return s, nil
}

// target is a summary item and the states to fold into it, by write shard.
type target struct {
	pk        string
	sources   map[int]state
	sequences []string // of all its records: if the fold fails, Lambda redelivers from the first
}

// removes reports whether some of the write shards were removed.
func (t *target) removes() bool {
	for _, s := range t.sources {
		if s.removed {
			return true
		}
	}
	return false
}

// newest groups changes by target and keeps the highest rev of each write shard.
func newest(changes []change) []*target {
	var targets []*target
	index := map[string]*target{}
	for _, c := range changes {
		pk := c.partial()
		t := index[pk]
		if t == nil {
			t = &target{pk: pk, sources: map[int]state{}}
			index[pk] = t
			targets = append(targets, t)
		}
		t.sequences = append(t.sequences, c.sequence)
		if old, ok := t.sources[c.source]; !ok || old.rev.Cmp(c.rev) < 0 {
			t.sources[c.source] = c.state
		}
	}
	return targets
}

// FoldRemoval folds the deletion of a counter's write shard into its summary item, as its stream
// record will: value 0 at the next rev. was is the deleted item. FoldRemoval does nothing for
// write shard 0, or if rev is not a whole number. The client needs UpdateItem only.
func FoldRemoval(ctx context.Context, client client.Updater, table string, of schema.Key, was dynamo.Item, now func() time.Time) error {
	rev, whole := new(big.Int).SetString(dynamo.Digits(was, "rev"), 10)
	if !whole || of.Shard == 0 {
		return nil
	}
	removed := state{rev: rev.Add(rev, big.NewInt(1)), value: "0", removed: true}
	t := &target{pk: schema.SummaryKey(of.Base.Name, of.Shard), sources: map[int]state{of.Shard: removed}}
	_, err := t.fold(ctx, client, table, now, nil)
	return err
}

// maxRevBytes is the approximate bound on the memory for cached revs in a container.
const maxRevBytes = 32 << 20

// maxRounds bounds how often one fold starts over after another fold of the same write shards.
const maxRounds = 10

type counterFolder struct {
	client client.Updater
	table  string
	now    func() time.Time
	folded memo.Memo[map[int]*big.Int] // by summary key: highest revs seen
}

func newCounterFolder(client client.Updater, table string, now func() time.Time) *counterFolder {
	return &counterFolder{
		client: client, table: table, now: now,
		folded: memo.Weighing(maxRevBytes, weighRevs),
	}
}

// weighRevs returns the approximate memory of a summary item's revs, in bytes.
func weighRevs(pk string, revs map[int]*big.Int) uint32 {
	const summary, rev = 200, 90
	return uint32(summary + len(pk) + rev*len(revs))
}

// fold folds the states that this container has not cached as folded.
func (f *counterFolder) fold(ctx context.Context, t *target) error {
	known, _ := f.folded.Get(t.pk)
	known, err := t.fold(ctx, f.client, f.table, f.now, known)
	if err == nil {
		f.cacheRevs(t, known)
	}
	return err
}

// fold folds the states in one update, and returns the revs that the summary has then. If the summary
// has a newer state of a write shard, the whole update fails its condition, and fold repeats it without
// that write shard. known has the cached revs of the summary.
func (t *target) fold(ctx context.Context, client client.Updater, table string, now func() time.Time, known map[int]*big.Int) (map[int]*big.Int, error) {
	err := dynamo.Guarded(ctx, client, maxRounds, func() (*dynamodb.UpdateItemInput, error) {
		dropFolded(t.sources, known)
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

// dropFolded removes the sources whose state in the summary is as new or newer.
func dropFolded(sources map[int]state, known map[int]*big.Int) {
	maps.DeleteFunc(sources, func(n int, s state) bool {
		return known[n] != nil && known[n].Cmp(s.rev) >= 0
	})
}

// cacheRevs caches the written revs, in a copy: another fold may hold the old map.
func (f *counterFolder) cacheRevs(t *target, known map[int]*big.Int) {
	merged := make(map[int]*big.Int, len(known)+len(t.sources))
	maps.Copy(merged, known)
	for n, s := range t.sources {
		merged[n] = s.rev
	}
	f.folded.Set(t.pk, merged)
}

// update returns an update whose condition covers only its own sources. So folds of other sources
// into the same summary never fail each other's conditions.
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

// revs returns the revs that a summary item has, by write shard.
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
