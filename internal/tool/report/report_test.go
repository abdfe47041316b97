package report

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/base/heat"
)

var (
	begin    = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)
	settings = Settings{Table: "orders", Foreign: true, Limit: 1000, HotRate: 700, Rows: 256}
)

// TestIntervalOfIndependentWrites compares intervals with tables of the exact intervals of a Poisson mean (Garwood, 1936).
func TestIntervalOfIndependentWrites(t *testing.T) {
	for n, want := range map[float64][2]float64{0: {0, 3.689}, 1: {0.0253, 5.572}, 5: {1.623, 11.668}, 10: {4.795, 18.390}, 100: {81.364, 121.627}} {
		low, high := noise{}.interval(n, 1, 1)
		if math.Abs(low-want[0]) > 0.02*want[0]+0.03 || math.Abs(high-want[1]) > 0.01*want[1] {
			t.Errorf("interval of %v: %.3f to %.3f, want %v", n, low, high, want)
		}
	}
}

// TestIntervalsHold draws counts of bursty and heavy writes, and bounds how often the interval has their mean.
func TestIntervalsHold(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	for _, c := range []struct{ rate, burst, weight float64 }{{1400, 0.01, 1}, {100, 0, 4}, {500, 0.09, 2}} {
		held := 0
		const rounds = 4000
		for range rounds {
			writes := c.rate / c.weight * max(0, 1+math.Sqrt(c.burst)*random.NormFloat64())
			units := c.weight * max(0, math.Round(writes+math.Sqrt(writes)*random.NormFloat64()))
			if low, high := (noise{c.burst}).interval(units, 1, c.weight); low <= c.rate && c.rate <= high {
				held++
			}
		}
		if share := float64(held) / rounds; share < 0.9 || share > 0.985 {
			t.Errorf("%+v: the mean is in %.3f of the intervals, want 0.9 to 0.985", c, share)
		}
	}
}

func TestCommonPrefix(t *testing.T) {
	tallies := map[string]Tally{"user#1": {Units: 50}, "user#2": {Units: 45}, "order#1": {Units: 5}}
	for least, want := range map[float64]string{90: "user#", 99: "", 40: "user#1"} {
		if got, _, _ := commonPrefix(tallies, least); got != want {
			t.Errorf("prefix of at least %v units: %q, want %q", least, got, want)
		}
	}
	if got, units, keys := commonPrefix(tallies, 90); units != 95 || keys != 2 {
		t.Errorf("%q has %d units of %d keys, want 95 of 2", got, units, keys)
	}
	if got, _, _ := commonPrefix(map[string]Tally{"ü": {Units: 1}, "ö": {Units: 1}}, 2); got != "" {
		t.Errorf("the prefix %q splits a character", got)
	}
}

func TestPlan(t *testing.T) {
	p, err := NewPlan(begin.Add(24*time.Hour+300*time.Millisecond), 24*time.Hour, 0.02, 7)
	if err != nil || p.Stratum != 50*time.Second || p.Strata != 1728 || !p.From.Equal(begin) || !p.To().Equal(begin.Add(24*time.Hour)) {
		t.Fatalf("plan %+v, %v; want 1,728 strata of 50 s", p, err)
	}
	for i := range p.Strata {
		at := p.Second("s", i)
		if p.StratumAt(at) != i || p.StratumAt(at.Add(time.Second-1)) != i || i > 0 && at.Sub(p.Second("s", i-1)) != p.Stratum {
			t.Fatalf("stratum %d: %v", i, at)
		}
	}
	for _, share := range []float64{0, -1, 1.1, math.NaN(), 0.0001} {
		if _, err := NewPlan(begin, time.Hour, share, 0); err == nil {
			t.Errorf("a share of %v is accepted", share)
		}
	}
	if _, err := NewPlan(begin, 48*time.Hour, 1, 0); err == nil {
		t.Error("172,800 strata are accepted")
	}
}

// sampleOfDay returns an empty report of a day, and the plan of its sample.
func sampleOfDay(t *testing.T) (*Sampled, Plan) {
	t.Helper()
	p, err := NewPlan(begin.Add(24*time.Hour), 24*time.Hour, 0.02, 7)
	if err != nil {
		t.Fatal(err)
	}
	s := settings
	s.From, s.To = p.From, p.To()
	return FromSample(s, p), p
}

// day returns the report of a sampled day. The function write sets the keys of a stratum's slice.
func day(t *testing.T, write func(stratum int, s *Slice)) *Sampled {
	t.Helper()
	r, p := sampleOfDay(t)
	for i := range p.Strata {
		slice := &Slice{StreamShard: "shard-1", Stratum: i, Keys: map[string]Tally{}}
		write(i, slice)
		for _, tally := range slice.Keys {
			slice.Units += tally.Units
			slice.Records += tally.Writes
		}
		r.Add(slice)
	}
	return r
}

