package rebuild_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/fold/parts"
	"github.com/hotshard/hotshard/internal/rebuild"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
)

// TestEntitiesUnderTraffic deletes entities while events are written, shard counts grow, stream shards end, records are
// redelivered, fragments are merged, and deletes are killed. Afterwards nothing is left that existed before, and the rollups
// equal the other events, minima and maxima included.
func TestEntitiesUnderTraffic(t *testing.T) {
	t.Parallel()
	r := newEraseRig(t)
	var kept, killed int
	first, worlds := schedulesOf(require.Runs(require.UnlessQuick(4, 1), 300))
	for i := range worlds {
		w := newEraseWorld(r, first+i)
		if err := w.play(t.Context()); err != nil {
			t.Fatalf("-seed %d: %v", first+i, err)
		}
		killed += w.killed
		if len(w.alive) > 0 {
			kept++
		}
	}
	t.Logf("%d worlds from seed %d: %d with events that were written meanwhile, %d deletes killed", worlds, first, kept, killed)
}

// world is an entity with a simulated stream of the events table.
type eraseWorld struct {
	*eraseRig
	seed   uint64
	random *rand.Rand
	base   schema.BaseKey
	width  shard.Bucket
	hour   time.Time
	killed int

	mu     sync.Mutex // of all below; held during each write of an event
	stream []*streamShard
	writes int // sequence number of the last record
	alive  map[key]event
	shards int // write shards in use
}

type key struct{ pk, sk string }

// event is an event that exists.
type event struct {
	born    int
	at      time.Time
	numbers map[string]string
}

// streamShard has the records of a range of keys.
type streamShard struct {
	id        string
	low, high string // of the keys; an empty high is no bound
	parent    *streamShard
	closed    bool
	records   []record
	done      int // records that Lambda takes as done
}

type record struct{ sequence, text string }

func newEraseWorld(r *eraseRig, seed uint64) *eraseWorld {
	w := &eraseWorld{
		eraseRig: r, seed: seed, random: rand.New(rand.NewPCG(seed, 0)), hour: enginetest.Yesterday(), shards: 1,
		base: base(schema.Event, fmt.Sprintf("e%d", seed)), width: shard.Hour, alive: map[key]event{},
	}
	if seed%3 == 0 {
		w.base.Name, w.width = "day"+w.base.Name, shard.Day
	}
	w.stream = []*streamShard{{id: w.base.Name + "-0"}}
	return w
}

func (w *eraseWorld) play(ctx context.Context) error {
	for range 5 + w.random.IntN(60) {
		if err := w.step(ctx, w.random, 3); err != nil {
			return err
		}
	}
	w.mu.Lock()
	begun := w.writes
	w.mu.Unlock()
	within, stop := context.WithCancel(ctx)
	defer stop()
	var group sync.WaitGroup
	var failures [2]error
	random := [2]*rand.Rand{rand.New(rand.NewPCG(w.seed, 1)), rand.New(rand.NewPCG(w.seed, 2))}
	quiet := w.random.IntN(4) == 0
	group.Go(func() {
		for within.Err() == nil && failures[0] == nil && !quiet {
			failures[0] = w.step(ctx, random[0], 2)
			time.Sleep(time.Duration(random[0].IntN(8)) * time.Millisecond)
		}
	})
	group.Go(func() {
		for within.Err() == nil && failures[1] == nil {
			_, failures[1] = w.deliver(ctx, random[1])
		}
	})
	err := w.erase(ctx)
	stop()
	group.Wait()
	for more := true; err == nil && more; {
		more, err = w.deliver(ctx, w.random)
	}
	return errors.Join(err, failures[0], failures[1], w.compare(ctx, begun))
}

// erase deletes the entity, after it was killed a few times.
func (w *eraseWorld) erase(ctx context.Context) error {
	o := w.options()
	o.Settle, o.Wait, o.Poll, o.WriteUnits = time.Millisecond, 5*time.Minute, 5*time.Millisecond, 1_000_000
	for kills := w.random.IntN(4); kills > 0; kills-- {
		client := &streamed{Client: w.db, w: w, left: 1 + w.random.IntN(150)}
		if _, err := rebuild.NewEraser(o, client).Key(ctx, w.base); err != nil && !errors.Is(err, errKilled) {
			return err
		} else if err != nil {
			w.killed++
		}
	}
	report, err := rebuild.NewEraser(o, &streamed{Client: w.db, w: w, left: 1e9}).Key(ctx, w.base)
	if err == nil && len(report.Left) > 0 {
		err = fmt.Errorf("left %q", report.Left)
	}
	return err
}

