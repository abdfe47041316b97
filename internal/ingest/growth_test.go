package ingest

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/hotshard/hotshard/internal/heat"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/ddb"
)

func TestMeterCountsTheLastSecond(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMeter()
		now := time.Unix(1_800_000_000, 0)
		type write struct {
			at    int64
			units int
		}
		var writes []write
		for range rapid.IntRange(1, 60).Draw(t, "writes") {
			now = now.Add(time.Duration(rapid.IntRange(0, 400).Draw(t, "pause ms")) * time.Millisecond)
			w := write{slotOf(now), rapid.IntRange(1, 9).Draw(t, "units")}
			writes = append(writes, w)
			m.add("k", w.units, now)
		}
		now = now.Add(time.Duration(rapid.IntRange(0, 1500).Draw(t, "wait ms")) * time.Millisecond)
		want := 0
		for _, w := range writes {
			if age := slotOf(now) - w.at; age >= 1 && age <= second {
				want += w.units
			}
		}
		if got, _ := m.rate("k", now); got != float64(want) {
			t.Fatalf("%v, want %d", got, want)
		}
		if got, ripe := m.rate("other", now); got != 0 || ripe {
			t.Fatalf("a key never written: %v, %v", got, ripe)
		}
	})
}

func TestMeterIsBounded(t *testing.T) {
	m := newMeter()
	now := time.Unix(1_800_000_000, 0)
	for i := range maxMetered + 100 {
		m.add(fmt.Sprint(i), 1, now)
	}
	if len(m.keys) != maxMetered {
		t.Fatalf("%d keys", len(m.keys))
	}
	m.add("later", 1, now.Add(2*time.Second))
	if len(m.keys) != 1 {
		t.Fatalf("%d keys after a quiet second", len(m.keys))
	}
}

func TestSized(t *testing.T) {
	for _, c := range []struct {
		key           string
		count, spread int
		rate          float64
		want          int
	}{
		{"C#c", 1, 1, 200, 40},   // ten times a partition's limit
		{"E#e", 1, 1, 200, 80},   // calculated shards have no alternative
		{"S#s", 1, 1, 200, 80},   // a session's neither
		{"R#r", 1, 1, 200, 40},   // a hit goes where there is room
		{"?", 1, 1, 200, 0},      // nobody's
		{"L#l", 1, 1, 400, 160},  // 200 changed scores: two units of the index each
		{"L#l", 160, 1, 400, 0},  // entries that leave the write shard that they were all in
		{"C#c", 1, 1, 5, 0},      // other keys fill its partition
		{"C#c", 1, 1, 6, 2},      // that may be all that is known of a storm
		{"C#c", 40, 30, 210, 80}, // throttled on most: double
		{"C#c", 40, 3, 200, 0},   // skew
		{"C#c", 40, 3, 900, 180}, // not skew: it needs more
		{"E#e", 900, 900, 1e9, shard.MaxShards},
	} {
		got, why := sized(c.key, c.count, c.spread, c.rate, 20)
		if got != c.want || why == "" {
			t.Errorf("%+v: %d (%s)", c, got, why)
		}
	}
}

// controller is a growth with a clock of the test's, over tables of its own.
type controller struct {
	*growth
	t     *testing.T
	clock time.Time
}

func (r *rig) controller(control Control) *controller {
	r.t.Helper()
	settings := Settings{ItemsTable: r.names.Items, ShardMapTable: r.names.ShardMap, Control: control, PartitionWCU: 20, Window: 10 * time.Second, MetricNames: heat.Plain}
	changer := ddb.NewMapChanger(r.client, ddb.NewMap(r.client, r.names.ShardMap), ddb.ChangerOptions{})
	c := &controller{t: r.t, clock: time.Now(), growth: newGrowth(settings, r.client, changer, slog.New(slog.NewTextHandler(r.log, nil)))}
	c.now = func() time.Time { return c.clock }
	return c
}

