package query

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	jsonv2 "github.com/go-json-experiment/json"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/httpapi"
	"github.com/hotshard/hotshard/internal/test/cputime"
	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/internal/throttle/jsonitem"
)

// shelf is a fake of DynamoDB that answers queries with encoded items. So the measured CPU time is the client's.
type shelf struct {
	items map[string][]shelved // by partition key, in order of sort keys
	units float64              // read units of the eventually consistent queries
}

type shelved struct {
	sk   string
	text []byte
	size int
}

const pageBytes = 1 << 20

func (s *shelf) put(item dynamo.Item) {
	text, err := jsonv2.Marshal(item, jsonitem.Codec)
	if err != nil {
		panic(err)
	}
	if s.items == nil {
		s.items = map[string][]shelved{}
	}
	pk := dynamo.Text(item, "pk")
	s.items[pk] = append(s.items[pk], shelved{dynamo.Text(item, "sk"), text, dynamo.Size(item)})
}

func (s *shelf) sort() {
	for _, list := range s.items {
		slices.SortFunc(list, func(a, b shelved) int { return strings.Compare(a.sk, b.sk) })
	}
}

func (s *shelf) RoundTrip(r *http.Request) (*http.Response, error) {
	var in struct {
		ExpressionAttributeValues map[string]struct{ S string }
		ExclusiveStartKey         map[string]struct{ S string }
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		return nil, err
	}
	var out []io.Reader
	out = append(out, strings.NewReader(`{"Items":[`))
	pk, size := in.ExpressionAttributeValues[":pk"].S, 0
	low, high, after := in.ExpressionAttributeValues[":low"].S, in.ExpressionAttributeValues[":high"].S, in.ExclusiveStartKey["sk"].S
	last := ""
	list := s.items[pk]
	from, _ := slices.BinarySearchFunc(list, max(low, after), func(i shelved, sk string) int { return strings.Compare(i.sk, sk) })
	for _, i := range list[from:] {
		if i.sk <= after || i.sk > high {
			continue
		}
		if size > pageBytes {
			last = fmt.Sprintf(`,"LastEvaluatedKey":{"pk":{"S":%q},"sk":{"S":%q}}`, pk, after)
			break
		}
		if size > 0 {
			out = append(out, strings.NewReader(","))
		}
		out = append(out, bytes.NewReader(i.text))
		size, after = size+i.size, i.sk
	}
	s.units += max(0.5, float64(size)/8192)
	out = append(out, strings.NewReader("]"+last+"}"))
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		ContentLength: -1, Body: io.NopCloser(io.MultiReader(out...)), Request: r,
	}, nil
}

// unfolded is the maximum age of a window that is in no layer: the task runs once a minute, and folds windows that ended
// 10 s before.
const unfolded = 80 * time.Second

