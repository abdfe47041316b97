package ranks

import (
	"math"
	"math/rand/v2"
	"slices"

	"github.com/hotshard/hotshard/internal/rollup/board"
)

// descend sorts, the highest first.
func descend(scores []float64) {
	slices.Sort(scores)
	slices.Reverse(scores)
}

// What reading costs.
const (
	entryBytes   = 160 // of an entry in the index
	indexShards  = 64
	streamShards = 4
	partOverhead = 160 // of a histogram's item beside its cells
	readBytes    = 8192
	writeBytes   = 1024
)

// answer is what a method says of one player.
type answer struct {
	rank, stated float64
	units, bytes float64
}

// method tells ranks.
type method struct {
	name   string
	writes float64 // units of a fold
	fresh  string
	ask    func(i int) answer
}

// queried is what a query of so many bytes costs, in as many requests as there are
// partitions.
func queried(bytes, partitions float64) float64 {
	return partitions * max(0.5, math.Ceil(bytes/partitions/(readBytes/2))/2)
}

// histogram is that of the board, with so many cells, merged from parts that each
// stream shard counted.
func (s *simulated) histogram(cells int) (all board.Histogram, partBytes float64) {
	parts := make([]board.Histogram, streamShards)
	for i, score := range s.scores {
		part := &parts[i%streamShards] // the order of scores has nothing to do with that of players
		part.Add(board.Order(score), 1)
		part.Limit(cells)
	}
	for _, p := range parts {
		partBytes = max(partBytes, float64(len(p.Bytes()))+partOverhead)
		all.Merge(p)
	}
	return all, partBytes
}

// byHistogram answers from cells alone, and by counting the own cell in the index as
// well if it has at most so many entries.
func (s *simulated) byHistogram(h board.Histogram, partBytes float64, name string, budget int64) method {
	read := float64(streamShards) * partBytes
	return method{
		name: name, writes: math.Ceil(partBytes / writeBytes), fresh: "a fold",
		ask: func(i int) answer {
			c := h.At(board.Order(s.scores[i]))
			rank, margin := c.Rank()
			a := answer{rank: float64(rank), stated: float64(margin), bytes: read, units: queried(read, 1)}
			if margin > 0 && c.Own <= budget {
				own := float64(int64(i) - c.Above) // counted from the cell's begin to the player
				a.rank, a.stated = float64(i+1), 0
				a.bytes += own * entryBytes
				a.units += queried(own*entryBytes, indexShards)
			}
			return a
		},
	}
}

// byCount counts all entries before the player in the index.
func (s *simulated) byCount() method {
	return method{name: "count of the index", fresh: "the index", ask: func(i int) answer {
		bytes := float64(i) * entryBytes
		return answer{rank: float64(i + 1), bytes: bytes, units: queried(bytes, indexShards)}
	}}
}

// bySample counts them on some write shards, and multiplies. What it states is three
// standard deviations, which is no promise.
func (s *simulated) bySample(shards int) method {
	share := float64(shards) / indexShards
	return method{name: sampleName(shards), fresh: "the index", ask: func(i int) answer {
		seen := float64(binomial(s.random, i, share))
		bytes := seen * entryBytes
		return answer{
			rank: 1 + seen/share, stated: 3 * math.Sqrt(float64(i)*(1-share)/share),
			bytes: bytes, units: queried(bytes, float64(shards)),
		}
	}}
}

// binomial draws how many of n are on some write shards, by its normal approximation
// where n is large.
func binomial(r *rand.Rand, n int, p float64) (hits int) {
	mean := float64(n) * p
	if mean > 100 {
		return int(max(0, math.Round(mean+math.Sqrt(mean*(1-p))*r.NormFloat64())))
	}
	for range n {
		if r.Float64() < p {
			hits++
		}
	}
	return hits
}
