package table_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"golang.org/x/sync/errgroup"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
	"github.com/hotshard/hotshard/pkg/shard/table"
)

// TestFixedCountGrowsOnEngine grows a table from 16 to 32 write shards, while programs write readings, write them again, and
// read ranges, pages and single readings. Python has written the table's first readings. Each read has each reading once, in
// order, that was accepted before the read began, and at the end each is stored once.
func TestFixedCountGrowsOnEngine(t *testing.T) {
	t.Parallel()
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	d := libtest.Deploy(t)
	w := &field{t: t, d: d, name: libtest.Theirs(t, d.Client, "S"), begin: time.Now().Add(-time.Hour).Truncate(time.Second), accepted: map[string]map[string]bool{}, sent: map[string]bool{}}
	w.writePython()
	ctx, stop := context.WithCancel(libtest.Within(t))
	var group errgroup.Group
	for i := range 6 {
		p, random := w.program(), rand.New(rand.NewPCG(seed, uint64(i)))
		group.Go(func() error {
			for ctx.Err() == nil {
				if err := w.act(p, random, i < 3); err != nil {
					return err
				}
			}
			return nil
		})
	}
	changer := d.Changer(shardmap.ChangerOptions{})
	time.Sleep(time.Second)
	var entry shardmap.Entry
	libtest.Insist(t, func() (err error) {
		entry, err = changer.GrowFrom(t.Context(), shardmap.Entry{Key: group16}, 32, libtest.Note, time.Now())
		return err
	})
	time.Sleep(time.Until(entry.Effective()) + time.Duration(require.Runs(2, 60))*time.Second)
	stop()
	require.NoError(t, group.Wait())
	w.checkStored()
}

const group16 = "readings/" + group

// field is a table of sensors' readings, with what its programs have written.
type field struct {
	t     *testing.T
	d     *libtest.Deployment
	name  string
	begin time.Time

	mu       sync.Mutex
	made     int
	accepted map[string]map[string]bool // stamps of each sensor
	sent     map[string]bool            // sensors and stamps, accepted or in flight
}

// program returns the table with a view of the shard map of its own.
func (w *field) program() table.Table {
	view := shardmap.New(w.d.Client, w.d.Names.ShardMap, shardmap.Options{})
	return sensors(w.d.Client, w.name, table.AtLeast{N: 16, Counts: table.Namespace{Prefix: "readings/", Counts: view}})
}

// writePython stores readings as Python does: the write shards of testdata/fixedcount.tsv, a second apart.
func (w *field) writePython() {
	for i, r := range readings(w.t) {
		at := w.begin.Add(time.Duration(i) * time.Second)
		stamp := shard.Micros.Format(at)
		it := table.Item{"customer": libtest.Str(r.shard16() + "#" + at.UTC().Format("2006-01-02-15")), "placed": libtest.Str(r.sensor + "#" + stamp), "n": libtest.Num(1)}
		_, err := w.d.Client.PutItem(w.t.Context(), &dynamodb.PutItemInput{TableName: &w.name, Item: it})
		require.NoError(w.t, err)
		w.accept(r.sensor, stamp)
	}
}

func (w *field) accept(sensor, stamp string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.accepted[sensor] == nil {
		w.accepted[sensor] = map[string]bool{}
	}
	w.accepted[sensor][stamp], w.sent[sensor+"#"+stamp] = true, true
}

// known returns the sensor's accepted stamps.
func (w *field) known(sensor string) (list []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for stamp := range w.accepted[sensor] {
		list = append(list, stamp)
	}
	return list
}

// send returns a new stamp near now.
func (w *field) send(sensor string, random *rand.Rand) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.made++
	at := time.Now().Add(time.Duration(random.Int64N(int64(3*time.Second))) - 2*time.Second)
	stamp := shard.Micros.Key(at, "#", fmt.Sprint(w.made))
	w.sent[sensor+"#"+stamp] = true
	return stamp
}

// act makes one call of a writer or a reader.
func (w *field) act(p table.Table, random *rand.Rand, writes bool) error {
	ctx, sensor := w.t.Context(), fmt.Sprintf("sensor-%d", random.IntN(12))
	known := w.known(sensor)
	old := known[random.IntN(len(known))]
	switch n := random.IntN(4); {
	case writes && n < 3:
		stamp := w.send(sensor, random)
		if n == 0 {
			stamp = old
		}
		if err := p.Put(ctx, readingOf(sensor, stamp, 1), time.Now()); err != nil {
			return err
		}
		w.accept(sensor, stamp)
		return nil
	case writes:
		_, err := p.Update(ctx, readingOf(sensor, old, 0), &dynamodb.UpdateItemInput{
			UpdateExpression: aws.String("ADD n :one"), ExpressionAttributeValues: table.Item{":one": libtest.Num(1)}, ConditionExpression: aws.String("attribute_exists(n)"),
		}, time.Now())
		return err
	case n == 0:
		_, err := p.Get(ctx, readingOf(sensor, old, 0), time.Now())
		return err
	}
	got, err := w.read(p, sensor, random)
	if err != nil {
		return err
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	for i, stamp := range got {
		if i > 0 && got[i-1] >= stamp || !w.sent[sensor+"#"+stamp] {
			return fmt.Errorf("%s: the range has %s after %s", sensor, stamp, got[max(0, i-1)])
		}
	}
	for _, stamp := range known {
		if _, found := slices.BinarySearch(got, stamp); !found {
			return fmt.Errorf("%s: the range of %d readings lacks %s", sensor, len(got), stamp)
		}
	}
	return nil
}

// read returns all stamps of a sensor, by a query or by pages.
func (w *field) read(p table.Table, sensor string, random *rand.Rand) (got []string, err error) {
	span := table.During(shard.Micros, w.begin, time.Now().Add(time.Hour))
	span.Consistent = true
	if random.IntN(2) == 0 {
		for it, err := range p.Query(w.t.Context(), sensor, span, time.Now()) {
			if err != nil {
				return nil, err
			}
			got = append(got, libtest.Text(it["placed"]))
		}
		return got, nil
	}
	for span.Limit = 1 + random.IntN(20); ; {
		page, err := p.Page(w.t.Context(), sensor, span, time.Now())
		if err != nil {
			return nil, err
		}
		for _, it := range page.Items {
			got = append(got, libtest.Text(it["placed"]))
		}
		if span.After = page.Next; span.After == "" {
			return got, nil
		}
	}
}

// checkStored scans the table: each accepted reading is stored once, and new write shards have readings.
func (w *field) checkStored() {
	stored, grown := map[string]int{}, 0
	pages := dynamodb.NewScanPaginator(w.d.Client, &dynamodb.ScanInput{TableName: &w.name})
	for pages.HasMorePages() {
		page, err := pages.NextPage(libtest.Within(w.t))
		require.NoError(w.t, err)
		for _, it := range page.Items {
			stored[libtest.Text(it["placed"])]++
			var n int
			if _, err := fmt.Sscanf(libtest.Text(it["customer"]), "%d#", &n); err == nil && n >= 16 {
				grown++
			}
		}
	}
	accepted := 0
	for sensor, stamps := range w.accepted {
		for stamp := range stamps {
			if accepted++; stored[sensor+"#"+stamp] != 1 {
				w.t.Errorf("%s at %s is stored %d times", sensor, stamp, stored[sensor+"#"+stamp])
			}
		}
	}
	if w.t.Logf("%d readings, %d on write shards above 15", accepted, grown); grown == 0 || len(stored) != accepted {
		w.t.Errorf("%d readings are stored, %d on new write shards; want %d, some on new ones", len(stored), grown, accepted)
	}
}