// storm offers writes of a key for some time, of which each tenth is throttled.
// Their times lag behind the clock.
func (c *controller) storm(key string, perSecond int, lasting, lag time.Duration) {
	for n := range int(lasting.Seconds() * float64(perSecond)) {
		c.clock = c.clock.Add(time.Second / time.Duration(perSecond))
		c.Offered(key, 1, c.clock.Add(-lag))
		if n%10 == 9 {
			c.Throttled(c.t.Context(), key, 0, c.clock.Add(-lag))
		}
	}
}

func (c *controller) entry(key string) ddb.Entry {
	c.t.Helper()
	entry, err := c.changer.Read(c.t.Context(), key)
	if err != nil {
		c.t.Fatal(err)
	}
	return entry
}

func TestTheFirstAnswerIsSized(t *testing.T) {
	r := newRig(t)
	c := r.controller(Act)
	c.storm("C#hot", 200, time.Second, 0)
	if e := c.entry("C#hot"); e.Version != 0 {
		t.Fatalf("it grew before a second was over: %+v", e)
	}
	c.storm("C#hot", 200, 5*time.Second, 0)
	e := c.entry("C#hot")
	if n := e.History.Newest(); e.Version != 1 || n < 39 || n > 41 || e.Notes[e.Effective().UnixMilli()].By != "ingest" {
		t.Fatalf("at ten times the limit: %+v", e)
	}
	c.storm("C#hot", 200, 12*time.Second, 20*time.Second) // writes from before it grew
	if e := c.entry("C#hot"); e.Version != 1 {
		t.Fatalf("one storm was answered twice: %+v", e)
	}
	if sightings := r.items(); sightings < 5 || sightings > 20 {
		t.Errorf("%d sightings in 18 s", sightings)
	}
}

// TestHiddenNames: log lines name keys as the setting says.
func TestHiddenNames(t *testing.T) {
	for names, want := range map[heat.Naming]string{heat.Plain: "key=C#secret ", heat.Hashed: "key=" + heat.Pseudonym("C#secret") + " ", heat.Unnamed: `key="" `} {
		r := newRig(t)
		c := r.controller(Act)
		c.names = names
		c.storm("C#secret", 200, 3*time.Second, 0)
		logs := r.log.String()
		if !strings.Contains(logs, "msg=grown "+want) || names != heat.Plain && strings.Contains(logs, "secret") {
			t.Errorf("%s: logs:\n%s", names, logs)
		}
	}
}

// TestAStormOnABusyKey: a key that was written all along is sized by the storm, not by
// the second before.
func TestAStormOnABusyKey(t *testing.T) {
	r := newRig(t)
	c := r.controller(Act)
	for range 50 { // 10 a second, none refused
		c.clock = c.clock.Add(100 * time.Millisecond)
		c.Offered("C#busy", 1, c.clock)
	}
	c.storm("C#busy", 200, 900*time.Millisecond, 0)
	if e := c.entry("C#busy"); e.Version != 0 {
		t.Fatalf("it grew before the storm's first second was over: %+v", e)
	}
	c.storm("C#busy", 200, 500*time.Millisecond, 0)
	if n := c.entry("C#busy").History.Newest(); n < 35 || n > 41 {
		t.Errorf("%d write shards, want about 40", n)
	}
}

// TestABoardGrows: a board's sightings are put under its own key, and count for
// other processes.
func TestABoardGrows(t *testing.T) {
	r := newRig(t)
	one, two := r.controller(Act), r.controller(Act)
	two.clock = one.clock.Add(300 * time.Millisecond)
	two.control = Observe
	two.storm("L#a#b", 200, 1200*time.Millisecond, 0)
	one.storm("L#a#b", 200, 1500*time.Millisecond, 0)
	e := one.entry("L#a#b")
	if n := e.History.Newest(); e.Version != 1 || n < 150 || n > 170 {
		t.Errorf("two writers of 200 units a second: %+v, want about 160 write shards", e)
	}
	if rate, _, err := two.sightings.rateOfOthers(t.Context(), "L#a#b", one.clock); err != nil || rate < 150 {
		t.Errorf("the other sees %v, %v", rate, err)
	}
}

