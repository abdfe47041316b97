package hotkeys_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/test/lane"
)

// picture is a response of GET /v1/heat as a client keeps it.
type picture struct {
	From, To, Layout string
	AsOf             string `json:"as_of"`
	Delta            bool
	Rows             []pictureRow
	Rest, Total      []uint64
	Covered          []float64
}

type pictureRow struct {
	Row           *int
	Key           *string
	Keys          int
	Status, Worst string
	CooledAt      string `json:"cooled_at"`
	Units         []uint64
	Heaviest      []float64
	WriteShards   []pictureRow `json:"write_shards"`
}

// apply merges a delta into the picture. It returns an error if the delta does not follow the picture.
func (p *picture) apply(d *picture) error {
	from, err := time.Parse(time.RFC3339, p.From)
	first, err2 := time.Parse(time.RFC3339, d.From)
	at := int(first.Sub(from) / (10 * time.Second))
	if err != nil || err2 != nil || at < 0 || at > len(p.Total) || d.Layout != p.Layout {
		return fmt.Errorf("a delta from %s of layout %q does not follow %s of %q", d.From, d.Layout, p.From, p.Layout)
	}
	p.To, p.AsOf = d.To, d.AsOf
	p.Total, p.Rest, p.Covered = append(p.Total[:at], d.Total...), append(p.Rest[:at], d.Rest...), append(p.Covered[:at], d.Covered...)
	fresh := make(map[int]pictureRow)
	for _, row := range d.Rows {
		fresh[*row.Row] = row
	}
	for i := range p.Rows {
		p.Rows[i].apply(fresh[i], at, len(d.Total))
	}
	return nil
}

// apply replaces the row's columns from index at on by the delta's. The columns of a row that the delta lacks are zero.
func (r *pictureRow) apply(fresh pictureRow, at, columns int) {
	if fresh.Key != nil {
		r.Key, r.Status, r.Worst, r.CooledAt = fresh.Key, fresh.Status, fresh.Worst, fresh.CooledAt
	}
	if fresh.Units == nil {
		fresh.Units = make([]uint64, columns)
	}
	if fresh.Heaviest == nil {
		fresh.Heaviest = make([]float64, columns)
	}
	if r.Units == nil { // a new write shard
		r.Units, r.Heaviest = make([]uint64, at), make([]float64, at)
	}
	r.Units, r.Heaviest = append(r.Units[:at], fresh.Units...), append(r.Heaviest[:at], fresh.Heaviest...)
	shards := make(map[string]pictureRow)
	for _, shard := range fresh.WriteShards {
		shards[*shard.Key] = shard
	}
	for i := range r.WriteShards {
		shard := &r.WriteShards[i]
		shard.apply(shards[*shard.Key], at, columns)
		delete(shards, *shard.Key)
	}
	for _, name := range slices.Sorted(maps.Keys(shards)) {
		var shard pictureRow
		shard.apply(shards[name], at, columns)
		r.WriteShards = append(r.WriteShards, shard)
	}
	slices.SortFunc(r.WriteShards, func(a, b pictureRow) int { return strings.Compare(*a.Key, *b.Key) })
}

// differs describes how the row differs from that of a full response. It returns "" if it does not.
func (r *pictureRow) differs(full *pictureRow) string {
	if r.Status != full.Status || r.Worst != full.Worst || r.CooledAt != full.CooledAt || !slices.Equal(r.Units, full.Units) || !slices.Equal(r.Heaviest, full.Heaviest) {
		return fmt.Sprintf("%s: %+v, want %+v", *full.Key, *r, *full)
	}
	if len(r.WriteShards) != len(full.WriteShards) {
		return fmt.Sprintf("%s: %d write shards, want %d", *full.Key, len(r.WriteShards), len(full.WriteShards))
	}
	for i := range r.WriteShards {
		if *r.WriteShards[i].Key != *full.WriteShards[i].Key {
			return fmt.Sprintf("%s: write shard %s, want %s", *full.Key, *r.WriteShards[i].Key, *full.WriteShards[i].Key)
		}
		if diff := r.WriteShards[i].differs(&full.WriteShards[i]); diff != "" {
			return diff
		}
	}
	return ""
}

