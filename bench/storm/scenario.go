package storm

import (
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/tool/system"
)

// scenario is what is offered, to whom.
type scenario struct {
	Name   string
	Kind   writes
	Keys   int // that are stormed, each by itself; 0 is one
	Phases []phase
	Quiet  float64 // writes a second of each of quietKeys counters beside them, all the time
	Served served
	Limits system.Limits
	Ahead  time.Duration // of now, that events may be; 0 is the default
	Fixed  bool          // shard counts stay as they are
	ByOne  bool          // the caller adds one write shard a second while it is refused
	order  int
}

// phase is a time in which each key is offered writes at a rate.
type phase struct {
	Lasting time.Duration
	From    float64 // writes a second at first
	To      float64 // and at the end; 0 is From
	Storm   bool    // is what is looked at
}

// rate is a key's at a time after the phase's start.
func (p phase) rate(after time.Duration) float64 {
	if p.To == 0 {
		return p.From
	}
	return p.From + min(1, after.Seconds()/p.Lasting.Seconds())*(p.To-p.From)
}

// served says who answers the API.
type served struct {
	Containers int // of the HTTP functions at a time; 0 is one process for all
	Processes  int // containers of ingest that are processes of the built function; 0 is none
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
	few     = served{Containers: 40}
	many    = served{Containers: 200}
	built   = served{Processes: 12}
	oneOnly = served{}
)

// A partition takes this much in most scenarios, a fiftieth of AWS's.
const (
	partitions   = 64
	partitionWCU = 20
)

// hold is for how long a transaction has its items.
const hold = 5 * time.Millisecond

// lasting is a storm's length, and before it comes half of what a partition takes, for
// a while: the storm is on top of that.
const (
	lasting = 40 * time.Second
	before  = 10 * time.Second
	half    = 0.5
)

// scaled are limits of partitions that take so many write units. What the map's
// partitions take is scaled, too, which suits containers and keys that are.
func scaled(partitions, wcu int) system.Limits {
	return system.Limits{Partitions: partitions, PartitionWCU: wcu, TransactionHold: hold}
}

// apart are the same, with the shard map's as on AWS: for as many containers or hot
// keys as a deployment has.
func apart(partitions, wcu int) system.Limits {
	limits := scaled(partitions, wcu)
	limits.MapWCU = 1000
	return limits
}

// onTop is a storm of so many times a partition's limit on top of base times.
func onTop(times, base float64, warm time.Duration) []phase {
	return []phase{
		{Lasting: warm, From: base * partitionWCU},
		{Lasting: lasting, From: (base + times) * partitionWCU, Storm: true},
	}
}

// scenarios are all, by name.
func scenarios() []scenario {
	list := tenfold()
	for _, k := range []writes{counter, event} {
		list = append(list,
			scenario{Name: k.name + "3x-40", Kind: k, Phases: onTop(3, half, before), Served: few, Limits: scaled(partitions, partitionWCU)},
			scenario{Name: k.name + "1.5x-40", Kind: k, Phases: onTop(1.5, half, before), Served: few, Limits: scaled(partitions, partitionWCU)},
			scenario{Name: k.name + "10x-processes", Kind: k, Phases: onTop(10, half, before), Served: built, Limits: scaled(partitions, partitionWCU)},
			scenario{Name: k.name + "10x-warm", Kind: k, Phases: onTop(10, 0.8, 10*time.Minute), Served: few, Limits: scaled(partitions, partitionWCU)},
			scenario{Name: k.name + "10x-second", Kind: k, Phases: twice(), Served: few, Limits: scaled(partitions, partitionWCU)},
			scenario{Name: k.name + "-ramp", Kind: k, Phases: ramp(), Served: few, Limits: scaled(partitions, partitionWCU)},
		)
	}
	list = append(list, special()...)
	for i := range list {
		list[i].order = i
	}
	return list
}

