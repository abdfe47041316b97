package table_test

import (
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
	return table.Table{
		Client: client, Name: name, PartitionKey: "customer", SortKey: "placed", Shards: counts,
		Layout: table.HybridBuckets{Bucket: shard.Hour.Labeled("2006-01-02-15"), Stamp: shard.Micros, Group: group},
	}
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

// TestFixedCountGetsMap runs programs that read and write a table of readings which Python wrote over 16 write shards, while
// its count changes. Each read has each reading once, in order, with its newest value, and each is stored once. The first
// step of a seed is printed if it fails.
func TestFixedCountGetsMap(t *testing.T) {
	first := rand.Uint64N(1e9)
	for seed := first; seed < first+uint64(lane.Runs(60, 2000)); seed++ {
		f := newFleet(t, seed)
		for step := range 150 {
			f.step()
			if t.Failed() {
				t.Fatalf("seed %d, step %d: %s", seed, step, strings.Join(f.log[max(0, len(f.log)-12):], "; "))
			}
		}
		f.finish()
		if t.Failed() {
			t.Fatalf("seed %d: at the end: %v", seed, f.counts())
		}
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

func newFleet(t *testing.T, seed uint64) *fleet {
	f := &fleet{
		t: t, random: rand.New(rand.NewPCG(seed, 0)), db: newMemory(), want: map[string]map[string]int64{},
		now: libtest.Later.Add(59 * time.Minute), // so that readings are in two hours
	}
	shards := mapfake.New(10, 0, 0)
	for range 3 {
		view := shardmap.New(shards, "map", shardmap.Options{})
		f.programs = append(f.programs, &program{
			table:   sensors(f.db, "readings", table.AtLeast{N: 16, Counts: view}),
			changer: libtest.Patient(shardmap.NewChanger(shards, view, shardmap.ChangerOptions{})),
			skew:    time.Duration(f.random.Int64N(int64(time.Second))) - 500*time.Millisecond,
		})
	}
	for _, r := range readings(t) {
		f.db.put(r.item())
		f.set(r.sensor, r.stamp, 1)
	}
	return f
}

func (f *fleet) set(sensor, stamp string, n int64) {
	if f.want[sensor] == nil {
		f.want[sensor] = map[string]int64{}
	}
	f.want[sensor][stamp] = n
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
	case stamp != "" && n < 9:
		f.put(p, sensor, stamp, now)
	case stamp != "" && n < 10:
		f.update(p, sensor, stamp, now)
	case stamp != "" && n < 11:
		f.delete(p, sensor, stamp, now)
	case n < 13:
		f.change(p, now)
	case n < 15:
		f.check(p, sensor, now)
	case n < 18:
		f.page(p, sensor, now)
	default:
		longest := []time.Duration{2 * time.Second, 4 * time.Minute}[f.random.IntN(20)/19] // decreases take effect after minutes
		f.now = f.now.Add(f.within(0, longest))
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
}

func (f *fleet) delete(p *program, sensor, stamp string, now time.Time) {
	require.NoError(f.t, p.table.Delete(f.t.Context(), readingOf(sensor, stamp, 0), now))
	delete(f.want[sensor], stamp)
	for _, other := range f.programs {
		if other.sensor == sensor {
			delete(other.begun, stamp)
		}
	}
}

// change sets another count, also one below the baseline. A grower's growth may find that there is nothing to change.
func (f *fleet) change(p *program, now time.Time) {
	count := []int{4, 16, 20, 32, 32, 48, 64}[f.random.IntN(7)]
	if f.random.IntN(2) > 0 {
		_, err := p.changer.Pin(f.t.Context(), group, count, libtest.Note, now)
		require.NoError(f.t, err)
		return
	}
	_, _ = libtest.Grow(f.t.Context(), p.changer, group, count, now)
}

// check reads a sensor's readings in each way.
func (f *fleet) check(p *program, sensor string, now time.Time) {
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
	for _, stamp := range want[:min(3, len(want))] {
		it, err := p.table.Get(f.t.Context(), readingOf(sensor, stamp, 0), now)
		if err != nil || libtest.Text(it["n"]) != fmt.Sprint(f.want[sensor][stamp]) {
			f.t.Errorf("%s: Get at %s = %v, %v; want %d", sensor, stamp, it, err, f.want[sensor][stamp])
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
		p.span = table.During(shard.Micros, libtest.Later, libtest.Later.Add(48*time.Hour))
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
		if !slices.Contains(once, stamp) {
			f.t.Errorf("%s: pages lack %s: %v", p.sensor, stamp, p.read)
		}
	}
	p.sensor = ""
}

// finish checks all sensors, and that each reading is stored once.
func (f *fleet) finish() {
	f.thaw(true)
	for sensor := range f.want {
		f.check(f.programs[0], sensor, f.now.Add(f.programs[0].skew))
	}
	var want, got []string
	for sensor, list := range f.want {
		for stamp := range list {
			want = append(want, sensor+"#"+stamp)
		}
	}
	for _, it := range f.db.items {
		got = append(got, libtest.Text(it["placed"]))
	}
	slices.Sort(want)
	if slices.Sort(got); !slices.Equal(got, want) {
		f.t.Errorf("stored are %v, want %v", got, want)
	}
}

// counts returns the history of the count, for errors.
func (f *fleet) counts() shard.History {
	e, _ := f.programs[0].changer.Read(f.t.Context(), group)
	return e.History
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
	for _, at := range slices.Sorted(maps.Keys(m.items)) {
		pk, sk, _ := strings.Cut(at, "\x00")
		if pk == of(":pk") && sk >= of(":low") && sk <= of(":high") {
			out.Items = append(out.Items, maps.Clone(m.items[at]))
		}
	}
	if !aws.ToBool(in.ScanIndexForward) {
		slices.Reverse(out.Items)
	}
	out.Count = int32(len(out.Items))
	return out, nil
}
