package watching

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/dynamo"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Transactions tells a watcher what becomes of transactions, and learns why one was
// throttled, which its error does not say.
type Transactions struct {
	client dynamo.Putter
	table  string
	shards *shardmap.Map
	Watch  shardmap.Watcher

	mu     sync.Mutex
	probed map[string]probed // by base key
}

func New(client dynamo.Putter, table string, shards *shardmap.Map, watch shardmap.Watcher) *Transactions {
	return &Transactions{client: client, table: table, shards: shards, Watch: Or(watch), probed: map[string]probed{}}
}

// load is what one action of a transaction asks of its write shard; the zero value of an
// action that asks nothing of any.
type load struct {
	shardmap.Attempt
	item  uint64      // the hash of its item, 0 where places are random
	id    string      // of a session: its place follows from that
	probe dynamo.Item // goes where the write shard is
	index bool        // the write shard is in an index
	moves bool        // it takes over room of a limit's other write shard, or gives it

	start time.Time // of a limit's window
}

// limit is the scope of a throttle that the write shard's partition is to blame for.
func (l load) limit() dynamo.Scope {
	if l.index {
		return dynamo.IndexKeyRange
	}
	return dynamo.KeyRange
}

// Loads returns those of a transaction's actions, as they are sent, and the requests that
// they belong to. Call tells the calls apart that write no items of their own.
func (t *Transactions) Loads(ctx context.Context, actions []types.TransactWriteItem, call uint64, now time.Time) ([]load, Requests) {
	if t.Watch == (nobody{}) { // who need not be told how a call fares
		return nil, nil
	}
	type written struct {
		key  string
		item uint64
	}
	list, asked, met := make([]load, len(actions)), Requests{}, map[written]int{}
	for i, action := range actions {
		l, ok := loadOf(action, now)
		if !ok {
			continue
		}
		count := 0
		l.Entry, count = t.shards.Newest(ctx, l.Key, now)
		if l.id != "" {
			l.sessionOn(count)
		}
		l.moves = l.gives()
		list[i] = l
		one := written{l.Key, l.item}
		if met[one]++; met[one] == 1 {
			asked.Add(l.Key, l.item, l.At)
		}
	}
	for key, r := range asked {
		if r.ID == 0 {
			r.ID = call
			asked[key] = r
		}
	}
	for i := range list {
		l := &list[i]
		l.Request = asked[l.Key].ID
		l.moves = l.moves || met[written{l.Key, l.item}] > 1 && l.isLimit()
	}
	return list, asked
}

// gives tells whether others take over room from a limit's write shard: the limit has grown
// within the window.
func (l load) gives() bool {
	if l.start.IsZero() {
		return false
	}
	first := l.Entry.History.At(l.start)
	return l.Shard < first && first < l.Entry.History.Newest()
}

// Told tells the watcher what became of a transaction. One on a write shard that takes over
// room or gives it says nothing: it meets the write shard that was hot before, and with more write shards there are
// more of it.
func (t *Transactions) Told(ctx context.Context, list []load, err error) {
	canceled, ok := errors.AsType[*types.TransactionCanceledException](err)
	if err != nil && !ok {
		return
	}
	for i, l := range list {
		if l.Key == "" || l.moves {
			continue
		}
		code := "None"
		if ok && i < len(canceled.CancellationReasons) {
			code = aws.ToString(canceled.CancellationReasons[i].Code)
		}
		switch {
		case err == nil:
			l.Outcome = shardmap.Taken
		case code == "TransactionConflict":
			l.Outcome = shardmap.Conflicted
		case throttleCodes[code] && t.full(ctx, l):
			l.Outcome = shardmap.OverLimit
		default:
			continue
		}
		t.Watch.Attempted(ctx, l.Attempt)
	}
}

// throttleCodes are the reasons of actions that found no capacity.
var throttleCodes = map[string]bool{"ThrottlingError": true, "ProvisionedThroughputExceeded": true}

// probed is what a probe learned.
type probed struct {
	at   time.Time
	full bool
}

// A probe's outcome stands for all of its key's throttles of a second. How many keys there
// are of that second is bounded; of further ones nothing is learned.
const (
	probeAge  = time.Second
	maxProbed = 1000
)

// probeLifetime is how long TTL leaves a probe.
const probeLifetime = time.Hour

