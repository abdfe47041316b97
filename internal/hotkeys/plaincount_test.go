package hotkeys_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/hotkeys"
	"github.com/hotshard/hotshard/internal/test/require"
)

var schedules = flag.Int("schedules", 0, "schedules of TestHeatIsAPlainCount; 0 means the same few each time")

// TestHeatIsAPlainCount checks that heat at rest is a plain count of the writes by window and key, for any schedule of
// deliveries and of the task: see [schedule]. A window may have fewer units only if it is incomplete, and may be
// incomplete only if its state was lost, a put of it ended late, or its records came half an hour late.
func TestHeatIsAPlainCount(t *testing.T) {
	n, first := require.Runs(require.UnlessShort(require.UnlessQuick(60, 25), 15), 1000), uint64(1)
	if *schedules > 0 {
		n, first = *schedules, require.Seed(t)
	}
	for i := range n {
		s := newSchedule(t, first+uint64(i))
		s.run()
		s.check()
		if t.Failed() {
			t.Fatalf("a schedule failed, which HOTSHARD_SEED=%d and -schedules=1 repeat: %+v\n%s", s.seed, s.traits, s.logs)
		}
	}
}

// traits are what a schedule has in its whole time.
type traits struct {
	hold    time.Duration // 0 without tumbling windows, 10s if windows are not held
	length  time.Duration // of the time with writes
	streams int
	faults  uint64 // one of so many puts fails before or after it takes effect; 0 for none
	stalls  int    // so many of 1,000 steps stall a stream shard
	losses  int    // so many of 1,000 deliveries that are no retries have lost their window's state

	early, behind int // so many of 1,000 deliveries end the tumbling window; so many of 1,000 writes have a time up to 70 s before they reach the stream
	slow, regroup int // so many of 1,000 deliveries have puts that end half a minute late; so many that failed are retried in batches of another size

	off, end time.Duration // the task does not run between these times
	away     time.Duration // the first stream shard is not read so long after the writes; 0 for no pause
}

// schedule has the writes to some stream shards, in steps of ten seconds. It delivers them as Lambda does: batches of
// any size that fail are bisected or retried later, responses are lost, stream shards stall, tumbling windows end early
// or late, and their states may be lost. The task misses runs, dies at any put, and stalls while another run overtakes
// it.
type schedule struct {
	*fixture
	traits
	t        *testing.T
	settings hotkeys.Settings
	seed     uint64
	random   *rand.Rand
	queues   []*shardQueue

	writes map[time.Time]map[string]uint64 // units by window and key
	lost   map[time.Time]bool              // windows that may be incomplete
	slowed map[time.Time]bool              // those with a put that ended late, which may count redelivered records twice
	sent   uint64
	pause  atomic.Int64 // how long the puts of the current delivery have taken

	mu        sync.Mutex
	tries     map[string]int // puts by key
	isSlow    bool           // the puts of the current delivery end late
	pending   []dynamo.Item  // their items
	inTask    bool
	overtaken bool
	nothing   bool // fails any more
}

// shardQueue has the records of one stream shard that are not delivered yet.
type shardQueue struct {
	batch
	records []queued
	begun   bool          // a delivery of the tumbling window was successful
	pieces  []int         // records of a batch that failed, as it was bisected
	tried   int           // sequence number after the last record of a batch that failed
	idle    time.Duration // how late Lambda ends the tumbling window
	stalled time.Time
}

// queued is a record that reached its stream some time after start, and maybe some seconds after the write.
type queued struct {
	write
	since time.Duration
}