// step does something to the entity, in the first hours of its day. If these are three, then also to an hour of the day
// before.
func (w *eraseWorld) step(ctx context.Context, random *rand.Rand, hours int) error {
	switch n := random.IntN(100); {
	case n < 75:
		return w.put(ctx, random, hours)
	case n < 80:
		return w.again(ctx, random)
	case n < 84:
		return w.grow(ctx, 2+random.IntN(7))
	case n < 90:
		w.endStreamShard(random)
		return nil
	case n < 95:
		_, err := w.deliver(ctx, random)
		return err
	}
	return w.merge(ctx, random, hours)
}

// put writes an event, and rarely a copy on another write shard.
func (w *eraseWorld) put(ctx context.Context, random *rand.Rand, hours int) error {
	at := w.hour.Add(time.Duration(random.IntN(hours))*time.Hour + time.Duration(random.IntN(3600_000))*time.Millisecond)
	if hours == 3 && random.IntN(8) == 0 {
		at = at.Add(-24 * time.Hour)
	}
	numbers := map[string]string{"t": fmt.Sprint(random.IntN(40) - 20)}
	if random.IntN(3) == 0 {
		numbers["u"] = fmt.Sprint(random.IntN(1000))
	}
	if random.IntN(10) == 0 {
		numbers["w"] = "1234567890123456789"
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	id := fmt.Sprint("id", w.writes)
	for range 1 + random.IntN(20)/19 {
		k := schema.Key{Base: w.base, Bucket: schema.EventBucket.Label(at, 0), Shard: random.IntN(w.shards)}
		if err := w.write(ctx, key{k.String(), schema.EventSortKey(at, id)}, at, numbers); err != nil {
			return err
		}
	}
	return nil
}

// write writes an event. w.mu is locked.
func (w *eraseWorld) write(ctx context.Context, k key, at time.Time, numbers map[string]string) error {
	data := item{}
	for field, n := range numbers {
		data[field] = dynamo.Decimal(n)
	}
	it := dynamo.Key(k.pk, k.sk)
	it["data"] = &types.AttributeValueMemberM{Value: data}
	out, err := w.db.PutItem(ctx, &dynamodb.PutItemInput{TableName: &w.names.Events, Item: it, ReturnValues: types.ReturnValueAllOld})
	if err == nil {
		w.happen(k, out.Attributes, it)
		w.alive[k] = event{w.writes, at, numbers}
	}
	return err
}

// again deletes an event by hand, and puts it again with the same id. A record may also be put again as it is.
func (w *eraseWorld) again(ctx context.Context, random *rand.Rand) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for k, e := range w.alive {
		if random.IntN(2) == 0 {
			if err := w.remove(ctx, w.db, k); err != nil {
				return err
			}
		}
		return w.write(ctx, k, e.at, e.numbers)
	}
	return nil
}

// remove deletes an item of the events table. w.mu is locked.
func (w *eraseWorld) remove(ctx context.Context, client *dynamodb.Client, k key) error {
	out, err := client.DeleteItem(ctx, &dynamodb.DeleteItemInput{TableName: &w.names.Events, Key: dynamo.Key(k.pk, k.sk), ReturnValues: types.ReturnValueAllOld})
	if err == nil {
		w.happen(k, out.Attributes, nil)
		delete(w.alive, k)
	}
	return err
}

func (w *eraseWorld) grow(ctx context.Context, n int) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	err := w.pinned(ctx, w.base, n, time.Now())
	if err == nil {
		w.shards = n
	}
	return err
}

// endStreamShard splits an open stream shard, or replaces it.
func (w *eraseWorld) endStreamShard(random *rand.Rand) {
	w.mu.Lock()
	defer w.mu.Unlock()
	ended := w.stream[random.IntN(len(w.stream))]
	if ended.closed {
		return
	}
	ended.closed = true
	bounds := []string{ended.low, ended.high}
	for k := range w.alive {
		if at := k.pk + "\x00" + k.sk; random.IntN(2) == 0 && at > ended.low && (ended.high == "" || at < ended.high) {
			bounds = []string{ended.low, at, ended.high}
			break
		}
	}
	for i := range bounds[1:] {
		w.stream = append(w.stream, &streamShard{
			id: fmt.Sprintf("%s-%d", w.base.Name, len(w.stream)), low: bounds[i], high: bounds[i+1], parent: ended,
		})
	}
}

