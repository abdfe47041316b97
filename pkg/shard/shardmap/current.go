package shardmap

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
)

// currentRead is a read of a key's item, shared by the calls that were made before the read began.
type currentRead struct {
	done  chan struct{} // closed when the read has ended; then entry and err are set
	entry Entry
	err   error
	next  *currentRead // begins when this one ends; nil if no call waits for another read
}

// Current returns a key's entry with all changes that were committed before the call, and updates the view. The strongly
// consistent read costs 1 RCU per 4 KB; concurrent calls for a key share one. If the read fails, the error wraps ErrStale.
func (m *Map) Current(ctx context.Context, key string) (Entry, error) {
	if err := cmp.Or(m.Check(), checkKey(key)); err != nil {
		return Entry{}, err
	}
	read := m.joinRead(ctx, key)
	var err error
	select {
	case <-read.done:
		err = read.err
	case <-ctx.Done():
		err = dynamo.Classify(ctx.Err())
	}
	if err != nil {
		return Entry{Key: key}, fmt.Errorf("%w: reading %q of the shard map: %w", shard.ErrStale, key, err)
	}
	return read.entry, nil
}

// joinRead returns a read of the key that begins after this call: a new one, or the one queued behind the read in flight.
func (m *Map) joinRead(ctx context.Context, key string) *currentRead {
	m.mu.Lock()
	defer m.mu.Unlock()
	inFlight := m.reads[key]
	if inFlight == nil {
		first := &currentRead{done: make(chan struct{})}
		m.reads[key] = first
		go m.makeReads(context.WithoutCancel(ctx), key, first)
		return first
	}
	if inFlight.next == nil {
		inFlight.next = &currentRead{done: make(chan struct{})}
	}
	return inFlight.next
}

// makeReads makes a read of a key, and then the reads that were queued behind it, one after the other.
func (m *Map) makeReads(ctx context.Context, key string, read *currentRead) {
	for read != nil {
		m.readCurrent(ctx, key, read)
		m.mu.Lock()
		next := read.next
		if next != nil {
			m.reads[key] = next
		} else {
			delete(m.reads, key)
		}
		m.mu.Unlock()
		close(read.done)
		read = next
	}
}

// readCurrent makes one read: it sets the read's result, and updates the view.
func (m *Map) readCurrent(ctx context.Context, key string, read *currentRead) {
	ctx, cancel := context.WithTimeout(ctx, currentReadTime)
	defer cancel()
	it, err := m.getItem(ctx, key)
	if read.err = err; err != nil {
		return
	}
	read.entry = readEntry(key, it)
	m.updateView(read.entry, it != nil)
	read.err = read.entry.fault
}

// currentReadTime bounds a read of Current with its retries.
const currentReadTime = 2 * time.Second

// Unsettled is how long after an item's time a view may lack a shard count of that time. Until then a read that misses
// the item, or continues a range, uses [Map.Current].
const Unsettled = 2 * Margin
