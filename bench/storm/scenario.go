package storm

import (
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/tool/system"
)

// scenario is a load, and the system that gets it.
type scenario struct {
	Name   string
	Kind   writes
	Phases []phase
	Served served
	Fixed  bool // shard counts don't change
}

// phase is a time with a rate of writes to the key.
type phase struct {
	Lasting time.Duration
	From    float64 // writes a second at the start
	To      float64 // writes a second at the end; 0 is From
	Storm   bool    // part of the measured storm
}

// rate returns the writes a second at a time after the phase's start.
func (p phase) rate(after time.Duration) float64 {
	if p.To == 0 {
		return p.From
	}
	return p.From + min(1, after.Seconds()/p.Lasting.Seconds())*(p.To-p.From)
}

// served configures the processes or containers that serve the API.
type served struct {
	Containers int  // concurrent containers of the HTTP functions
	Processes  bool // ingest's containers run the built binary
}

func (s served) String() string {
	if s.Processes {
		return fmt.Sprintf("%d processes", s.Containers)
	}
	return fmt.Sprintf("%d containers", s.Containers)
}

var (
	fortyContainers  = served{Containers: 40}
	enoughContainers = served{Containers: 200}
	twelveProcesses  = served{Containers: 12, Processes: true}
)

// The partitions, with a fiftieth of AWS's limit.
const (
	partitions   = 64
	partitionWCU = 20
)

// hold is the time for which a transaction locks its items.
const hold = 5 * time.Millisecond

// limits returns the limits of a run, which selects the placement of keys on partitions: in some placements two write
// shards share a partition, in others none do.
func limits(run int) system.Limits {
	return system.Limits{Partitions: partitions, PartitionWCU: partitionWCU, TransactionHold: hold, Seed: uint64(run)}
}

// lasting is the length of a storm. The warm-up before it has half of a partition's limit, which the storm adds to.
const (
	lasting = 40 * time.Second
	warmUp  = 10 * time.Second
	half    = 0.5
)

// stormPhases returns the phases of a storm. times is a multiple of a partition's limit.
func stormPhases(times float64, warm time.Duration) []phase {
	return []phase{
		{Lasting: warm, From: half * partitionWCU},
		{Lasting: lasting, From: (half + times) * partitionWCU, Storm: true},
	}
}

// scenarios returns all scenarios.
func scenarios() []scenario {
	var list []scenario
	tenfold := func(name string, s scenario) {
		s.Name, s.Phases = s.Kind.name+name, stormPhases(10, warmUp)
		list = append(list, s)
	}
	for _, k := range []writes{counter, event, named, board, limit, twoLimits} {
		tenfold("10x-40", scenario{Kind: k, Served: fortyContainers})
	}
	tenfold("10x-fixed", scenario{Kind: counter, Served: fortyContainers, Fixed: true})
	tenfold("10x-200", scenario{Kind: named, Served: enoughContainers})
	for _, k := range []writes{counter, event} {
		tenfold("10x-200", scenario{Kind: k, Served: enoughContainers})
		tenfold("10x-processes", scenario{Kind: k, Served: twelveProcesses})
		list = append(list,
			scenario{Name: k.name + "3x-40", Kind: k, Phases: stormPhases(3, warmUp), Served: fortyContainers},
			scenario{Name: k.name + "10x-second", Kind: k, Phases: twoStorms(), Served: fortyContainers},
			scenario{Name: k.name + "-ramp", Kind: k, Phases: ramp(), Served: fortyContainers},
		)
	}
	return list
}

func twoStorms() []phase {
	return append(stormPhases(10, warmUp), stormPhases(10, time.Minute)...)
}

// ramp returns phases from the detector's threshold to the limit, in which no write need be throttled.
func ramp() []phase {
	return []phase{
		{Lasting: 30 * time.Second, From: 0.7 * partitionWCU, To: partitionWCU, Storm: true},
		{Lasting: 15 * time.Second, From: partitionWCU, Storm: true},
	}
}

// about describes a scenario in a line.
func (s scenario) about() string {
	text := fmt.Sprintf("%s, %s", s.Kind.what, s.Served)
	for i, p := range s.Phases {
		text += map[bool]string{true: ": ", false: ", then "}[i == 0] + fmt.Sprintf("%v at %g", p.Lasting, p.From)
		if p.To > 0 {
			text += fmt.Sprintf(" to %g", p.To)
		}
		text += " a second"
	}
	if s.Fixed {
		return text + "; N stays 1"
	}
	return text
}