func newSchedule(t *testing.T, seed uint64) *schedule {
	random := rand.New(rand.NewPCG(seed, 1))
	s := &schedule{t: t, seed: seed, random: random, writes: map[time.Time]map[string]uint64{}, lost: map[time.Time]bool{}, slowed: map[time.Time]bool{}, tries: map[string]int{}}
	minutes := func(n int) time.Duration { return time.Duration(random.IntN(n)) * time.Minute }
	s.traits = traits{
		hold: []time.Duration{0, 10 * time.Second, time.Minute, heat.MaxHold}[random.IntN(4)], length: 2*time.Minute + minutes(22), streams: 1 + random.IntN(4),
		faults: []uint64{0, 10, 60}[random.IntN(3)], stalls: []int{0, 10, 40}[random.IntN(3)], losses: []int{0, 0, 5, 50}[random.IntN(4)], off: minutes(20),
	}
	s.early, s.behind = []int{0, 20}[random.IntN(2)], []int{0, 100}[random.IntN(2)]
	s.end = s.off + minutes(20)
	s.slow, s.regroup = []int{0, 0, 0, 10}[random.IntN(4)], []int{0, 0, 100}[random.IntN(3)]
	s.away = []time.Duration{0, 0, 0, minutes(150)}[random.IntN(4)]
	s.settings = settings()
	s.settings.PartitionWCU = 10 // 70 units of a window are hot, and fewer than 10 quiet
	if s.hold > s.settings.Window {
		s.settings.Hold = s.hold
	}
	s.fixture = newFixture(s.settings)
	s.restart()
	for i := range s.streams {
		s.queues = append(s.queues, &shardQueue{batch: batch{shard: fmt.Sprint(i), first: 1 + i*1_000_000, length: max(s.hold, s.settings.Window)}})
	}
	if s.away > 0 {
		s.queues[0].stalled = start.Add(s.length + s.away)
	}
	return s
}

// restart replaces the detector, as if its containers had ended.
func (s *schedule) restart() {
	s.rebuild(s.t, s.settings, func(d *hotkeys.Deps) {
		d.Heat = &faulty{s.table, s}
		d.Now = func() time.Time { return s.now.Add(time.Duration(s.pause.Load())) }
	})
}

// once reports true in n of 1,000 cases.
func (s *schedule) once(n int) bool { return s.random.IntN(1000) < n }

func (s *schedule) since() time.Duration { return s.now.Sub(start) }

func (s *schedule) run() {
	for s.since() < s.length {
		s.step()
	}
	s.nothing, s.length = true, s.since()
	for range 45 {
		for range 6 {
			s.deliverAll()
			s.now = s.now.Add(10 * time.Second)
		}
		s.heatTask(s.t)
	}
	for range 36 { // until the blocks are folded
		s.now = s.now.Add(5 * time.Minute)
		s.deliverAll()
		s.heatTask(s.t)
	}
}

// step makes ten seconds of writes and deliveries, and starts a run of the task each minute.
func (s *schedule) step() {
	for _, q := range s.queues {
		if s.once(700) {
			s.write(q)
		}
		if s.once(s.stalls) {
			q.stalled = s.now.Add(time.Duration(s.random.IntN(20*60)) * time.Second)
		}
	}
	s.now = s.now.Add(10 * time.Second)
	s.deliverAll()
	if down := s.since() >= s.off && s.since() < s.end; s.now.Second() == 0 && !s.inTask && !down && !s.once(100) {
		s.inTask = true
		s.runTask()
		s.inTask = false
	}
}

// runTask runs the task. If it dies, the next run is in another process.
func (s *schedule) runTask() {
	if _, err := s.handler.Invoke(s.t.Context(), []byte(hotkeys.HeatTask)); errors.Is(err, errPut) {
		s.restart()
	} else if err != nil {
		s.t.Fatal(s.seed, err)
	}
}

// write adds the writes of a step to a stream shard's queue.
func (s *schedule) write(q *shardQueue) {
	for range 1 + s.random.IntN(3) {
		at := float64(s.random.IntN(10))
		if s.once(s.behind) {
			at -= float64(s.random.IntN(70))
		}
		at = max(0, at+s.since().Seconds())
		key, n := fmt.Sprintf("C#%d#0", s.random.IntN(9)), []int{1, 3, 8, 80}[s.random.IntN(4)]
		for range n {
			q.records = append(q.records, queued{write{key: key, at: at}, s.since()})
		}
		window := heat.AlignDown(start.Add(time.Duration(at)*time.Second), 10*time.Second)
		if s.writes[window] == nil {
			s.writes[window] = map[string]uint64{}
		}
		s.writes[window][key] += uint64(n)
		s.sent += uint64(n)
	}
}

func (s *schedule) deliverAll() {
	for _, q := range s.queues {
		for (s.nothing && !s.isAway(q) || !s.now.Before(q.stalled)) && s.deliver(q) {
		}
	}
}

// isAway reports whether a stream shard is not read yet.
func (s *schedule) isAway(q *shardQueue) bool { return q == s.queues[0] && s.since() < s.length+s.away }

// split bisects the first piece at n records.
func (q *shardQueue) split(n int) {
	switch {
	case len(q.pieces) == 0:
		q.pieces = []int{n}
	case n < q.pieces[0]:
		q.pieces = append([]int{n, q.pieces[0] - n}, q.pieces[1:]...)
	}
}