// merge merges some fragments of a rollup, as the compaction does.
func (w *eraseWorld) merge(ctx context.Context, random *rand.Rand, hours int) error {
	store := parts.NewEvents(w.db, w.names.Rollups, time.Now)
	b := parts.Bucket{Entity: w.base.Name, Width: w.width, Start: w.hour.Add(time.Duration(random.IntN(hours)) * time.Hour).Truncate(w.width.Width())}
	read, err := store.Read(ctx, b.Key())
	if err != nil {
		return err
	}
	chosen := store.Choose(read, func(parts.Part[parts.Rollup]) bool { return random.IntN(3) > 0 })
	if len(chosen) == 0 {
		return nil
	}
	if _, _, err = store.Merge(ctx, b.Key(), read, chosen, 0); errors.Is(err, parts.ErrMoved) {
		return nil
	}
	return err
}

// happen appends a record to the stream. w.mu is locked.
func (w *eraseWorld) happen(k key, old, newest item) {
	name := "MODIFY"
	switch {
	case len(old) == 0 && newest == nil:
		return
	case len(old) == 0:
		name = "INSERT"
	case newest == nil:
		name = "REMOVE"
	}
	w.writes++
	keys := dynamo.Key(k.pk, k.sk)
	r := record{fmt.Sprint(w.writes), fmt.Sprintf(`{"eventName":%q,"dynamodb":{"SequenceNumber":"%d","Keys":%s,"OldImage":%s,"NewImage":%s}}`,
		name, w.writes, eraseImage(keys), eraseImage(old), eraseImage(newest))}
	r.text = strings.NewReplacer(`,"OldImage":{}`, "", `,"NewImage":{}`, "").Replace(r.text)
	at := k.pk + "\x00" + k.sk
	for _, s := range w.stream {
		if !s.closed && at >= s.low && (s.high == "" || at < s.high) {
			s.records = append(s.records, r)
		}
	}
}

// image returns an item in DynamoDB's JSON.
func eraseImage(it item) string {
	var list []string
	for name, value := range it {
		text := ""
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			text = fmt.Sprintf(`{"S":%q}`, v.Value)
		case *types.AttributeValueMemberN:
			text = fmt.Sprintf(`{"N":%q}`, v.Value)
		case *types.AttributeValueMemberM:
			text = fmt.Sprintf(`{"M":%s}`, eraseImage(v.Value))
		}
		list = append(list, fmt.Sprintf("%q:%s", name, text))
	}
	return "{" + strings.Join(list, ",") + "}"
}

