package ddb

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
)

// mapLoad is a reading of the whole table. What fails or runs out of time goes on where
// it was.
//
// A scan is no snapshot: it may miss a change that commits while it runs, in the
// key's item, in the log, or in both. So the load takes over what it saw of both (the
// higher version counts) and follows the log from the first gap in what it saw: a
// change that was not there yet when the scan passed. That may be the log's very first.
//
// What a scan saw of a key that was deleted meanwhile must not stay. The deletion is
// in the log ([MapChanger.Forget]), before the gap or behind it, and says which keys
// to look at again.
type mapLoad struct {
	begun   time.Time
	view    *view
	from    item           // where the scan goes on; nil at its begin
	scanned bool           // the scan is at its end
	seen    map[int64]bool // numbers of log items; nil once the view has its place
	newest  int64          // the highest of them
	gone    map[int64]bool // hints of keys deleted since the load began
	again   []string       // keys to look at again
}

// maxLoadTime bounds a load: one that began earlier starts over.
const maxLoadTime = 10 * time.Minute

// clocks is how far the clocks of processes may be apart, and how long the transaction of
// a deletion may take, together, for a load to see which deletions came before it.
const clocks = time.Minute

func newLoad(maxKeys int, now time.Time) *mapLoad {
	return &mapLoad{begun: now, view: newView(maxKeys), seen: map[int64]bool{}, gone: map[int64]bool{}}
}

// load reads the whole table, then follows the log to its end. Only renewals call it.
func (m *Map) load(ctx context.Context, now time.Time) error {
	l := m.loading
	if l == nil || now.Sub(l.begun).Abs() > maxLoadTime {
		l = newLoad(m.maxKeys, now)
		m.loading = l
	}
	if err := m.scan(ctx, l); err != nil {
		return fmt.Errorf("reading the shard map: %w", err)
	}
	if err := m.place(ctx, l); err != nil {
		return err
	}
	for ; len(l.again) > 0; l.again = l.again[1:] {
		if err := m.lookAgain(ctx, l.view, l.again[0]); err != nil {
			return err
		}
	}
	if err := m.follow(ctx, l.view, now); err != nil {
		return err
	}
	m.loading = nil
	m.mu.Lock()
	defer m.mu.Unlock()
	m.view = l.view
	return nil
}

// scan reads the table from where the load is to its end.
func (m *Map) scan(ctx context.Context, l *mapLoad) error {
	for !l.scanned {
		var out *dynamodb.ScanOutput
		err := persist(ctx, func(ctx context.Context) (err error) {
			out, err = m.client.Scan(ctx, &dynamodb.ScanInput{
				TableName: &m.table, ConsistentRead: aws.Bool(true), ExclusiveStartKey: l.from,
			}, once)
			return err
		})
		if err != nil {
			return err
		}
		for _, it := range out.Items {
			l.take(it)
		}
		if l.from = out.LastEvaluatedKey; len(l.from) == 0 {
			l.scanned, l.again = true, l.view.hinted(l.gone)
		}
	}
	return nil
}

// take takes in an item. One that is in the log's places and is no change of it says
// nothing.
func (l *mapLoad) take(it item) {
	key := text(it, schema.PK)
	if strings.HasPrefix(key, logPrefix) {
		seq, ok := logNumber(key)
		if !ok {
			return
		}
		l.note(seq, it)
		key = text(it, attrKey)
	}
	if key != "" { // what is left of a deleted key's changes has none
		l.view.mu.Lock()
		defer l.view.mu.Unlock()
		l.view.apply(readEntry(key, it))
	}
}

// note takes note of a log item's place, and of a deletion that may be news.
func (l *mapLoad) note(seq int64, it item) {
	l.seen[seq] = true
	if isChange(it) {
		l.newest = max(l.newest, seq)
	}
	if h, ok := deleted(it); ok && l.late(it) {
		l.gone[h] = true
	}
}

// isChange tells a change from an item that another program put in its place. What a
// deleted key leaves has its place only.
func isChange(it item) bool {
	_, gone := deleted(it)
	return gone || text(it, attrKey) != "" || len(it) == 1
}

// late tells whether a log item may be younger than the load's begin.
func (l *mapLoad) late(it item) bool {
	at, err := integer(it, attrUpdated)
	return err != nil || time.Unix(at, 0).After(l.begun.Add(-clocks))
}

// place works out where in the log the view is after the scan, once.
func (m *Map) place(ctx context.Context, l *mapLoad) error {
	if l.seen == nil {
		return nil
	}
	low := l.kept()
	if l.newest > 0 && !l.seen[low] {
		it, err := m.get(ctx, logKey(low))
		if err != nil {
			return fmt.Errorf("reading change %d of the shard map: %w", low, err)
		}
		if it == nil { // the log has lost its begin, which will not come back
			low = l.oldest(low)
		}
	}
	l.view.seq, l.seen = l.gap(low)-1, nil
	return nil
}

// kept returns the first number of the newer half of what the log keeps. Of the older
// half the log may have let go while the scan went by, which leaves gaps that are none.
func (l *mapLoad) kept() int64 { return max(1, l.newest-keptChanges/2+1) }

// oldest returns the lowest number, from low on, that the scan saw.
func (l *mapLoad) oldest(low int64) int64 {
	first := l.newest
	for n := range l.seen {
		if n >= low {
			first = min(first, n)
		}
	}
	return first
}

// gap returns the first number from low on that the scan did not see.
func (l *mapLoad) gap(low int64) int64 {
	for l.seen[low] {
		low++
	}
	return low
}

// lookAgain replaces what a view has of a key by what the table has.
func (m *Map) lookAgain(ctx context.Context, v *view, key string) error {
	it, err := m.get(ctx, item{schema.PK: &types.AttributeValueMemberS{Value: key}})
	if err != nil {
		return fmt.Errorf("reading %q of the shard map: %w", key, err)
	}
	v.replace(readEntry(key, it), it != nil)
	return nil
}