// deliver makes the next delivery of a stream shard. It returns false if there is none, or if it failed and is retried
// later.
func (s *schedule) deliver(q *shardQueue) bool {
	n := 0
	for n < len(q.records) && (s.hold == 0 || q.records[n].since < q.later+q.length) {
		n++
	}
	if len(q.pieces) > 0 && s.once(s.regroup) {
		s.mayLack(q, n)
		q.pieces = nil
	}
	if len(q.pieces) > 0 {
		n = min(n, q.pieces[0])
	}
	ended := s.hold > 0 && s.since() >= q.later+q.length+q.idle
	switch {
	case n > 0 && len(q.pieces) == 0 && s.once(s.early) && s.hold > 0:
		return s.send(q, 0, func(b *batch) { b.early = true })
	case n > 0:
		return s.send(q, 1+s.random.IntN(n), func(*batch) {})
	case ended && q.begun:
		return s.send(q, 0, func(b *batch) { b.final = true })
	case ended:
		q.later = s.since().Truncate(q.length)
		if len(q.records) > 0 {
			q.later = q.records[0].since.Truncate(q.length)
		}
		q.idle = time.Duration(s.random.IntN(2)*s.random.IntN(120)) * time.Second
		return len(q.records) > 0
	}
	return false
}

// mayLack notes that the windows of the first n records and of the tumbling window may be incomplete.
func (s *schedule) mayLack(q *shardQueue, n int) {
	for _, r := range q.records[:n] {
		s.lost[heat.AlignDown(start.Add(time.Duration(r.at)*time.Second), 10*time.Second)] = true
	}
	for at := q.later; s.hold > 0 && at < q.later+q.length; at += 10 * time.Second {
		s.lost[start.Add(at)] = true
	}
}

// send delivers the first n records of a queue. If that fails it delivers fewer, or returns false.
func (s *schedule) send(q *shardQueue, n int, change func(*batch)) bool {
	if s.once(s.losses) && len(q.state) > 0 && q.first >= q.tried && !s.nothing {
		q.state = []map[string]string{{"v": "other"}, {"v": q.state["v"], "window": q.state["window"], "held": "?"}}[s.random.IntN(2)]
		s.mayLack(q, 0)
	}
	for {
		if s.since()-q.later > 30*time.Minute || n > 0 && s.since()-q.records[0].since > 28*time.Minute { // and the write up to 70 s earlier
			s.mayLack(q, n)
		}
		b := q.batch
		b.writes = nil
		for _, r := range q.records[:n] {
			b.writes = append(b.writes, r.write)
		}
		change(&b)
		payload := b.payload()
		if s.hold == 0 {
			payload = unwindowed(b.writes, b.first)
		}
		s.isSlow = s.once(s.slow) && !s.inTask
		r, err := s.invoke(s.t, payload)
		s.endPuts()
		if err != nil && !errors.Is(err, errPut) {
			s.t.Fatal(s.seed, err)
		}
		if err == nil && (s.nothing || !s.once(60)) { // else the response is lost
			q.records, q.first, q.state, q.begun = q.records[n:], q.first+n, r.State, !b.final
			q.split(n)
			q.pieces = q.pieces[1:]
			return true
		}
		q.tried = max(q.tried, q.first+n)
		q.split(n)
		switch {
		case !b.early && s.once(200): // Lambda repeats an early end
			q.stalled = s.now.Add(time.Duration(s.random.IntN(10*60)) * time.Second)
			return false
		case n > 1:
			n -= s.random.IntN(2) * n / 2
		}
	}
}

// endPuts makes the puts of a slow delivery take effect, after a run of the task.
func (s *schedule) endPuts() {
	s.isSlow, s.now = false, s.now.Add(time.Duration(s.pause.Swap(0)))
	if len(s.pending) == 0 {
		return
	}
	s.inTask, s.overtaken = true, true
	s.runTask()
	s.inTask, s.overtaken = false, false
	for _, item := range s.pending {
		_, err := s.table.PutItem(s.t.Context(), &dynamodb.PutItemInput{TableName: aws.String("heat"), Item: item})
		require.NoError(s.t, err)
		list, _, err := heat.Open(item)
		require.NoError(s.t, err)
		for list[0].More() {
			it, err := list[0].Next()
			require.NoError(s.t, err)
			s.lost[it.Start], s.slowed[it.Start] = true, true
		}
	}
	s.pending = nil
}
