package load

import (
	"fmt"
	"iter"
	"math/rand/v2"
)

// Workload is a shape of generated traffic.
type Workload string

// The shapes. In all except Viral a request's client and path are drawn together, so that a hot counter has a hot entity.
const (
	// Zipf draws key k with a probability in proportion to 1/(k+1)^1.1.
	Zipf Workload = "zipf"
	// FlashCrowd is uniform in its first half; in the second, nine requests in ten have the same key.
	FlashCrowd Workload = "flash-crowd"
	// Viral has one counter; its clients are uniform.
	Viral Workload = "viral"
	// Uniform draws every key with the same probability.
	Uniform Workload = "uniform"
)

// Workloads lists the shapes.
var Workloads = []Workload{Zipf, FlashCrowd, Viral, Uniform}

const (
	zipfExponent = 1.1
	crowdShare   = 0.9 // of the requests in FlashCrowd's second half
)

// Synthetic describes generated traffic. The same values generate the same requests on every machine.
type Synthetic struct {
	Workload Workload
	Seed     uint64
	Count    int // requests, 1 or more
	Keys     int // distinct keys to draw from, 1 or more
}

// Source returns the requests, with zero times.
func (s Synthetic) Source() Source {
	return Source{Name: string(s.Workload), Total: s.Count, Seed: s.Seed, Requests: s.requests}
}

func (s Synthetic) requests() iter.Seq2[Request, error] {
	return func(yield func(Request, error) bool) {
		random := rand.New(rand.NewPCG(s.Seed, uint64(s.Keys)))
		draw := s.draw(random)
		for i := range s.Count {
			if !yield(s.request(i, draw, random), nil) {
				return
			}
		}
	}
}

// draw returns a function that draws the numbers of the i-th request's client and path, each below Keys.
func (s Synthetic) draw(random *rand.Rand) func(i int) (client, path int) {
	switch s.Workload {
	case Zipf:
		zipf := rand.NewZipf(random, zipfExponent, 1, uint64(s.Keys-1))
		return func(int) (int, int) { k := int(zipf.Uint64()); return k, k }
	case FlashCrowd:
		return func(i int) (int, int) {
			k := random.IntN(s.Keys)
			if i >= s.Count/2 && random.Float64() < crowdShare {
				k = 0
			}
			return k, k
		}
	case Viral:
		return func(int) (int, int) { return random.IntN(s.Keys), 0 }
	}
	return func(int) (int, int) { k := random.IntN(s.Keys); return k, k }
}

func (s Synthetic) request(i int, draw func(int) (int, int), random *rand.Rand) Request {
	client, path := draw(i)
	status := 200
	if random.IntN(50) == 0 {
		status = 404
	}
	return Request{
		Client: fmt.Sprintf("%s/client-%d", s.Workload, client),
		Method: "GET",
		Path:   fmt.Sprintf("/%s/%d", s.Workload, path),
		Status: status,
		Bytes:  100 + random.Int64N(20_000),
		ID:     fmt.Sprintf("%s-%x-%08d", s.Workload, s.Seed, i),
	}
}
