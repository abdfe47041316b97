package prove

import (
	"context"
	"fmt"
	"sync"

	"github.com/hotshard/hotshard/internal/tool/bill"
)

// Units are the amounts that AWS bills.
type Units struct {
	WriteUnits  float64 `json:"write_units"` // of on-demand tables, with folds
	ReadUnits   float64 `json:"read_units"`
	Requests    float64 `json:"api_requests"`
	Invocations float64 `json:"invocations"` // of all functions
	GBSeconds   float64 `json:"gb_seconds"`
}

func (u Units) plus(v Units) Units {
	return Units{u.WriteUnits + v.WriteUnits, u.ReadUnits + v.ReadUnits, u.Requests + v.Requests, u.Invocations + v.Invocations, u.GBSeconds + v.GBSeconds}
}

func (u Units) minus(v Units) Units { return u.plus(v.times(-1)) }

func (u Units) times(n float64) Units {
	return Units{n * u.WriteUnits, n * u.ReadUnits, n * u.Requests, n * u.Invocations, n * u.GBSeconds}
}

// Prices are in USD for a million units, except GB-seconds, whose price is for one.
type Prices struct {
	WriteUnits  float64 `json:"write_units_million"`
	ReadUnits   float64 `json:"read_units_million"`
	Requests    float64 `json:"api_requests_million"`
	Invocations float64 `json:"invocations_million"`
	GBSecond    float64 `json:"gb_second"`
	// Standing is the cost of a deployment that does not depend on the load: alarms, metrics, log lines, schedules.
	// docs/deploy.md has 0.50 a day; this is for some hours.
	Standing float64 `json:"standing"`
}

// DefaultPrices returns the prices of hotshard plan.
func DefaultPrices() Prices {
	p := bill.Default()
	return Prices{
		WriteUnits: p.Tables.OnDemandWrite, ReadUnits: p.Tables.OnDemandRead,
		Requests: p.Requests[0].Price, Invocations: p.Invocations, GBSecond: p.GBSecond, Standing: 0.25,
	}
}

const million = 1e6

// cost returns the cost of units, without Standing.
func (p Prices) cost(u Units) float64 {
	return (u.WriteUnits*p.WriteUnits+u.ReadUnits*p.ReadUnits+u.Requests*p.Requests+u.Invocations*p.Invocations)/million + u.GBSeconds*p.GBSecond
}

// ceilingError means that a run ended at its ceiling.
type ceilingError struct{ Ceiling float64 }

func (e *ceilingError) Error() string {
	return fmt.Sprintf("the run was ended because it could have cost more than the ceiling of $%.2f", e.Ceiling)
}

// meter counts used units. A call in flight counts with its maximum.
type meter struct {
	prices  Prices
	ceiling float64
	stop    context.CancelCauseFunc // ends the experiments; nil in tests of the meter

	mu       sync.Mutex
	used     Units
	inFlight Units // the maximum of the calls in flight
}

func newMeter(ceiling float64, prices Prices) *meter { return &meter{prices: prices, ceiling: ceiling} }

// begin reserves the most units that an action may use; done replaces them with the used units. If the action could
// exceed the ceiling, begin returns an error and ends the run.
func (m *meter) begin(most Units) (done func(Units), err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.prices.Standing+m.prices.cost(m.used.plus(m.inFlight).plus(most)) > m.ceiling {
		err := &ceilingError{m.ceiling}
		if m.stop != nil {
			m.stop(err)
		}
		return nil, err
	}
	m.inFlight = m.inFlight.plus(most)
	return func(used Units) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.inFlight = m.inFlight.minus(most)
		m.used = m.used.plus(used)
	}, nil
}

// total returns the units used so far.
func (m *meter) total() Units {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.used
}
