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
	Keys   int // number of keys with a storm each; 0 is one
	Phases []phase
	Quiet  float64 // writes a second on each of quietKeys other counters, all the time
	Served served
	Limits system.Limits
	Ahead  time.Duration // how far in the future events may be; 0 is the default
	Fixed  bool          // shard counts don't change
	order  int
}

// phase is a time with a rate of writes to each key.
type phase struct {
	Lasting time.Duration
	From    float64 // writes a second at the start
	To      float64 // writes a second at the end; 0 is From
	Storm   bool    // part of the measured storm
}

// rate returns a key's writes a second at a time after the phase's start.
func (p phase) rate(after time.Duration) float64 {
	if p.To == 0 {
		return p.From
	}
	return p.From + min(1, after.Seconds()/p.Lasting.Seconds())*(p.To-p.From)
}

// served configures the processes or containers that serve the API.
type served struct {
	Containers int // concurrent containers of the HTTP functions; 0 is one process for all callers
	Processes  int // ingest containers that run the built binary; 0 is none
}

func (s served) String() string {
	switch {
	case s.Processes > 0:
		return fmt.Sprintf("%d processes", s.Processes)
	case s.Containers > 0:
		return fmt.Sprintf("%d containers", s.Containers)
	}
	return "one process"
}

var (
	fortyContainers      = served{Containers: 40}
	twoHundredContainers = served{Containers: 200}
	twelveProcesses      = served{Processes: 12}
	oneProcess           = served{}
)

// The partitions of most scenarios: with a fiftieth of AWS's limit.
const (
	partitions   = 64
	partitionWCU = 20
)

// hold is the time for which a transaction locks its items.
const hold = 5 * time.Millisecond

// lasting is the length of a storm. The warm-up before it has half of a partition's limit, which the storm adds to.
const (
	lasting = 40 * time.Second
	warmUp  = 10 * time.Second
	half    = 0.5
)

// scaled returns limits with this number of partitions and their WCU/s. The shard map's partitions have the same WCU/s,
// which fits a scaled-down number of containers and keys.
func scaled(partitions, wcu int) system.Limits {
	return system.Limits{Partitions: partitions, PartitionWCU: wcu, TransactionHold: hold}
}

// withAWSMap returns the same with AWS's limit for the shard map's partitions, for a deployment's number of containers or keys.
func withAWSMap(partitions, wcu int) system.Limits {
	limits := scaled(partitions, wcu)
	limits.MapWCU = 1000
	return limits
}

// stormPhases returns the phases of a storm. base and times are multiples of a partition's limit: base is the rate before the
// storm, which adds times.
func stormPhases(times, base float64, warm time.Duration) []phase {
	return []phase{
		{Lasting: warm, From: base * partitionWCU},
		{Lasting: lasting, From: (base + times) * partitionWCU, Storm: true},
	}
}

// scenarios returns all scenarios.
func scenarios() []scenario {
	list := tenfoldStorms()
	for _, k := range []writes{counter, event} {
		list = append(list,
			scenario{Name: k.name + "3x-40", Kind: k, Phases: stormPhases(3, half, warmUp), Served: fortyContainers, Limits: scaled(partitions, partitionWCU)},
			scenario{Name: k.name + "1.5x-40", Kind: k, Phases: stormPhases(1.5, half, warmUp), Served: fortyContainers, Limits: scaled(partitions, partitionWCU)},
			scenario{Name: k.name + "10x-processes", Kind: k, Phases: stormPhases(10, half, warmUp), Served: twelveProcesses, Limits: scaled(partitions, partitionWCU)},
			scenario{Name: k.name + "10x-warm", Kind: k, Phases: stormPhases(10, 0.8, 10*time.Minute), Served: fortyContainers, Limits: scaled(partitions, partitionWCU)},
			scenario{Name: k.name + "10x-second", Kind: k, Phases: twoStorms(), Served: fortyContainers, Limits: scaled(partitions, partitionWCU)},
			scenario{Name: k.name + "-ramp", Kind: k, Phases: ramp(), Served: fortyContainers, Limits: scaled(partitions, partitionWCU)},
		)
	}
	list = append(list, specialScenarios()...)
	for i := range list {
		list[i].order = i
	}
	return list
}

// tenfoldStorms returns storms of ten times a partition's limit, on each kind of key.
func tenfoldStorms() (list []scenario) {
	add := func(name string, s scenario) {
		s.Name, s.Phases = name, stormPhases(10, half, warmUp)
		list = append(list, s)
	}
	for _, k := range []writes{counter, event, ahead, board, limit} {
		add(k.name+"10x-40", scenario{Kind: k, Served: fortyContainers, Limits: scaled(partitions, partitionWCU)})
		add(k.name+"10x-200", scenario{Kind: k, Served: twoHundredContainers, Limits: withAWSMap(partitions, partitionWCU)})
		add(k.name+"10x-one", scenario{Kind: k, Served: oneProcess, Limits: scaled(partitions, partitionWCU)})
	}
	for _, k := range []writes{counter, event, board} {
		add(k.name+"10x-fixed", scenario{Kind: k, Served: fortyContainers, Limits: scaled(partitions, partitionWCU), Fixed: true})
	}
	return list
}

