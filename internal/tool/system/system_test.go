package system

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"sort"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"go.uber.org/goleak"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/internal/test/enginetest"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/tool/load"
)

// startWith runs a system on tables of its own, with changed options. Calling stop ends it and waits.
func startWith(t *testing.T, set func(*Options)) (s *System, stop func()) {
	t.Helper()
	prefix := enginetest.Prefix("system")
	ctx, cancel := context.WithCancel(t.Context())
	o := Options{
		Addr: "127.0.0.1:0", Endpoint: enginetest.Endpoint(t), Prefix: prefix, Window: time.Second, Idle: time.Second, Control: "act",
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)),
	}
	set(&o)
	s, err := Start(ctx, o)
	require.NoError(t, err)
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx) }()
	stop = func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("Run returned %v", err)
		}
		if n := s.DiscardedRecords(); n > 0 {
			t.Errorf("%d records were discarded", n)
		}
	}
	return s, stop
}

// TestHottestKeysOfLog replays real requests. The detector must count the log's hottest paths and clients within the
// certified error, and the aggregator all requests, with two readers of the streams and with one.
func TestHottestKeysOfLog(t *testing.T) {
	enginetest.Endpoint(t) // has its own goroutines
	for _, one := range []bool{false, true} {
		t.Run(fmt.Sprintf("one reader %t", one), func(t *testing.T) { testHottestKeysOfLog(t, one) })
	}
}

func testHottestKeysOfLog(t *testing.T, oneReader bool) {
	defer noLeak(t, goleak.IgnoreCurrent())
	count, keys := require.Runs(require.UnlessQuick(200, 100), 2000), require.Runs(require.UnlessQuick(100, 50), 200)
	source, err := load.LogSource("../../../events/access.log.gz", count)
	require.NoError(t, err)
	s, stop := startWith(t, func(o *Options) { o.OneReader = oneReader })
	result, err := load.Run(t.Context(), load.Options{Target: s.URL(), Source: source, Concurrency: 8, Verify: true})
	if err != nil || result.Accepted != count || result.Verify.Differences != 0 {
		t.Fatalf("result %+v, verification %+v, %v; want %d accepted and no differences", result, result.Verify, err, count)
	}
	var answer struct {
		Keys []struct {
			Key  string  `json:"key"`
			Rate float64 `json:"write_units_per_second"`
		}
	}
	eventually(t, func() bool {
		get(t, s.URL()+fmt.Sprint("/v1/hot-keys?limit=", keys), &answer)
		return len(answer.Keys) == keys
	})
	for i := 1; i < len(answer.Keys); i++ {
		if answer.Keys[i].Rate > answer.Keys[i-1].Rate {
			t.Errorf("%v is listed after %v", answer.Keys[i], answer.Keys[i-1])
		}
	}
	stop()
	low, high := s.counted(t)
	for _, want := range hottest(t, source)[:10] {
		if low[want.key] > want.units || high[want.key] < want.units {
			t.Errorf("%s: %d to %d write units are counted, want %d", want.key, low[want.key], high[want.key], want.units)
		}
	}
}

// noLeak checks that only goroutines of idle connections are left.
func noLeak(t *testing.T, before goleak.Option) {
	t.Helper()
	find := func() error {
		return goleak.Find(before,
			goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
	}
	leaked := find()
	for end := time.Now().Add(10 * time.Second); leaked != nil && time.Now().Before(end); {
		leaked = find()
	}
	if leaked != nil {
		t.Error(leaked)
	}
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(90 * time.Second); !ok(); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the condition was false for 90 s")
		}
	}
}

func get(t *testing.T, url string, into any) {
	t.Helper()
	response, err := http.Get(url)
	require.NoError(t, err)
	defer response.Body.Close()
	require.NoError(t, json.NewDecoder(response.Body).Decode(into))
}

type expected struct {
	key   string
	units uint64
}

// hottest returns the partition keys that the log writes, hottest first.
func hottest(t *testing.T, source load.Source) []expected {
	t.Helper()
	units := map[string]uint64{}
	for r, err := range source.Requests() {
		require.NoError(t, err)
		units[schema.Key{Base: schema.BaseKey{Type: schema.Counter, Name: r.Counter()}}.String()]++
		units[schema.Key{
			Base:   schema.BaseKey{Type: schema.Event, Name: r.Entity()},
			Bucket: schema.EventBucket.Label(r.Time),
		}.String()]++
	}
	var list []expected
	for key, n := range units {
		list = append(list, expected{key, n})
	}
	sort.Slice(list, func(i, j int) bool { return list[i].units > list[j].units })
	return list
}

// counted returns the certified bounds of each key's units in all windows.
func (s *System) counted(t *testing.T) (low, high map[string]uint64) {
	t.Helper()
	low, high = map[string]uint64{}, map[string]uint64{}
	var rest uint64
	for pages := dynamodb.NewScanPaginator(s.db, &dynamodb.ScanInput{TableName: &s.names.Heat}); pages.HasMorePages(); {
		page, err := pages.NextPage(t.Context())
		require.NoError(t, err)
		for _, attributes := range page.Items {
			if pk := attributes["pk"].(*types.AttributeValueMemberS).Value; pk < "K#2" || pk > "K#3" {
				continue // late items, minutes
			}
			item, err := heat.Parse(attributes)
			require.NoError(t, err)
			rest += item.Rest
			for _, k := range item.Keys {
				low[k.Key] += k.Units
				high[k.Key] += k.Units + k.Err
			}
		}
	}
	for key := range high {
		high[key] += rest
	}
	return low, high
}