// differs describes how the picture differs from a full response of the same time. It returns "" if it does not.
func (p *picture) differs(full *picture) string {
	if p.From != full.From || p.To != full.To || p.AsOf != full.AsOf || !slices.Equal(p.Total, full.Total) || !slices.Equal(p.Covered, full.Covered) {
		return fmt.Sprintf("totals of %s to %s, as of %s: %v, covered %v; want %s to %s as of %s: %v, covered %v", p.From, p.To, p.AsOf, p.Total, p.Covered, full.From, full.To, full.AsOf, full.Total, full.Covered)
	}
	sum := slices.Clone(p.Rest)
	rows := make(map[string]pictureRow)
	for _, row := range p.Rows {
		for i, n := range row.Units {
			sum[i] += n
		}
		if row.Keys == 1 {
			rows[*row.Key] = row
		}
	}
	if !slices.Equal(sum, p.Total) {
		return fmt.Sprintf("rows and rest sum to %v, want %v", sum, p.Total)
	}
	for _, want := range full.Rows {
		got, ok := rows[*want.Key]
		if want.Keys == 1 && ok {
			if diff := got.differs(&want); diff != "" {
				return diff
			}
		}
		if !ok && (want.Worst != "warm" || want.WriteShards != nil) {
			return fmt.Sprintf("%s is %s and has no row", *want.Key, want.Worst)
		}
	}
	return ""
}

// getHeat decodes the response of GET /v1/heat.
func getHeat(t *testing.T, handler http.Handler, parameters url.Values, response any) {
	t.Helper()
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/v1/heat?"+parameters.Encode(), nil))
	if err := json.Unmarshal(recorder.Body.Bytes(), response); err != nil || recorder.Code != http.StatusOK {
		t.Fatalf("GET /v1/heat?%s: status %d, %v: %s", parameters.Encode(), recorder.Code, err, recorder.Body)
	}
}

// getPicture reads the heat from start on, as a delta to known if that has columns.
func getPicture(t *testing.T, handler http.Handler, known picture) (p picture) {
	t.Helper()
	parameters := url.Values{"from": {start.Format(time.RFC3339)}, "rows": {"20"}, "group": {"base"}, "unfold": {"C#key-00", "C#key-03", "C#late"}}
	if known.Layout != "" && known.AsOf != "" {
		parameters.Set("layout", known.Layout)
		parameters.Set("after", known.AsOf)
	}
	getHeat(t, handler, parameters, &p)
	return p
}

// TestDeltasEqualFullResponse checks that a client that polls for deltas has the columns, rows, unfolded write shards
// and verdicts of a full response. Some responses are lost, some come from another server that does not know the
// layout, and servers' clocks differ.
func TestDeltasEqualFullResponse(t *testing.T) {
	deltas := 0
	for seed := range uint64(lane.Runs(2, 6)) {
		random := rand.New(rand.NewPCG(seed, 13))
		f := newFixture(settings())
		var servers []http.Handler
		ahead := time.Duration(0)
		for range 2 {
			servers = append(servers, heatAPI(f.reader(), func() time.Time { return f.now.Add(ahead) }))
		}
		var known picture
		f.layersTask(t)
		for second := 1; second < 400; second++ {
			f.now = start.Add(time.Duration(second) * time.Second)
			if second%10 == 2 && second > 10 {
				it := heat.Item{Start: f.now.Add(-12 * time.Second), Window: 10 * time.Second, StreamShard: "s", Limit: 100, HotRate: 70, Records: 1, Rest: 1, Lag: 2 * time.Second}
				for key := range 60 {
					if random.IntN(3) > 0 {
						continue
					}
					units := 1 + random.Uint64N(90)
					if key%20 == 0 && random.IntN(6) == 0 {
						units *= 10
					}
					it.Keys = append(it.Keys, heat.Key{Key: fmt.Sprintf("C#key-%02d#%d", key/2, key%2), Units: units, Peak: units / 10, PeakAt: it.Start})
					it.Units += units
				}
				if second > 100 && random.IntN(8) == 0 {
					it.Keys = append(it.Keys, heat.Key{Key: "C#late#0", Units: 1})
					it.Units++
				}
				f.putHeat(t, it.Stored(start.Add(time.Hour)))
			}
			if second%20 == 5 {
				f.layersTask(t)
			}
			if random.IntN(4) > 0 {
				continue
			}
			if ahead = 0; random.IntN(20) == 0 {
				ahead = -2 * time.Second
			}
			server := servers[min(random.IntN(30), 1)^1]
			got := getPicture(t, server, known)
			want := getPicture(t, servers[random.IntN(2)], picture{})
			if got.Delta && random.IntN(5) == 0 {
				continue // the response is lost
			}
			if got.Delta {
				deltas++
				if err := known.apply(&got); err != nil {
					t.Fatalf("seed %d, second %d: %v", seed, second, err)
				}
			} else {
				known = got
			}
			if diff := known.differs(&want); diff != "" {
				t.Fatalf("seed %d, second %d, delta %v: %s", seed, second, got.Delta, diff)
			}
		}
	}
	if deltas < 100 {
		t.Errorf("%d deltas, want 100 or more", deltas)
	}
}
