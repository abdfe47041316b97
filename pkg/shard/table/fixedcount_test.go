package table_test

import (
	"cmp"
	"context"
	_ "embed"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/test/lane"
	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/mapfake"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// stored has readings as the articles' Python stores them over 16 write shards; testdata/fixedcount.py made it.
//
//go:embed testdata/fixedcount.tsv
var stored string

// reading is a line of stored.
type reading struct {
	sensor, stamp string
	pk16, pk32    string
	sk            string
}

func readings(t *testing.T) (list []reading) {
	t.Helper()
	for line := range strings.Lines(stored) {
		f := strings.Split(strings.TrimSpace(line), "\t")
		if len(f) != 5 {
			t.Fatalf("line %q", line)
		}
		list = append(list, reading{f[0], f[1], f[2], f[3], f[4]})
	}
	return list
}

// item returns the reading as Python stored it.
func (r reading) item() table.Item {
	return table.Item{"customer": libtest.Str(r.pk16), "placed": libtest.Str(r.sk), "n": libtest.Num(1)}
}

// shard16 returns the write shard of the reading among 16.
func (r reading) shard16() string {
	n, _, _ := strings.Cut(r.pk16, "#")
	return n
}

func (r reading) key() table.Item {
	return table.Item{"customer": libtest.Str(r.sensor), "placed": libtest.Str(r.stamp)}
}

const group = "readings" // the key of the sensors' count

// sensors returns the table of the readings.
func sensors(client table.Client, name string, counts table.Counts) table.Table {
	return table.Table{Client: client, Name: name, PartitionKey: "customer", SortKey: "placed", Shards: counts, Layout: layouts["hybrid"]}
}

// TestKeysOfPython checks that the library stores a reading where Python does, with 16 write shards and with 32.
func TestKeysOfPython(t *testing.T) {
	db := newMemory()
	for _, r := range readings(t) {
		for n, want := range map[table.Fixed]string{16: r.pk16, 32: r.pk32} {
			readings := sensors(db, "readings", n)
			require.NoError(t, readings.Put(t.Context(), r.key(), libtest.Epoch))
			if db.items[want+"\x00"+r.sk] == nil {
				t.Errorf("%s at %s is not under %s: %v", r.sensor, r.stamp, want, slices.Collect(maps.Keys(db.items)))
			}
			clear(db.items)
		}
	}
}

// layouts are those whose fixed count may get a map.
var layouts = map[string]table.Layout{
	"hybrid": table.HybridBuckets{Bucket: shard.Hour.Labeled("2006-01-02-15"), Stamp: shard.Micros, Group: group},
	"random": table.RandomSuffix{}, "calculated": table.CalculatedSuffix{Time: table.SortTime("placed", shard.Micros)},
	"buckets": table.TimeBuckets{Bucket: shard.Hour, Stamp: shard.Micros, By: "placed"},
}

// TestFixedCountGetsMap runs programs that read and write a table of readings which were written over 16 write shards, those
// of hybrid buckets by Python, while counts change. Each read has each reading once, in order, with its newest value, and
// each is stored once. Some changes are committed late, since their Changer died. Until all programs know them, reads may
// miss readings, and those that were written meanwhile may be stored twice.
func TestFixedCountGetsMap(t *testing.T) {
	first := rand.Uint64N(1e9)
	for name, layout := range layouts {
		t.Run(name, func(t *testing.T) {
			for seed := first; seed < first+uint64(lane.Runs(8, 1000)); seed++ {
				f := newFleet(t, seed, layout)
				for step := range 150 {
					f.step()
					if t.Failed() {
						t.Fatalf("seed %d, step %d: %s", seed, step, strings.Join(f.log[max(0, len(f.log)-12):], "; "))
					}
				}
				f.finish()
				if t.Failed() {
					t.Fatalf("seed %d, at the end", seed)
				}
			}
		})
	}
}

// fleet is programs that share a table and a shard map. Each has its own view of the map, and their clocks differ by up to a
// second.
type fleet struct {
	t        *testing.T
	random   *rand.Rand
	now      time.Time // true time
	db       *memory
	programs []*program
	want     map[string]map[string]int64 // each sensor's readings: their values by stamp
	frozen   []frozenPut
	log      []string
	made     int
	layout   table.Layout
	findable bool // single readings are found, and a repeated put replaces its reading

	shards    *mapfake.Table
	late      []lateChange
	unsettled time.Time       // until then a late change may not be known to all programs
	murky     map[string]bool // sensors and stamps that were written meanwhile
}

// lateChange is a change of a count whose Changer died. It is committed at a time if the key has not changed since.
type lateChange struct {
	at      time.Time
	version string
	items   []dynamo.Item // the first is the key's
}

// program is one of the fleet's programs, with a range that it reads in pages.
type program struct {
	table   table.Table
	changer *shardmap.Changer
	skew    time.Duration

	sensor string           // of the open range; "" for none
	span   table.Span       // its next page
	begun  map[string]int64 // the sensor's readings when the range was begun, without those deleted since
	read   []string         // stamps
}

// frozenPut is a put that a program has prepared and sends later.
type frozenPut struct {
	action        *types.Put
	sensor, stamp string
	value         int64
	until         time.Time
}

func newFleet(t *testing.T, seed uint64, layout table.Layout) *fleet {
	f := &fleet{
		t: t, random: rand.New(rand.NewPCG(seed, 0)), db: newMemory(), want: map[string]map[string]int64{}, layout: layout, findable: layout != table.RandomSuffix{},
		now:    libtest.Later.Add(59 * time.Minute), // so that readings are in two hours
		shards: mapfake.New(10, 0, 0), murky: map[string]bool{},
	}
	for range 3 {
		view := shardmap.New(f.shards, "map", shardmap.Options{})
		p := &program{
			table:   sensors(f.db, "readings", table.AtLeast{N: 16, Counts: view}),
			changer: libtest.Patient(shardmap.NewChanger(f.shards, view, shardmap.ChangerOptions{})),
			skew:    time.Duration(f.random.Int64N(int64(time.Second))) - 500*time.Millisecond,
		}
		p.table.Layout = layout
		f.programs = append(f.programs, p)
	}
	before := sensors(f.db, "readings", table.Fixed(16))
	before.Layout = layout
	_, python := layout.(table.HybridBuckets)
	for _, r := range readings(t) {
		if f.set(r.sensor, r.stamp, 1); python {
			f.db.put(r.item())
		} else {
			require.NoError(t, before.Put(t.Context(), readingOf(r.sensor, r.stamp, 1), f.now))
		}
	}
	return f
}

// settled reports whether all programs know all changes. If not, it notes that the reading may be stored twice.
func (f *fleet) settled(sensor, stamp string) bool {
	if f.now.Before(f.unsettled) && stamp != "" {
		f.murky[sensor+"#"+stamp] = true
	}
	return !f.now.Before(f.unsettled)
}

func (f *fleet) set(sensor, stamp string, n int64) {
	if f.want[sensor] == nil {
		f.want[sensor] = map[string]int64{}
	}
	f.want[sensor][stamp] = n
	f.settled(sensor, stamp)
}

func (f *fleet) within(low, high time.Duration) time.Duration {
	return low + time.Duration(f.random.Int64N(int64(high-low)+1))
}

// any returns a random sensor and one of its readings, "" if it has none.
func (f *fleet) any() (sensor, stamp string) {
	sensor = fmt.Sprintf("sensor-%d", f.random.IntN(12))
	if list := slices.Sorted(maps.Keys(f.want[sensor])); len(list) > 0 {
		stamp = list[f.random.IntN(len(list))]
	}
	return sensor, stamp
}

// step makes one program do something, or lets time pass.
func (f *fleet) step() {
	p := f.programs[f.random.IntN(len(f.programs))]
	now := f.now.Add(p.skew)
	sensor, stamp := f.any()
	n := f.random.IntN(24)
	f.log = append(f.log, fmt.Sprintf("%d %s %s at %s", n, sensor, stamp, now.Format("15:04:05.000")))
	switch {
	case n < 6:
		at := now.Add(f.within(-20*time.Second, shardmap.MaxAhead-time.Second)).Truncate(time.Microsecond)
		f.put(p, sensor, shard.Micros.Format(at), now)
	case f.findable && stamp != "" && n < 9:
		f.put(p, sensor, stamp, now)
	case f.findable && stamp != "" && n < 10:
		f.update(p, sensor, stamp, now)
	case f.findable && stamp != "" && n < 11:
		f.delete(p, sensor, stamp, now)
	case n < 13:
		f.change(p, sensor, now)
	case n < 15:
		f.check(p, sensor, now)
	case n < 18:
		f.page(p, sensor, now)
	default:
		longest := []time.Duration{2 * time.Second, 4 * time.Minute}[f.random.IntN(20)/19] // decreases take effect after minutes
		f.now = f.now.Add(f.within(0, longest))
		f.commit()
		f.thaw(false)
	}
}

func readingOf(sensor, stamp string, n int64) table.Item {
	return table.Item{"customer": libtest.Str(sensor), "placed": libtest.Str(stamp), "n": libtest.Num(n)}
}

// put writes a reading, at once or up to 5 s after the program has chosen the write shard.
func (f *fleet) put(p *program, sensor, stamp string, now time.Time) {
	f.made++
	it := readingOf(sensor, stamp, int64(100*f.made))
	if f.random.IntN(3) > 0 {
		require.NoError(f.t, p.table.Put(f.t.Context(), it, now))
		f.set(sensor, stamp, int64(100*f.made))
		return
	}
	w, err := p.table.PutTransact(f.t.Context(), it, now)
	require.NoError(f.t, err)
	f.frozen = append(f.frozen, frozenPut{w.Action.Put, sensor, stamp, int64(100 * f.made), f.now.Add(f.within(0, 5*time.Second))})
}

// thaw sends the frozen puts whose time has come, or all.
func (f *fleet) thaw(all bool) {
	f.frozen = slices.DeleteFunc(f.frozen, func(w frozenPut) bool {
		if !all && w.until.After(f.now) {
			return false
		}
		f.db.put(w.action.Item)
		f.set(w.sensor, w.stamp, w.value)
		return true
	})
}

func (f *fleet) update(p *program, sensor, stamp string, now time.Time) {
	_, err := p.table.Update(f.t.Context(), readingOf(sensor, stamp, 0), &dynamodb.UpdateItemInput{
		UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: table.Item{":one": libtest.Num(1)},
	}, now)
	require.NoError(f.t, err)
	f.want[sensor][stamp]++
	f.settled(sensor, stamp)
}

func (f *fleet) delete(p *program, sensor, stamp string, now time.Time) {
	require.NoError(f.t, p.table.Delete(f.t.Context(), readingOf(sensor, stamp, 0), now))
	delete(f.want[sensor], stamp)
	f.settled(sensor, stamp)
	for _, other := range f.programs {
		if other.sensor == sensor {
			delete(other.begun, stamp)
		}
	}
}

// change sets another count, also one below the baseline. A grower's growth may find that there is nothing to change.
func (f *fleet) change(p *program, key string, now time.Time) {
	if h, is := f.layout.(table.HybridBuckets); is {
		key = h.Group
	}
	if slices.ContainsFunc(f.late, func(l lateChange) bool { return dynamo.Text(l.items[0], "sk") == key }) {
		return // it would void the late change
	}
	count := []int{4, 16, 20, 32, 32, 48, 64}[f.random.IntN(7)]
	if f.findable && f.random.IntN(4) == 0 {
		f.die(key, count, now)
		return
	}
	if f.random.IntN(2) > 0 {
		_, err := p.changer.Pin(f.t.Context(), key, count, libtest.Note, now)
		require.NoError(f.t, err)
		return
	}
	_, _ = libtest.Grow(f.t.Context(), p.changer, key, count, now)
}

// die makes a change whose commit arrives after its Changer died: on a copy of the map now, and on the map later.
func (f *fleet) die(key string, count int, now time.Time) {
	scratch := mapfake.New(10, 0, 0)
	maps.Copy(scratch.Items, f.shards.Items)
	changer := libtest.Patient(shardmap.NewChanger(scratch, shardmap.New(scratch, "map", shardmap.Options{}), shardmap.ChangerOptions{}))
	old, err := changer.Read(f.t.Context(), key)
	require.NoError(f.t, err)
	_, err = changer.Pin(f.t.Context(), key, count, libtest.Note, now)
	require.NoError(f.t, err)
	late := lateChange{at: f.now.Add(f.within(0, shardmap.LateTime)), version: fmt.Sprint(old.Version)}
	for at, it := range scratch.Items {
		switch {
		case dynamo.Text(it, "sk") == key:
			late.items = append([]dynamo.Item{it}, late.items...)
		case f.shards.Items[at] == nil:
			late.items = append(late.items, it)
		}
	}
	f.late = append(f.late, late)
}

// commit makes the late changes whose time has come. Each program looks back for them within LateTime.
func (f *fleet) commit() {
	f.late = slices.DeleteFunc(f.late, func(l lateChange) bool {
		if l.at.After(f.now) {
			return false
		}
		there := f.shards.Items[mapfake.Slot(l.items[0])]
		if version := cmp.Or(dynamo.Digits(there, "version"), "0"); version == l.version {
			for _, it := range l.items {
				f.shards.Put(it)
			}
			f.unsettled = f.now.Add(shardmap.LateTime + 5*time.Second)
		}
		return true
	})
}

// clear reports whether a read is exact, for a sensor none of whose readings may be stored twice. If not, only the order of
// readings is checked.
func (f *fleet) clear(sensor string) bool {
	for name := range f.murky {
		if strings.HasPrefix(name, sensor+"#") {
			return false
		}
	}
	return f.settled(sensor, "")
}

// check reads a sensor's readings in each way.
func (f *fleet) check(p *program, sensor string, now time.Time) {
	if !f.clear(sensor) {
		f.checkMurky(p, sensor, now)
		return
	}
	var got []string
	span := f.all()
	for it, err := range p.table.Query(f.t.Context(), sensor, span, now) {
		require.NoError(f.t, err)
		stamp, n := libtest.Text(it["placed"]), libtest.Text(it["n"])
		if want := fmt.Sprint(f.want[sensor][stamp]); n != want {
			f.t.Errorf("%s at %s is %s, want %s", sensor, stamp, n, want)
		}
		got = append(got, stamp)
	}
	want := slices.Sorted(maps.Keys(f.want[sensor]))
	if !slices.Equal(got, want) {
		f.t.Errorf("%s: a query reads %v, want %v", sensor, got, want)
	}
	if n, err := p.table.Count(f.t.Context(), sensor, span, now); err != nil || n != len(want) {
		f.t.Errorf("%s: counted %d, %v; want %d", sensor, n, err, len(want))
	}
	for _, stamp := range want {
		if !f.findable {
			break
		}
		it, err := p.table.Get(f.t.Context(), readingOf(sensor, stamp, 0), now)
		if err != nil || libtest.Text(it["n"]) != fmt.Sprint(f.want[sensor][stamp]) {
			f.t.Errorf("%s: Get at %s = %v, %v; want %d", sensor, stamp, it, err, f.want[sensor][stamp])
		}
	}
}

// checkMurky checks that a query has each reading once, in order, and once all programs know all changes, that none is missing.
func (f *fleet) checkMurky(p *program, sensor string, now time.Time) {
	var got []string
	for it, err := range p.table.Query(f.t.Context(), sensor, f.all(), now) {
		require.NoError(f.t, err)
		got = append(got, libtest.Text(it["placed"]))
	}
	if !slices.Equal(got, slices.Compact(slices.Sorted(slices.Values(got)))) {
		f.t.Errorf("%s: a query reads %v", sensor, got)
	}
	for stamp := range f.want[sensor] {
		if _, found := slices.BinarySearch(got, stamp); !found && f.settled(sensor, "") {
			f.t.Errorf("%s: a query after a late change lacks %s: %v", sensor, stamp, got)
		}
		if _, err := p.table.Get(f.t.Context(), readingOf(sensor, stamp, 0), now); err != nil && f.settled(sensor, "") {
			f.t.Errorf("%s: Get after a late change: %v", sensor, err)
		}
	}
}

// all returns the span of all readings.
func (f *fleet) all() table.Span {
	return table.During(shard.Micros, libtest.Later, f.now.Add(time.Minute))
}

// page reads the next page of the program's range, or begins one.
func (f *fleet) page(p *program, sensor string, now time.Time) {
	if p.sensor == "" {
		p.sensor, p.read, p.begun = sensor, nil, maps.Clone(f.want[sensor])
		p.span = table.During(shard.Micros, libtest.Later, libtest.Later.Add(6*time.Hour))
		p.span.Limit, p.span.Desc = 1+f.random.IntN(4), f.random.IntN(2) > 0
	}
	page, err := p.table.Page(f.t.Context(), p.sensor, p.span, now)
	require.NoError(f.t, err)
	for _, it := range page.Items {
		p.read = append(p.read, libtest.Text(it["placed"]))
	}
	if p.span.After = page.Next; page.Next != "" {
		return
	}
	sorted := slices.Clone(p.read)
	if p.span.Desc {
		slices.Reverse(sorted)
	}
	once := slices.Compact(slices.Sorted(slices.Values(sorted)))
	if !slices.Equal(once, sorted) {
		f.t.Errorf("%s: pages read %v", p.sensor, p.read)
	}
	for stamp := range p.begun {
		if !slices.Contains(once, stamp) && f.clear(p.sensor) {
			f.t.Errorf("%s: pages lack %s: %v", p.sensor, stamp, p.read)
		}
	}
	p.sensor = ""
}

// finish checks all sensors, and that each reading is stored once.
func (f *fleet) finish() {
	f.thaw(true)
	f.now = f.now.Add(2 * shardmap.LateTime)
	f.commit()
	f.now = f.now.Add(2 * shardmap.LateTime)
	want := 0
	for sensor, list := range f.want {
		f.check(f.programs[0], sensor, f.now.Add(f.programs[0].skew))
		want += len(list)
	}
	if got := len(f.db.items); got != want && len(f.murky) == 0 {
		f.t.Errorf("%d readings are stored, want %d", got, want)
	}
}

// memory is a table in memory. It knows no conditions, and one form of update: ADD n.
type memory struct {
	mu    sync.Mutex
	items map[string]table.Item // by partition key and sort key
}

func newMemory() *memory { return &memory{items: map[string]table.Item{}} }

func slot(key table.Item) string {
	return libtest.Text(key["customer"]) + "\x00" + libtest.Text(key["placed"])
}

func (m *memory) put(it table.Item) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.items[slot(it)] = maps.Clone(it)
}

