package shardmap

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
)

// currentRead is a read of a key's item. The calls that came before its begin share it.
type currentRead struct {
	done  chan struct{} // closed at its end
	entry Entry         // set before done is closed, as is err
	err   error
	next  *currentRead // begins when this one ends; nil if no call waits for it
}

// Current returns a key's entry, and puts it into the view if it is newer. It has all changes that were committed before the
// call. It costs 1 RCU per 4 KB; concurrent calls for a key share one strongly consistent read, which begins after they
// came. If it fails, the error wraps ErrStale.
func (m *Map) Current(ctx context.Context, key string) (Entry, error) {
	if err := cmp.Or(m.checkClient(), checkKey(key)); err != nil {
		return Entry{}, err
	}
	read := m.joinRead(ctx, key)
	var err error
	select {
	case <-read.done:
		err = read.err
	case <-ctx.Done():
		err = dynamo.Kind(ctx.Err())
	}
	if err != nil {
		return Entry{Key: key}, fmt.Errorf("%w: reading %q of the shard map: %w", shard.ErrStale, key, err)
	}
	return read.entry, nil
}

// joinRead returns the key's next read, and starts it if no other is in flight.
func (m *Map) joinRead(ctx context.Context, key string) *currentRead {
	m.mu.Lock()
	defer m.mu.Unlock()
	flying := m.reads[key]
	if flying == nil {
		first := &currentRead{done: make(chan struct{})}
		m.reads[key] = first
		go m.makeReads(context.WithoutCancel(ctx), key, first)
		return first
	}
	if flying.next == nil {
		flying.next = &currentRead{done: make(chan struct{})}
	}
	return flying.next
}

// makeReads makes a read, and those that calls wait for at its end.
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

// readCurrent makes one read.
func (m *Map) readCurrent(ctx context.Context, key string, read *currentRead) {
	ctx, cancel := context.WithTimeout(ctx, currentTime)
	defer cancel()
	it, err := m.getItem(ctx, key)
	if read.err = err; err != nil {
		return
	}
	read.entry = readEntry(key, it)
	m.adopt(read.entry, it != nil)
	read.err = read.entry.fault
}

// currentTime bounds a read of Current with its retries.
const currentTime = 2 * time.Second

// Unsettled is how long ago an item's time may be if its shard count may have changed in a way that a view does not know
// yet. Later reads need no [Map.Current].
const Unsettled = 2 * Margin
