package hotkey

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

// ShrinkTask is the payload that a schedule hands to [Handler.Invoke] every
// [Settings.TaskInterval]: an object with this one member. The answer is
//
//	{"keys":3,"beats":60,"shrunk":1}
//
// the keys looked at, the beats put and the shard counts changed.
const ShrinkTask = `{"task":"shrink"}`

// Bounds of a task.
const (
	maxBeats     = 2000  // put in one run
	maxBeatPuts  = 16    // at a time
	maxSaid      = 10000 // keys of which is remembered why they do not shrink
	beatLifetime = 24 * time.Hour
)

// done is a task's answer.
type done struct {
	Keys   int `json:"keys"`
	Beats  int `json:"beats"`
	Shrunk int `json:"shrunk"`
}

// shrinker is what the shrink task remembers from one run to the next.
type shrinker struct {
	mu   sync.Mutex
	last time.Time         // the newest run that put beats
	said map[string]string // why a key does not shrink, as was logged
}

// task runs a scheduled task.
func (r *run) task(ctx context.Context, name string) ([]byte, error) {
	if name != "shrink" {
		return nil, fmt.Errorf("hotkey: task %.40q is not known", name)
	}
	r.shrinker.mu.Lock()
	defer r.shrinker.mu.Unlock()
	var answer done
	if r.settings.Control != Off && r.source.Own {
		now := r.deps.Now()
		entries, err := r.deps.Shards.Entries(ctx, now)
		if err != nil {
			return nil, fmt.Errorf("hotkey: listing sharded keys: %w", err)
		}
		keys := chosen(entries, now, r.settings.Quiet)
		answer.Keys = len(keys)
		answer.Beats = r.beat(ctx, keys, now)
		if answer.Shrunk, err = r.relax(ctx, keys, now); err != nil {
			return nil, err
		}
	}
	// An alarm waits for this line.
	r.deps.Log.InfoContext(ctx, "shrink task done", "keys", answer.Keys, "beats", answer.Beats, "shrunk", answer.Shrunk)
	return json.Marshal(answer)
}

// chosen returns the keys that may shrink: those with several write shards, the
// last change in force, and no pin. A board's writes come by all stream shards, so
// that no beats prove them counted, and it gains nothing by fewer write shards. A
// limit's go to other partition keys in each of its windows. Of more keys than may get beats it takes others
// every two quiet periods, so that each has its turn, and time for a proof.
func chosen(entries []ddb.Entry, now time.Time, quiet time.Duration) []ddb.Entry {
	turn := strconv.FormatInt(now.UnixNano()/int64(2*quiet), 10)
	keys := slices.DeleteFunc(slices.Clone(entries), func(e ddb.Entry) bool {
		base, err := schema.ParseBaseKey(e.Key)
		return err != nil || base.Type == schema.Board || base.Type == schema.Limit ||
			e.Pinned || e.History.Newest() < 2 || e.Effective().After(now)
	})
	slices.SortFunc(keys, func(a, b ddb.Entry) int {
		return cmp.Or(cmp.Compare(hash(turn+a.Key), hash(turn+b.Key)), cmp.Compare(a.Key, b.Key))
	})
	beats := 0
	for i, e := range keys {
		if beats += e.History.Newest(); beats > maxBeats {
			return keys[:i]
		}
	}
	return keys
}

// beat puts a beat beside each write shard, and returns how many. A run that comes
// right after another, as when the schedule repeats itself, puts none.
func (r *run) beat(ctx context.Context, keys []ddb.Entry, now time.Time) int {
	if now.Sub(r.shrinker.last) < r.settings.TaskInterval()/2 && !now.Before(r.shrinker.last) {
		return 0
	}
	r.shrinker.last = now
	ctx, cancel := context.WithTimeout(ctx, putTime)
	defer cancel()
	var mu sync.Mutex
	var faults []error
	put := 0
	var group errgroup.Group
	group.SetLimit(maxBeatPuts)
	for _, e := range keys {
		base, _ := schema.ParseBaseKey(e.Key)
		name := partitionName(base, now)
		for n := range e.History.Newest() {
			group.Go(func() error {
				err := r.putBeat(ctx, shard.Hash.Join(name, n), now)
				mu.Lock()
				defer mu.Unlock()
				if err != nil {
					faults = append(faults, err)
				} else {
					put++
				}
				return nil
			})
		}
	}
	_ = group.Wait() // it has no errors
	if len(faults) > 0 {
		r.deps.Log.WarnContext(ctx, "beats not put", "beats", len(faults), "error", faults[0])
	}
	return put
}

func (r *run) putBeat(ctx context.Context, pk string, now time.Time) error {
	_, err := r.deps.Items.PutItem(ctx, &dynamodb.PutItemInput{TableName: &r.settings.ItemsTable, Item: map[string]types.AttributeValue{
		schema.PK:        &types.AttributeValueMemberS{Value: pk},
		schema.SK:        &types.AttributeValueMemberS{Value: schema.BeatSK},
		schema.Beat:      &types.AttributeValueMemberN{Value: strconv.FormatInt(now.UnixMilli(), 10)},
		schema.ExpiresAt: &types.AttributeValueMemberN{Value: strconv.FormatInt(now.Add(beatLifetime).Unix(), 10)},
	}})
	if err != nil {
		return fmt.Errorf("hotkey: putting the beat of %q: %w", pk, err)
	}
	return nil
}

// relax lowers the shard counts of keys that had a quiet period, with proof.
func (r *run) relax(ctx context.Context, keys []ddb.Entry, now time.Time) (shrunk int, err error) {
	policy := r.settings.policy()
	ripe := slices.DeleteFunc(slices.Clone(keys), func(e ddb.Entry) bool {
		return e.Effective().After(now.Add(-policy.Quiet))
	})
	if len(ripe) == 0 {
		return 0, nil
	}
	all := newCovered()
	watched := make([]*coverage, len(ripe))
	for i, e := range ripe {
		base, err := schema.ParseBaseKey(e.Key)
		if err != nil {
			return 0, fmt.Errorf("hotkey: %w", err)
		}
		watched[i] = all.watch(base, e.History.Newest(), now)
	}
	var mu sync.Mutex
	back := policy.Quiet + policy.recent() + 3*policy.Interval + putTime
	err = r.readHeat(ctx, now.Add(-back), now.Add(policy.Window), func(item heat.Item) {
		mu.Lock()
		defer mu.Unlock()
		all.add(item)
	})
	if err != nil {
		return 0, err
	}
	for i, e := range ripe {
		d := policy.Relax(all.calm(watched[i], policy.Quiet, policy.maxGap(), e.Effective()), e, now)
		if r.say(ctx, e.Key, d); d.Action != Shrink {
			continue
		}
		if changed, _ := r.execute(ctx, e.Key, d); changed { // an error was logged, and the next run tries again
			shrunk++
		}
	}
	return shrunk, nil
}

// say logs, once, why a key does not shrink.
func (r *run) say(ctx context.Context, key string, d Decision) {
	s := &r.shrinker
	if d.Action != None {
		delete(s.said, key)
		return
	}
	if s.said == nil || len(s.said) >= maxSaid {
		s.said = make(map[string]string)
	}
	if s.said[key] != d.Why {
		s.said[key] = d.Why
		r.deps.Log.InfoContext(ctx, "shard count not lowered", "key", r.shown(key), "shards", d.From, "why", d.Why)
	}
}