func twoStorms() []phase {
	return append(stormPhases(10, half, warmUp), stormPhases(10, half, time.Minute)...)
}

// ramp returns phases from the detector's threshold to the limit, in which no write need be throttled.
func ramp() []phase {
	return []phase{
		{Lasting: 30 * time.Second, From: 0.7 * partitionWCU, To: partitionWCU, Storm: true},
		{Lasting: 15 * time.Second, From: partitionWCU, Storm: true},
	}
}

// withSplits returns the limits with partitions that split after a time. On AWS it takes minutes.
func withSplits(limits system.Limits, after time.Duration) system.Limits {
	limits.SplitAfter = after
	return limits
}

// withHold returns the limits with another time for which transactions lock their items.
func withHold(limits system.Limits, hold time.Duration) system.Limits {
	limits.TransactionHold = hold
	return limits
}

// longStorm returns a storm that is long enough for several splits.
func longStorm() []phase {
	phases := stormPhases(10, half, warmUp)
	phases[1].Lasting = 2 * time.Minute
	return phases
}

// specialScenarios returns the scenarios that exist for one question each.
func specialScenarios() []scenario {
	list := []scenario{
		{
			// A partition takes 1 write a second, so that one machine can make 300 keys hot.
			Name: "keys300", Kind: counter, Keys: 300, Served: twoHundredContainers, Limits: withAWSMap(1024, 1),
			Phases: []phase{{Lasting: warmUp, From: half / 2}, {Lasting: 25 * time.Second, From: 1.5, Storm: true}},
		},
		{
			// 800 WCU/s are below a partition's limit, but these are twice as twoHundredContainers calls as can lock the counter's item in
			// turn.
			Name: "keyed400", Kind: keyed, Served: twoHundredContainers, Limits: scaled(partitions, 1000),
			Phases: []phase{{Lasting: warmUp, From: 20}, {Lasting: lasting, From: 400, Storm: true}},
		},
		{
			// The same for two cores, which make about 200 such calls a second.
			Name: "keyed100", Kind: keyed, Served: twoHundredContainers, Limits: withHold(scaled(partitions, 1000), 4*hold),
			Phases: []phase{{Lasting: warmUp, From: 5}, {Lasting: lasting, From: 100, Storm: true}},
		},
		{
			Name: "counter10x-table", Kind: counter, Served: fortyContainers, Phases: stormPhases(10, half, warmUp),
			Limits: system.Limits{Partitions: partitions, PartitionWCU: 1000, TableWCU: partitionWCU, TransactionHold: hold},
		},
		{Name: "now10x-40", Kind: event, Phases: stormPhases(10, half, warmUp), Served: fortyContainers, Limits: scaled(partitions, partitionWCU), Ahead: time.Millisecond},
		{Name: "again2x-40", Kind: again, Phases: stormPhases(2, half, warmUp), Served: fortyContainers, Limits: scaled(partitions, partitionWCU)},
		{Name: "backfill10x-40", Kind: backfill, Phases: stormPhases(10, half, warmUp), Served: fortyContainers, Limits: scaled(partitions, partitionWCU)},
		{Name: "counter10x-split", Kind: counter, Phases: longStorm(), Served: twoHundredContainers, Limits: withSplits(withAWSMap(4, partitionWCU), 10*time.Second)},
		{Name: "counter10x-4partitions", Kind: counter, Phases: stormPhases(10, half, warmUp), Served: twoHundredContainers, Limits: withAWSMap(4, partitionWCU)},
	}
	for _, n := range []int{4, 8, 16} {
		list = append(list, scenario{
			Name: fmt.Sprintf("quiet-%d", n), Kind: counter, Served: twoHundredContainers, Limits: withAWSMap(n, 50), Quiet: 3,
			Phases: []phase{{Lasting: warmUp, From: half * 50}, {Lasting: lasting, From: 5.5 * 50, Storm: true}},
		})
	}
	return list
}

// about describes a scenario in a line.
func (s scenario) about() string {
	text := fmt.Sprintf("%s, %s, %d partitions of %d", s.Kind.what, s.Served, s.Limits.Partitions, s.Limits.PartitionWCU)
	if s.Keys > 1 {
		text += fmt.Sprintf(", %d keys", s.Keys)
	}
	for i, p := range s.Phases {
		text += map[bool]string{true: ": ", false: ", then "}[i == 0] + fmt.Sprintf("%v at %g", p.Lasting, p.From)
		if p.To > 0 {
			text += fmt.Sprintf(" to %g", p.To)
		}
		text += " a second"
	}
	if s.Limits.SplitAfter > 0 {
		text += fmt.Sprintf("; partitions split after %v", s.Limits.SplitAfter)
	}
	if s.Ahead > 0 {
		text += fmt.Sprintf("; events may be %v ahead", s.Ahead)
	}
	if s.Quiet > 0 {
		text += fmt.Sprintf(", beside %d counters at %g", quietKeys, s.Quiet)
	}
	if s.Fixed {
		return text + "; N stays 1"
	}
	return text
}
