package load

import (
	"context"
	"time"
)

// ProbeCounter is the counter that a load raises to measure freshness. Two
// loads at a time would measure each other's increments.
const ProbeCounter = "hotshard-load-probe"

const (
	probeEvery  = 200 * time.Millisecond // from the start of one probe to the next's, at least
	probePoll   = 10 * time.Millisecond  // between reads: the measure is that coarse
	probeGiveUp = 10 * time.Second
)

// probe raises the probe counter now and then, once at least, until done is
// closed, and measures each time how long the summary takes to show it. What
// keeps it from measuring is counted as missed, and ends no load.
func (d *driver) probe(ctx context.Context, done <-chan struct{}) error {
	values, err := d.readCounters(ctx, []string{ProbeCounter}, strong)
	if err != nil {
		return err
	}
	value := values[ProbeCounter]
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		if value, err = d.probeOnce(ctx, value); err != nil {
			return err
		}
		select {
		case <-done:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// probeOnce raises the counter from value, and returns the value that it then
// has.
func (d *driver) probeOnce(ctx context.Context, value int64) (int64, error) {
	one := []increment{{Counter: ProbeCounter, Delta: 1}}
	states, err := d.sendIncrements(ctx, one)
	begin := time.Now()
	d.ledger.increment(ProbeCounter, 1, states[0])
	if err != nil {
		return value, err
	}
	if states[0] != accepted {
		d.meter.freshness(0, false)
		values, err := d.readCounters(ctx, []string{ProbeCounter}, strong)
		return values[ProbeCounter], err
	}
	value++
	shown := d.awaitSummary(ctx, ProbeCounter, value)
	d.meter.freshness(time.Since(begin), shown)
	return value, nil
}

// awaitSummary reads a counter's summary until it has at least the value. A read
// that fails is one that did not show it.
func (d *driver) awaitSummary(ctx context.Context, counter string, value int64) bool {
	ctx, cancel := context.WithTimeout(ctx, probeGiveUp)
	defer cancel()
	for {
		values, err := d.readCounters(ctx, []string{counter}, eventual)
		if err == nil && values[counter] >= value {
			return true
		}
		if sleep(ctx, probePoll) != nil {
			return false
		}
	}
}