func TestOtherProcessesCount(t *testing.T) {
	r := newRig(t)
	one, two := r.controller(Act), r.controller(Act)
	two.clock = one.clock.Add(-300 * time.Millisecond)
	two.storm("E#hot", 200, 1500*time.Millisecond, 0)
	if e := two.entry("E#hot"); e.History.Newest() < 75 {
		t.Fatalf("alone: %+v", e)
	}
	for range 3 { // sightings of a third writer, of one of another key
		three := r.controller(Observe)
		three.clock = one.clock.Add(200 * time.Millisecond)
		three.storm("C#shared", 100, 1200*time.Millisecond, 0)
	}
	one.storm("C#shared", 100, 1200*time.Millisecond, 0)
	if n := one.entry("C#shared").History.Newest(); n < 70 || n > 85 {
		t.Errorf("four writers of 100 a second: %d write shards, want about 80", n)
	}
}

func TestControlAndPins(t *testing.T) {
	r := newRig(t)
	for control, want := range map[Control]string{Observe: "would grow", Off: ""} {
		r.log.Reset()
		c := r.controller(control)
		c.storm("C#"+string(control), 200, 2*time.Second, 0)
		if e := c.entry("C#" + string(control)); e.Version != 0 {
			t.Errorf("%s: %+v", control, e)
		}
		if got := r.log.String(); want != "" && !strings.Contains(got, want) || want == "" && got != "" {
			t.Errorf("%s logged %q", control, got)
		}
	}
	c := r.controller(Act)
	err := ddb.ErrUnavailable
	for tries := 0; errors.Is(err, ddb.ErrUnavailable) && tries < 20; tries++ { // a busy machine may need more than a change's second
		_, err = c.changer.Pin(t.Context(), "C#pinned", 3, ddb.Note{}, c.clock.Add(-time.Hour))
	}
	if err != nil && !errors.Is(err, ddb.ErrNoChange) {
		t.Fatal(err)
	}
	c.storm("C#pinned", 200, 2*time.Second, 0)
	if e := c.entry("C#pinned"); e.History.Newest() != 3 {
		t.Errorf("a pinned key grew: %+v", e)
	}
}

// set makes a call that sets something, again while a busy machine can't change the
// shard map within a change's second.
func (r *rig) set(path, body string, header ...string) (got answer) {
	r.t.Helper()
	for range 20 {
		if got = r.send(http.MethodPut, path, body, header...); got.status != http.StatusServiceUnavailable {
			break
		}
	}
	return got
}

func TestPutShards(t *testing.T) {
	r := newRig(t)
	put := func(body string) answer { return r.set("/v1/shards", body) }
	var shown httpapi.ShardCount
	got := put(`{"type":"board","name":"a#b","shards":8}`)
	got.decode(t, &shown)
	if got.status != 200 || shown.Shards != 8 || !shown.Pinned || shown.Max != 8 || len(shown.History) != 1 || shown.History[0].By != "api" {
		t.Fatalf("got %d %s", got.status, got.body)
	}
	again := put(`{"type":"board","name":"a#b","shards":8}`)
	if again.status != 200 || string(again.body) != string(got.body) {
		t.Errorf("the same pin: %d %s", again.status, again.body)
	}
	put(`{"type":"board","name":"a#b","shards":null}`).decode(t, &shown)
	if shown.Pinned || shown.Shards != 8 {
		t.Errorf("unpinned: %+v", shown)
	}
	for body, location := range map[string]string{
		`{"type":"board","name":"x"}`:                "body",
		`{"type":"thing","name":"x","shards":1}`:     "body.type",
		`{"type":"board","name":"","shards":1}`:      "body.name",
		`{"type":"board","name":"x","shards":0}`:     "body.shards",
		`{"type":"board","name":"x","shards":1001}`:  "body.shards",
		`{"type":"board","name":"x","shards":"2"}`:   "body.shards",
		`{"type":"board","name":"x","shards":[2,3]}`: "body.shards",
	} {
		got := put(body)
		if got.status != 422 {
			t.Errorf("%s: %d %s", body, got.status, got.body)
		}
		checkProblem(t, got, location)
	}
}
