package report

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/hotshard/hotshard/internal/base/heat"
)

// hit is a time in which the rate of a key or of a stream shard exceeded the threshold.
type hit struct {
	kind       Kind
	key, index string
	keys       int
	from, to   time.Time
	units      float64 // WCU read
	seconds    float64 // of reading
	weight     float64 // of a write
	low, high  float64 // units a second, if all was read
	cool       bool    // the key was below the threshold in it, and above it before
}

// hit returns a hit with only the slice's time.
func (s *Slice) hit(p Plan) hit {
	begin, seconds := s.begin(p), s.seconds(p)
	return hit{from: begin, to: begin.Add(time.Duration(seconds) * time.Second), seconds: seconds}
}

// withKey returns the hit with one key's counts.
func (h hit) withKey(key, index string, t Tally) hit {
	h.kind, h.key, h.index, h.keys = OneKey, key, index, 1
	h.units, h.weight = float64(t.Units), float64(t.Units)/float64(max(1, t.Writes))
	return h
}

// prefixShare is the share of a stream shard's units that makes a prefix of its keys the storm.
const prefixShare = 0.8

// hits returns the keys of a slice whose rates exceed the threshold with 97.5 % certainty, if writes are
// independent. Without such a key it may return the whole stream shard, or a prefix of its keys. common
// is the common prefix of all the table's keys.
func (s Settings) hits(sl *Slice, p Plan, common string) (hits []hit) {
	base := sl.hit(p)
	for key, t := range sl.Keys {
		h := base.withKey(key, s.Index, t)
		if !h.hot(s, sl.Whole) {
			continue
		}
		if t.rises() {
			h.kind = Rising
		}
		hits = append(hits, h)
	}
	if len(hits) > 0 || s.OneShard || float64(sl.Units) < s.HotRate*base.seconds {
		return hits
	}
	h := base
	h.kind, h.key, h.units, h.keys = Everything, sl.StreamShard, float64(sl.Units), len(sl.Keys)
	h.weight = float64(sl.Units) / float64(max(1, sl.Records))
	if prefix, units, keys := commonPrefix(sl.Keys, prefixShare*float64(sl.Units)); len(prefix) > len(common) && keys > 1 {
		h.kind, h.key, h.units, h.keys = APrefix, prefix, float64(units), keys
	}
	if h.hot(s, sl.Whole) {
		hits = append(hits, h)
	}
	return hits
}

// hot reports whether the hit's mean rate exceeds the threshold with certainty. If all was read, it sets
// the exact rate.
func (h *hit) hot(s Settings, whole bool) bool {
	low, _ := noise{}.interval(h.units, h.seconds, h.weight)
	if whole {
		low = h.units / h.seconds
		h.low, h.high = low, low
	}
	return low >= s.HotRate
}

// commonPrefix returns the longest common prefix of keys that took at least so many units together;
// "" if there is none.
func commonPrefix(tallies map[string]Tally, least float64) (prefix string, units uint64, keys int) {
	names := make([]string, 0, len(tallies))
	for key := range tallies {
		names = append(names, key)
	}
	slices.Sort(names)
	for {
		next, of := byte(0), map[byte]uint64{}
		for _, name := range names {
			if len(name) > len(prefix) && strings.HasPrefix(name, prefix) {
				of[name[len(prefix)]] += tallies[name].Units
			}
		}
		most := uint64(0)
		for b, u := range of {
			if u > most || u == most && b < next {
				next, most = b, u
			}
		}
		if most == 0 || float64(most) < least {
			break
		}
		prefix += string([]byte{next})
		units = most
	}
	for _, name := range names {
		if strings.HasPrefix(name, prefix) {
			keys++
		}
	}
	return strings.ToValidUTF8(prefix, ""), units, keys
}

// maxStorms is the maximum number of storms in a report.
const maxStorms = 200

