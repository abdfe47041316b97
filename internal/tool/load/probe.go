package load

import (
	"context"
	"time"
)

// ProbeCounter is the counter that a load increments to measure freshness. Two concurrent loads would measure each
// other's increments.
const ProbeCounter = "hotshard-load-probe"

const (
	probeEvery  = 200 * time.Millisecond // at least, between the starts of two probes
	probePoll   = 10 * time.Millisecond  // between reads; the resolution of freshness
	probeGiveUp = 10 * time.Second
)

// probe measures the freshness of summaries.
type probe struct {
	sender *sender
	reader *reader
	value  int64 // the counter's value, as far as known
}

// run probes repeatedly, at least once, until done is closed. It counts a failed probe as missed, and does not end the
// load.
func (p *probe) run(ctx context.Context, done <-chan struct{}) error {
	if err := p.readStrong(ctx); err != nil {
		return err
	}
	ticker := time.NewTicker(probeEvery)
	defer ticker.Stop()
	for {
		if err := p.probeOnce(ctx); err != nil {
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

// readStrong sets the probe's value to the sum of the counter's write shards.
func (p *probe) readStrong(ctx context.Context) error {
	values, err := p.reader.counters(ctx, []string{ProbeCounter}, strong)
	p.value = values[ProbeCounter]
	return err
}

// probeOnce increments the counter, and waits until the summary has the increment.
func (p *probe) probeOnce(ctx context.Context) error {
	one := []increment{{Counter: ProbeCounter, Delta: 1}}
	states, err := p.sender.sendIncrements(ctx, one)
	begin := time.Now()
	p.sender.ledger.increment(ProbeCounter, 1, states[0])
	if err != nil {
		return err
	}
	if states[0] != accepted {
		p.sender.meter.freshness(0, false)
		return p.readStrong(ctx)
	}
	p.value++
	shown := p.reader.awaitSummary(ctx, ProbeCounter, p.value)
	p.sender.meter.freshness(time.Since(begin), shown)
	return nil
}

// awaitSummary polls a counter's summary, and reports whether it reached the value in time. Failed reads are ignored.
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
