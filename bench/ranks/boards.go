package ranks

import (
	"math"
	"math/rand/v2"
)

// distribution draws scores.
type distribution struct {
	name string
	draw func(*rand.Rand) float64
}

var distributions = []distribution{
	{"Uniform: whole numbers below 1,000,000", func(r *rand.Rand) float64 { return float64(r.IntN(1_000_000)) }},
	{"Rating: whole numbers, normal about 1500 with deviation 300", func(r *rand.Rand) float64 {
		return math.Round(1500 + 300*r.NormFloat64())
	}},
	{"Heavy tail: whole numbers, Pareto with exponent 1.1 from 10 on", func(r *rand.Rand) float64 {
		return math.Floor(min(1e15, 10*math.Pow(1-r.Float64(), -1/1.1)))
	}},
	{"Few values: 0 to 20, the low more often", func(r *rand.Rand) float64 { return math.Floor(21 * r.Float64() * r.Float64()) }},
	{"Decimals: normal about 0 with deviation 50, nine places", func(r *rand.Rand) float64 {
		return math.Round(5e10*r.NormFloat64()) / 1e9
	}},
	{"Far from 0: one billion and normal with deviation 1,000", func(r *rand.Rand) float64 {
		return 1e9 + math.Round(1000*r.NormFloat64())
	}},
}

// simulated is one board.
type simulated struct {
	d    distribution
	n    int
	seed uint64

	scores []float64 // the highest first; equal ones in the order of rank
	asked  []int     // indexes of players whose rank is asked for
	random *rand.Rand
}

const questions = 2000

// draw makes the board.
func (s *simulated) draw() {
	s.random = rand.New(rand.NewPCG(s.seed, uint64(s.n)))
	s.scores = make([]float64, s.n)
	for i := range s.scores {
		s.scores[i] = s.d.draw(s.random)
	}
	descend(s.scores)
	for range questions {
		s.asked = append(s.asked, s.random.IntN(s.n))
	}
}
