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

// probe measures how fresh summaries are.
type probe struct {
	sender *sender
	reader *reader
	value  int64 // the counter's, as far as is known
}

// run raises the probe counter now and then, once at least, until done is
// closed, and measures each time how long the summary takes to show it. What
// keeps it from measuring is counted as missed, and ends no load.
func (p *probe) run(ctx context.Context, done <-chan struct{}) error {
	if err := p.look(ctx); err != nil {
		return err
	}
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		if err := p.once(ctx); err != nil {
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

// look reads the counter's write shards.
func (p *probe) look(ctx context.Context) error {
	values, err := p.reader.counters(ctx, []string{ProbeCounter}, strong)
	p.value = values[ProbeCounter]
	return err
}

// once raises the counter, and waits until the summary has it.
func (p *probe) once(ctx context.Context) error {
	one := []increment{{Counter: ProbeCounter, Delta: 1}}
	states, err := p.sender.sendIncrements(ctx, one)
	begin := time.Now()
	p.sender.ledger.increment(ProbeCounter, 1, states[0])
	if err != nil {
		return err
	}
	if states[0] != accepted {
		p.sender.meter.freshness(0, false)
		return p.look(ctx)
	}
	p.value++
	shown := p.reader.awaitSummary(ctx, ProbeCounter, p.value)
	p.sender.meter.freshness(time.Since(begin), shown)
	return nil
}

// awaitSummary reads a counter's summary until it has at least the value. A read
// that fails is one that did not show it.
func (r *reader) awaitSummary(ctx context.Context, counter string, value int64) bool {
	ctx, cancel := context.WithTimeout(ctx, probeGiveUp)
	defer cancel()
	for {
		values, err := r.counters(ctx, []string{counter}, eventual)
		if err == nil && values[counter] >= value {
			return true
		}
		if sleep(ctx, probePoll) != nil {
			return false
		}
	}
}