// TestKindsOfStorms checks that a storm of each kind is recognized, with its key, its advice and its times.
func TestKindsOfStorms(t *testing.T) {
	r := day(t, func(stratum int, s *Slice) {
		switch {
		case stratum == 100 || stratum == 101:
			s.Keys["hot"] = Tally{Units: 900, Writes: 900}
		case stratum == 300:
			s.Keys["log"] = Tally{Units: 950, Writes: 950, Fresh: 950, Tau: 0.95}
		case stratum == 500:
			for i := range 300 {
				s.Keys[fmt.Sprint("tenant7#", i)] = Tally{Units: 3, Writes: 3}
			}
		case stratum == 700:
			for i := range 900 {
				s.Keys[fmt.Sprintf("%x", uint64(i)*0x9E3779B97F4A7C15)] = Tally{Units: 1, Writes: 1}
			}
		default:
			s.Keys["calm"] = Tally{Units: 50, Writes: 50}
		}
	})
	got := map[Kind]Storm{}
	for _, storm := range r.Storms() {
		got[storm.Kind] = storm
	}
	if len(got) != 4 || len(r.Storms()) != 4 {
		t.Fatalf("storms %+v, want one of each kind", r.Storms())
	}
	hot := got[OneKey]
	if hot.Key != "hot" || hot.Rate != 900 || hot.Low > 870 || hot.Low < 600 || hot.High < 930 || hot.From != stamp(r.plan.Second("shard-1", 100)) || hot.To != stamp(r.plan.Second("shard-1", 101).Add(time.Second)) {
		t.Errorf("storm of one key: %+v, want about 900 WCU/s in strata 100 and 101", hot)
	}
	for kind, want := range map[Kind]struct {
		key, advice string
		keys        int
	}{
		OneKey: {"hot", "partition keys", 1}, Rising: {"log", "sort keys rise", 1},
		APrefix: {"tenant7#", "300 keys that begin with", 300}, Everything: {"shard-1", "No key or prefix", 900},
	} {
		if s := got[kind]; s.Key != want.key || s.Keys != want.keys || !strings.Contains(s.Advice, want.advice) {
			t.Errorf("%s: %+v, want %+v", kind, s, want)
		}
	}
}

// TestStormInIndex checks a key of an index that is hot by its sum over all stream shards, but cool in each. It must be
// a storm that is named with its index. A key at 90 % of the threshold is no storm.
func TestStormInIndex(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	r, p := sampleOfDay(t)
	for shard := range 8 {
		for i := range p.Strata {
			tally := func(sum float64) Tally {
				mean := sum / 8
				n := int(mean + math.Sqrt(mean)*random.NormFloat64())
				return Tally{Units: uint64(n), Writes: n}
			}
			slice := &Slice{StreamShard: fmt.Sprint("shard-", shard), Stratum: i, Indexes: map[IndexKey]Tally{
				{"by_place", "de|berlin|open"}: tally(0.9 * settings.HotRate),
			}}
			if i >= 100 && i < 110 {
				slice.Indexes[IndexKey{"by_place", "de|bonn|open"}] = tally(900)
			}
			r.Add(slice)
		}
	}
	storms := r.Storms()
	if len(storms) != 1 {
		t.Fatalf("%d storms, want 1: %+v", len(storms), storms)
	}
	s := storms[0]
	if s.Index != "by_place" || s.Key != "de|bonn|open" || s.Low > 900 || s.High < 900 || s.High-s.Low > 150 || s.From != stamp(p.Begin(100)) || s.To != stamp(p.Begin(110)) {
		t.Errorf("storm %+v, want about 900 WCU/s of de|bonn|open in strata 100 to 109", s)
	}
	d := r.Data(Streams{}, nil)
	if want := `"de|bonn|open" of the index by_place`; !strings.Contains(d.Summary[1], want) || !strings.HasPrefix(d.Todo[0], want+": ") || !strings.Contains(s.Advice, "of the index by_place") {
		t.Errorf("summary %q, to do %q and advice %q, want %s in each", d.Summary, d.Todo, s.Advice, want)
	}
}

// TestVectorIndexes checks that rates of vector indexes are means over the report's time, from seconds and from whole
// strata. Their bytes must not count as write units.
func TestVectorIndexes(t *testing.T) {
	r := day(t, func(stratum int, s *Slice) {
		seconds := uint64(1)
		if s.Whole = stratum%2 == 0; s.Whole {
			seconds = 50 // of a share of 0.02
		}
		s.Keys["a"] = Tally{Units: 1, Writes: 1}
		s.Vectors = map[IndexKey]Tally{{"alike", "de"}: {Units: 2048 * seconds}, {"alike", "fr"}: {Units: 1024 * seconds}, {"far", ""}: {Units: 1024 * seconds}}
	})
	d := r.Data(Streams{}, nil)
	want := []heat.VectorRate{{Index: "alike", Bytes: 3072, Keys: []heat.VectorKey{{Key: "de", Bytes: 2048}, {Key: "fr", Bytes: 1024}}}, {Index: "far", Bytes: 1024}}
	if diff := cmp.Diff(want, d.Vectors); diff != "" || len(d.Storms) > 0 {
		t.Errorf("%+v (-want +got):\n%s", d.Storms, diff)
	}
	if text := strings.Join(d.Summary, "\n"); !strings.Contains(text, `vector index alike took 3,072 bytes a second, 2,048 of them for "de". `) || !strings.Contains(text, "far took 1,024 bytes a second. ") {
		t.Errorf("summary: %s", text)
	}
}