func (m *memory) PutItem(_ context.Context, in *dynamodb.PutItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.PutItemOutput, error) {
	m.put(in.Item)
	return &dynamodb.PutItemOutput{}, nil
}

func (m *memory) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return &dynamodb.GetItemOutput{Item: maps.Clone(m.items[slot(in.Key)])}, nil
}

func (m *memory) DeleteItem(_ context.Context, in *dynamodb.DeleteItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.DeleteItemOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.items, slot(in.Key))
	return &dynamodb.DeleteItemOutput{}, nil
}

func (m *memory) UpdateItem(_ context.Context, in *dynamodb.UpdateItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.UpdateItemOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	it := maps.Clone(in.Key)
	maps.Copy(it, m.items[slot(in.Key)])
	n, err := dynamo.Integer(it, "n")
	if err != nil {
		return nil, err
	}
	it["n"] = libtest.Num(n + 1)
	m.items[slot(in.Key)] = it
	return &dynamodb.UpdateItemOutput{}, nil
}

// Query returns the items of a partition between :low and :high, in order.
func (m *memory) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	of := func(name string) string { return libtest.Text(in.ExpressionAttributeValues[name]) }
	out := &dynamodb.QueryOutput{}
	pk, low, high := of(":pk")+"\x00", of(":low"), of(":high")
	var found []string
	for at := range m.items {
		if sk, of := strings.CutPrefix(at, pk); of && sk >= low && sk <= high {
			found = append(found, at)
		}
	}
	slices.Sort(found)
	for _, at := range found {
		out.Items = append(out.Items, maps.Clone(m.items[at]))
	}
	if !aws.ToBool(in.ScanIndexForward) {
		slices.Reverse(out.Items)
	}
	out.Count = int32(len(out.Items))
	return out, nil
}