// storms joins a key's hits with gaps up to gap into storms, and returns the heaviest first.
func (s Settings) storms(hits []hit, gap time.Duration, n noise) []Storm {
	slices.SortFunc(hits, func(a, b hit) int {
		return cmp.Or(strings.Compare(a.key, b.key), strings.Compare(a.index, b.index), a.from.Compare(b.from))
	})
	storms := []Storm{}
	for i := 0; i < len(hits); {
		end, to := i+1, hits[i].to
		for end < len(hits) && hits[end].key == hits[i].key && hits[end].index == hits[i].index && !hits[end].from.After(to.Add(gap)) {
			if hits[end].to.After(to) {
				to = hits[end].to
			}
			end++
		}
		if storm := withoutCoolEnds(hits[i:end]); len(storm) > 0 {
			storms = append(storms, s.storm(storm, n))
		}
		i = end
	}
	slices.SortFunc(storms, func(a, b Storm) int {
		return cmp.Or(cmp.Compare(b.Rate, a.Rate), a.From.Compare(b.From.Time), strings.Compare(a.Key, b.Key))
	})
	return storms[:min(len(storms), maxStorms)]
}

// withoutCoolEnds drops the cool hits before the first hot one and after the last.
func withoutCoolEnds(hits []hit) []hit {
	hot := func(h hit) bool { return !h.cool }
	first := slices.IndexFunc(hits, hot)
	if first < 0 {
		return nil
	}
	last := first
	for i, h := range hits {
		if !h.cool {
			last = i
		}
	}
	return hits[first : last+1]
}

func (s Settings) storm(hits []hit, n noise) Storm {
	first, to := hits[0], hits[0].to
	for _, h := range hits {
		if h.to.After(to) {
			to = h.to
		}
	}
	storm := Storm{Kind: first.kind, From: stamp(first.from), To: stamp(to), Key: first.key, Index: first.index}
	units, writes, seconds, weight, rising := 0.0, 0.0, 0.0, 0.0, 0
	for _, h := range trimmed(hits, n) {
		units += h.units
		if h.weight > 0 {
			writes += h.units / h.weight
		}
		seconds += h.seconds
		weight = max(weight, h.weight)
		storm.Keys = max(storm.Keys, h.keys)
		if h.kind == Rising {
			rising++
		}
		if h.low > storm.Low {
			storm.Rate, storm.Low, storm.High = h.low, h.low, h.high
		}
	}
	if storm.Low == 0 { // a sample
		storm.Rate = units / seconds
		storm.Low, storm.High = n.interval(units, seconds, weight)
	}
	if storm.Kind == OneKey || storm.Kind == Rising {
		storm.Kind = OneKey
		if 2*rising > len(hits) {
			storm.Kind = Rising
		}
	}
	storm.Rate, storm.Low, storm.High = heat.Hundredths(storm.Rate), heat.Hundredths(storm.Low), heat.Hundredths(storm.High)
	storm.Advice = s.advice(&storm, units/max(1, writes))
	return storm
}

// trimmed drops the first and the last hit if they are below the heaviest one's lower bound, because the
// storm has probably begun or ended within them.
func trimmed(hits []hit, n noise) []hit {
	heaviest := slices.MaxFunc(hits, func(a, b hit) int { return cmp.Compare(a.units/a.seconds, b.units/b.seconds) })
	low, _ := n.interval(heaviest.units, heaviest.seconds, heaviest.weight)
	below := func(h hit) bool { return h.low == 0 && h.units/h.seconds < low }
	if len(hits) > 1 && below(hits[0]) {
		hits = hits[1:]
	}
	if len(hits) > 1 && below(hits[len(hits)-1]) {
		hits = hits[:len(hits)-1]
	}
	return hits
}

// windowHits returns the hits of a window in which every record was counted.
func (s Settings) windowHits(w []heat.Item) (hits []hit) {
	for _, row := range heat.Merge(w) {
		if row.Status < heat.Hot || s.Index != "" && row.Index != s.Index {
			continue
		}
		hits = append(hits, hit{
			kind: OneKey, key: row.Key, index: row.Index, keys: 1, from: row.Start, to: row.Start.Add(row.Window),
			units: row.WriteUnitsPerSecond * row.Window.Seconds(), seconds: row.Window.Seconds(), weight: row.UnitsPerWrite, low: row.WriteUnitsPerSecond, high: row.WriteUnitsPerSecond + row.Error,
		})
	}
	for i := range w {
		if crowd := w[i].Crowd(); crowd.Keys > 0 && s.Index == "" {
			hits = append(hits, hit{
				kind: Everything, key: w[i].StreamShard, keys: crowd.Keys, from: w[i].Start, to: w[i].End(), low: crowd.Rate, high: crowd.Rate,
			})
		}
	}
	return hits
}