// full tells whether a partition's limit is why a write was throttled: by writing an item
// beside it, at most once a second and key.
func (t *Transactions) full(ctx context.Context, l load) bool {
	now := time.Now().Round(0)
	t.mu.Lock()
	last, known := t.probed[l.Key]
	fresh := known && now.Sub(last.at).Abs() < probeAge
	if !fresh && !known && len(t.probed) >= maxProbed {
		for key, p := range t.probed {
			if now.Sub(p.at).Abs() >= probeAge {
				delete(t.probed, key)
			}
		}
		fresh = len(t.probed) >= maxProbed
	}
	if !fresh {
		t.probed[l.Key] = probed{at: now} // others need not
	}
	t.mu.Unlock()
	if fresh {
		return last.full
	}
	l.probe[schema.ExpiresAt] = dynamo.Number(now.Add(probeLifetime).Unix())
	_, err := t.client.PutItem(ctx, &dynamodb.PutItemInput{TableName: &t.table, Item: l.probe}, dynamo.NoRetry)
	full := dynamo.ThrottleScope(err) == l.limit()
	t.mu.Lock()
	t.probed[l.Key] = probed{now, full}
	t.mu.Unlock()
	return full
}

// loadOf returns the load of an action; ok is false for items of other kinds.
func loadOf(action types.TransactWriteItem, now time.Time) (load, bool) {
	switch {
	case action.Update != nil:
		return tableLoad(action.Update.Key, now)
	case action.Delete != nil:
		return tableLoad(action.Delete.Key, now)
	case action.Put == nil:
		return load{}, false
	}
	it := action.Put.Item
	if _, _, _, ok := schema.ParseEntryKey(dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK)); ok {
		return entryLoad(it, now)
	}
	return tableLoad(it, now)
}

// tableLoad is that of an item whose key says what it belongs to: a session, or what lies in
// a write shard's partition.
func tableLoad(it dynamo.Item, now time.Time) (load, bool) {
	pk, sk := dynamo.Text(it, schema.PK), dynamo.Text(it, schema.SK)
	if group, id, ok := schema.ParseSessionKey(pk, sk); ok {
		key := schema.BaseKey{Type: schema.Sessions, Name: group}.String()
		return load{Attempt: shardmap.Attempt{Key: key, At: now}, item: Hash(pk), id: id, index: true}, true
	}
	key, err := schema.ParseKey(pk)
	if err != nil || key.Base.Type.Indexed() { // theirs are in an index
		return load{}, false
	}
	l := load{Attempt: shardmap.Attempt{Key: key.Base.String(), Shard: key.Shard, At: now}, probe: dynamo.Key(pk, schema.ProbeSK)}
	if sk != schema.SoleSK {
		l.item = Hash(sk)
	}
	if at, _, err := schema.ParseEventSortKey(sk); err == nil {
		l.At = at
	}
	if key.Base.Type == schema.Limit {
		l.start = schema.LimitStart(key.Bucket)
	}
	return l, true
}

func (l load) isLimit() bool {
	base, err := schema.ParseBaseKey(l.Key)
	return err == nil && base.Type == schema.Limit
}

// entryLoad is the load of a board's entry on the index.
func entryLoad(it dynamo.Item, now time.Time) (load, bool) {
	place := dynamo.Text(it, schema.BoardShard)
	board, _, n, err := schema.ParseBoardShardKey(place)
	a := shardmap.Attempt{Key: schema.BaseKey{Type: schema.Board, Name: board}.String(), Shard: n, At: now}
	return load{Attempt: a, item: Hash(dynamo.Text(it, schema.PK)), probe: indexProbe(place), index: true}, err == nil
}

// sessionOn gives a session's load the place that it has in the index of so many write
// shards.
func (l *load) sessionOn(count int) {
	l.Shard = shard.Calculated(l.id, count)
	base, _ := schema.ParseBaseKey(l.Key)
	place := schema.SessionShardKey(base.Name, l.Shard)
	l.probe = dynamo.Key(schema.ProbeSK+"#"+place, schema.ProbeSK)
	l.probe[schema.SessionShard] = dynamo.String(place)
}

// indexProbe is a probe of an index partition. In the table it has a partition
// key that is no other item's, whatever a board's name; in the index it comes
// after all places.
func indexProbe(place string) dynamo.Item {
	it := dynamo.Key(schema.ProbeSK+"#"+place, schema.ProbeSK)
	it[schema.BoardShard] = dynamo.String(place)
	it[schema.RankKey] = dynamo.String(schema.ProbeSK)
	return it
}