// deliver delivers some records of a stream shard, perhaps again. It reports whether any were new.
func (w *eraseWorld) deliver(ctx context.Context, random *rand.Rand) (more bool, err error) {
	w.mu.Lock()
	var ready []*streamShard
	for _, s := range w.stream {
		if s.done < len(s.records) && (s.parent == nil || s.parent.done == len(s.parent.records) && s.parent.parentsDone()) {
			ready = append(ready, s)
		}
	}
	if len(ready) == 0 {
		w.mu.Unlock()
		time.Sleep(time.Millisecond)
		return false, nil
	}
	s := ready[random.IntN(len(ready))]
	from := s.done
	if random.IntN(4) == 0 {
		from = random.IntN(from + 1)
	}
	to := min(len(s.records), s.done+1+random.IntN(40))
	batch := s.records[from:to]
	w.mu.Unlock()
	var texts []string
	for _, r := range batch {
		texts = append(texts, r.text)
	}
	out, err := w.handler.Invoke(ctx, enginetest.WindowedBatch(s.id, texts...))
	if err != nil {
		return false, err
	}
	var answer struct {
		Failures []struct{ ItemIdentifier string } `json:"batchItemFailures"`
	}
	if err := json.Unmarshal(out, &answer); err != nil || len(answer.Failures) > 0 {
		return true, err // redelivered
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s.done = max(s.done, to)
	return true, nil
}

func (s *streamShard) parentsDone() bool {
	return s.parent == nil || s.parent.done == len(s.parent.records) && s.parent.parentsDone()
}

// compare compares the rollups with the events, once all records are folded.
func (w *eraseWorld) compare(ctx context.Context, begun int) error {
	want := map[time.Time]*parts.Rollup{}
	for k, e := range w.alive {
		if e.born <= begun {
			return fmt.Errorf("the event %v is left", k)
		}
		start := e.at.Truncate(w.width.Width())
		if want[start] == nil {
			want[start] = &parts.Rollup{}
			*want[start] = want[start].Clone()
		}
		want[start].Add(e.numbers)
	}
	store := parts.NewEvents(w.db, w.names.Rollups, time.Now)
	a := rebuild.New(rebuild.Options{Names: w.names, Rules: w.rules}, w.db)
	for start := w.hour.Add(-24 * time.Hour).Truncate(w.width.Width()); start.Before(w.hour.Add(4 * time.Hour)); start = start.Add(w.width.Width()) {
		b := parts.Bucket{Entity: w.base.Name, Width: w.width, Start: start}
		read, err := store.Read(ctx, b.Key())
		if err != nil {
			return err
		}
		wanted := parts.Rollup{}.Clone()
		if want[start] != nil {
			wanted = *want[start]
		}
		if got := store.Sum(read); fmt.Sprint(got) != fmt.Sprint(wanted) {
			return fmt.Errorf("the rollup of %s is %+v, want %+v", b.Label(), got, wanted)
		}
		result, err := a.Check(ctx, b.Target())
		if other := func(f rebuild.Finding) bool { return f.State != rebuild.Copy }; err != nil || slices.ContainsFunc(result.Findings, other) {
			return fmt.Errorf("the check of %s: %+v, %v", b.Label(), result.Findings, err)
		}
	}
	return nil
}

// streamed is the client of a delete, whose writes of events come through the stream. It is killed after a number of
// writes; the last may have been made.
type streamed struct {
	*dynamodb.Client
	w    *eraseWorld
	left int
}

// live makes a write of the events table, or of the shard map, unless the process is dead.
func (s *streamed) live(write func() error) error {
	s.w.mu.Lock()
	defer s.w.mu.Unlock()
	s.left--
	if s.left < 0 {
		return errKilled
	}
	err := write()
	if err == nil && s.left == 0 {
		return errKilled
	}
	return err
}

func (s *streamed) PutItem(ctx context.Context, in *dynamodb.PutItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.PutItemOutput, err error) {
	err = s.live(func() error {
		out, err = s.Client.PutItem(ctx, in, o...)
		if err == nil && *in.TableName == s.w.names.Events {
			s.w.happen(key{dynamo.Text(in.Item, "pk"), dynamo.Text(in.Item, "sk")}, nil, in.Item)
		}
		return err
	})
	return out, err
}

func (s *streamed) DeleteItem(ctx context.Context, in *dynamodb.DeleteItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.DeleteItemOutput, err error) {
	in.ReturnValues = types.ReturnValueAllOld
	err = s.live(func() error {
		out, err = s.Client.DeleteItem(ctx, in, o...)
		if err == nil && *in.TableName == s.w.names.Events {
			k := key{dynamo.Text(in.Key, "pk"), dynamo.Text(in.Key, "sk")}
			s.w.happen(k, out.Attributes, nil)
			delete(s.w.alive, k)
		}
		return err
	})
	return out, err
}

func (s *streamed) TransactWriteItems(ctx context.Context, in *dynamodb.TransactWriteItemsInput, o ...func(*dynamodb.Options)) (out *dynamodb.TransactWriteItemsOutput, err error) {
	err = s.live(func() error {
		out, err = s.Client.TransactWriteItems(ctx, in, o...)
		put := in.TransactItems[0].Put
		if err == nil && (put == nil || *put.TableName != s.w.names.Rollups) {
			s.w.shards = 1 // a reset of the shard count
		}
		return err
	})
	return out, err
}

func (s *streamed) UpdateItem(ctx context.Context, in *dynamodb.UpdateItemInput, o ...func(*dynamodb.Options)) (out *dynamodb.UpdateItemOutput, err error) {
	err = s.live(func() error {
		out, err = s.Client.UpdateItem(ctx, in, o...)
		if err == nil && *in.TableName == s.w.names.ShardMap {
			s.w.shards = 1
		}
		return err
	})
	return out, err
}