// tenfold are storms of ten times a partition's limit on each kind of key.
func tenfold() (list []scenario) {
	add := func(name string, s scenario) {
		s.Name, s.Phases = name, onTop(10, half, before)
		list = append(list, s)
	}
	for _, k := range []writes{counter, event, ahead, board, limit} {
		add(k.name+"10x-40", scenario{Kind: k, Served: few, Limits: scaled(partitions, partitionWCU)})
		add(k.name+"10x-200", scenario{Kind: k, Served: many, Limits: apart(partitions, partitionWCU)})
		add(k.name+"10x-one", scenario{Kind: k, Served: oneOnly, Limits: scaled(partitions, partitionWCU)})
	}
	for _, k := range []writes{counter, event, board} {
		add(k.name+"10x-fixed", scenario{Kind: k, Served: few, Limits: scaled(partitions, partitionWCU), Fixed: true})
	}
	add("counter10x-byone", scenario{Kind: counter, Served: few, Limits: scaled(partitions, partitionWCU), Fixed: true, ByOne: true})
	return list
}

func twice() []phase {
	return append(onTop(10, half, before), onTop(10, half, time.Minute)...)
}

// ramp goes from the detector's threshold to the limit, which nothing need refuse.
func ramp() []phase {
	return []phase{
		{Lasting: 30 * time.Second, From: 0.7 * partitionWCU, To: partitionWCU, Storm: true},
		{Lasting: 15 * time.Second, From: partitionWCU, Storm: true},
	}
}

// splits are the same limits with partitions that split. AWS takes minutes for it.
func splits(limits system.Limits, after time.Duration) system.Limits {
	limits.SplitAfter = after
	return limits
}

// held are the same limits with transactions that have their items for another time.
func held(limits system.Limits, hold time.Duration) system.Limits {
	limits.TransactionHold = hold
	return limits
}

// splitting is a storm that is long enough for several splits.
func splitting() []phase {
	phases := onTop(10, half, before)
	phases[1].Lasting = 2 * time.Minute
	return phases
}

// special are those of a kind of their own.
func special() []scenario {
	list := []scenario{
		{
			// A partition takes 1 write a second, so that one machine can make 300 keys hot.
			Name: "keys300", Kind: counter, Keys: 300, Served: many, Limits: apart(1024, 1),
			Phases: []phase{{Lasting: before, From: half / 2}, {Lasting: 25 * time.Second, From: 1.5, Storm: true}},
		},
		{
			// 800 write units a second are below a partition's limit, but twice as many calls as can
			// have the counter's item one after another.
			Name: "keyed400", Kind: keyed, Served: many, Limits: scaled(partitions, 1000),
			Phases: []phase{{Lasting: before, From: 20}, {Lasting: lasting, From: 400, Storm: true}},
		},
		{
			// The same, for two cores, which make some 200 such calls a second in all.
			Name: "keyed100", Kind: keyed, Served: many, Limits: held(scaled(partitions, 1000), 4*hold),
			Phases: []phase{{Lasting: before, From: 5}, {Lasting: lasting, From: 100, Storm: true}},
		},
		{
			Name: "counter10x-table", Kind: counter, Served: few, Phases: onTop(10, half, before),
			Limits: system.Limits{Partitions: partitions, PartitionWCU: 1000, TableWCU: partitionWCU, TransactionHold: hold},
		},
		{Name: "now10x-40", Kind: event, Phases: onTop(10, half, before), Served: few, Limits: scaled(partitions, partitionWCU), Ahead: time.Millisecond},
		{Name: "again2x-40", Kind: again, Phases: onTop(2, half, before), Served: few, Limits: scaled(partitions, partitionWCU)},
		{Name: "backfill10x-40", Kind: backfill, Phases: onTop(10, half, before), Served: few, Limits: scaled(partitions, partitionWCU)},
		{Name: "counter10x-split", Kind: counter, Phases: splitting(), Served: many, Limits: splits(apart(4, partitionWCU), 10*time.Second)},
		{Name: "counter10x-4partitions", Kind: counter, Phases: onTop(10, half, before), Served: many, Limits: apart(4, partitionWCU)},
	}
	for _, n := range []int{4, 8, 16} {
		list = append(list, scenario{
			Name: fmt.Sprintf("quiet-%d", n), Kind: counter, Served: many, Limits: apart(n, 50), Quiet: 3,
			Phases: []phase{{Lasting: before, From: half * 50}, {Lasting: lasting, From: 5.5 * 50, Storm: true}},
		})
	}
	return list
}

// about says what a scenario is, in a line.
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
	if s.ByOne {
		return text + "; N grows by one a second"
	}
	if s.Fixed {
		return text + "; N stays 1"
	}
	return text
}