// storm fills the shelf with windows of 10 s up to now. Each stream shard has 200 keys: a write shard of a counter in a
// storm, one of a counter with skew, and 198 other counters.
func (s *shelf) storm(shards int, since time.Duration, now time.Time) {
	random := rand.New(rand.NewPCG(1, uint64(shards)))
	const window = 10 * time.Second
	first := now.Add(-since).Truncate(10 * time.Minute)
	progress := heat.Progress{From: first, To: now.Add(-unfolded).Truncate(window), Late: now}
	s.put(progress.Attributes())
	var windows, minutes []heat.Item
	fold := func(layer heat.Layer, items []heat.Item, start time.Time) []heat.Item {
		folded := layer.Fold(items, start)
		for _, it := range folded {
			s.put(layer.Stored(&it, now.Add(time.Hour)))
		}
		return folded
	}
	for start := first; start.Add(window).Before(now); start = start.Add(window) {
		if start.Equal(start.Truncate(10*time.Minute)) && start.After(first) && start.Before(now.Add(-40*time.Minute)) {
			start = start.Add(10*time.Minute - window) // the last window represents all of the ten minutes
		}
		var items []heat.Item
		for n := range shards {
			item := heat.Item{Start: start, Window: window, StreamShard: fmt.Sprintf("shardId-%020d-%08x", n, n), Limit: 1000, HotRate: 700, Records: 9000, Rest: 12}
			add := func(key string, units uint64) {
				item.Units += units
				item.Keys = append(item.Keys, heat.Key{Key: key, Units: units, Err: 3, Writes: units, Peak: units / 9, PeakAt: start.Add(time.Second)})
			}
			add(fmt.Sprintf("C#page/viral#%d", n), 7000+random.Uint64N(1000))
			if n == 1 {
				add("C#page/skewed#1", 7500)
			} else {
				add(fmt.Sprintf("C#page/skewed#%d", n), 60)
			}
			for i := range 198 {
				add(fmt.Sprintf("C#page/item-%05d#0", (n*198+i*7)%20_000), 15+random.Uint64N(400)/uint64(i+1))
			}
			if start.Add(10 * time.Minute).After(now) { // older windows are not read
				s.put(item.Stored(now.Add(time.Hour)))
			}
			items = append(items, item)
		}
		end := start.Add(window)
		if end.After(progress.To) {
			continue
		}
		windows = append(windows, fold(heat.ByWindow, items, start)...)
		if end.Equal(end.Truncate(time.Minute)) {
			minutes = append(minutes, fold(heat.ByMinute, windows, end.Add(-time.Minute))...)
			windows = nil
		}
		if end.Equal(end.Truncate(10 * time.Minute)) {
			fold(heat.ByTenMinutes, minutes, end.Add(-10*time.Minute))
			minutes = nil
		}
	}
	s.sort()
}

func (s *shelf) client() *dynamodb.Client {
	return dynamodb.New(dynamodb.Options{
		Region: "us-east-1", BaseEndpoint: aws.String("http://127.0.0.1:1"), HTTPClient: &http.Client{Transport: s},
		Credentials: credentials.NewStaticCredentialsProvider("k", "s", ""), DisableValidateResponseChecksum: true,
	})
}

// BenchmarkHeat measures GET /v1/hot-keys and /v1/heat in a storm: the process's CPU time and the read units of a call.
func BenchmarkHeat(b *testing.B) {
	now := time.Date(2026, 1, 5, 12, 43, 25, 0, time.UTC)
	for _, shards := range []int{4, 16, 64} {
		for _, since := range []time.Duration{15 * time.Minute, 24 * time.Hour} {
			s := &shelf{}
			s.storm(shards, since, now)
			service, err := New(Settings{ItemsTable: "i", RollupsTable: "r", HeatTable: "h", ShardMapTable: "m", Deadline: 25 * time.Second}, s.client())
			require.NoError(b, err)
			service.setClock(func() time.Time { return now })
			handler := httpapi.New(slog.New(slog.DiscardHandler), Routes(service))
			for name, path := range map[string]string{
				"hot-keys": fmt.Sprintf("/v1/hot-keys?since=%s", since),
				"heat":     "/v1/heat?from=" + now.Add(-since).Format(time.RFC3339),
			} {
				b.Run(fmt.Sprintf("%s/shards=%d/since=%s", name, shards, since), func(b *testing.B) {
					s.units = 0
					b.ReportAllocs()
					b.ResetTimer()
					before := cputime.Used()
					for range b.N {
						got := httptest.NewRecorder()
						handler.ServeHTTP(got, httptest.NewRequestWithContext(b.Context(), http.MethodGet, path, nil))
						if got.Code != http.StatusOK || !strings.Contains(got.Body.String(), "page/viral") {
							b.Fatal(got.Body)
						}
					}
					b.ReportMetric(float64((cputime.Used()-before).Milliseconds())/float64(b.N), "cpu-ms/op")
					b.ReportMetric(s.units/float64(b.N), "units/op")
				})
			}
		}
	}
}