// TestNoStormInNoise checks that a key at 90 % of the threshold is no storm, although single seconds reach it.
func TestNoStormInNoise(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	r := day(t, func(_ int, s *Slice) {
		mean := 0.9 * settings.HotRate
		s.Keys["near"] = Tally{Units: uint64(mean + math.Sqrt(mean)*random.NormFloat64()), Writes: int(mean)}
	})
	if storms := r.Storms(); len(storms) > 0 {
		t.Fatalf("storms %+v, want none", storms)
	}
}

// TestWholeStrata checks that strata which were read completely have exact rates.
func TestWholeStrata(t *testing.T) {
	r := day(t, func(_ int, s *Slice) {
		s.Whole = true
		s.Keys["a"] = Tally{Units: 200, Writes: 100}
	})
	low, high := r.columns[5].cell("a").interval()
	if n, each := r.Columns(); low != high || low != 200*each.Seconds()/50 || n*int(each/time.Second) != 86400 {
		t.Errorf("interval %v to %v, want exactly 4 units a second", low, high)
	}
	if len(r.Storms()) != 0 {
		t.Errorf("storms %+v, want none", r.Storms())
	}
}

// TestManyKeys checks that the number of a column's cells is bounded, and that its total counts all keys.
func TestManyKeys(t *testing.T) {
	r := day(t, func(stratum int, s *Slice) {
		if stratum < 24 {
			for i := range 1000 {
				s.Keys[fmt.Sprintf("%d-%d", stratum, i)] = Tally{Units: 1, Writes: 1}
			}
		}
	})
	c := &r.columns[0]
	if len(c.cells) > 2*maxCells || c.total != 12*50*1000 {
		t.Errorf("%d cells and %v units, want at most %d cells and 600,000 units", len(c.cells), c.total, 2*maxCells)
	}
}

// TestMeanOfStormHasItsCoolSeconds checks the interval of a key whose seconds vary about the threshold. It must be that of
// the whole storm, not of the hot seconds. Since hot seconds decide where the storm ends, about 83 of 100 intervals hold
// instead of 95; of the hot seconds alone, almost none would.
func TestMeanOfStormHasItsCoolSeconds(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Log("seed", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	held := 0
	const rounds = 200
	for range rounds {
		r := day(t, func(stratum int, s *Slice) {
			if stratum >= 100 && stratum < 172 {
				rate := 760 * max(0, 1+0.1*random.NormFloat64())
				n := max(1, int(rate+math.Sqrt(rate)*random.NormFloat64()))
				s.Keys["hot"] = Tally{Units: uint64(n), Writes: n}
			}
		})
		for _, storm := range r.Storms()[:min(1, len(r.Storms()))] {
			if storm.Low <= 760 && 760 <= storm.High {
				held++
			}
		}
	}
	if held < rounds*7/10 {
		t.Errorf("the mean is in %d of %d intervals, want %d or more", held, rounds, rounds*7/10)
	}
}

// TestShareOfShortLivedShards checks that the time before and after a stream shard's records does not raise the share that
// was read.
func TestShareOfShortLivedShards(t *testing.T) {
	r, p := sampleOfDay(t)
	for shard := range 6 {
		for i := range p.Strata {
			alive := i/288 == shard
			slice := &Slice{StreamShard: fmt.Sprint(shard), Stratum: i, Whole: !alive, Keys: map[string]Tally{}}
			if alive {
				slice.Keys["user#1"], slice.Units, slice.Records = Tally{Units: 9, Writes: 9}, 9, 9
			}
			r.Add(slice)
		}
	}
	d := r.Data(Streams{}, nil)
	if d.Read.Share < 0.0199 || d.Read.Share > 0.0201 || d.Heat.Covered[70] > 0.0201 {
		t.Errorf("share %v, and %v of a column; want 0.02", d.Read.Share, d.Heat.Covered[70])
	}
}

// TestPrefixOfAllKeys checks that a prefix which all keys of a table share is not reported as a storm's prefix.
func TestPrefixOfAllKeys(t *testing.T) {
	r := day(t, func(stratum int, s *Slice) {
		if stratum != 700 {
			s.Keys["ORDER#1"] = Tally{Units: 5, Writes: 5}
			return
		}
		for i := range 900 {
			s.Keys[fmt.Sprintf("ORDER#%x", uint64(i)*0x9E3779B97F4A7C15)] = Tally{Units: 1, Writes: 1}
		}
	})
	if storms := r.Storms(); len(storms) != 1 || storms[0].Kind != Everything {
		t.Errorf("storms %+v, want one of everything", storms)
	}
}
