package ddb

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
)

// maxLoads bounds the scans of one load.
const maxLoads = 10

// load reads the whole table, then follows the log to its end.
//
// A scan is no snapshot: it may miss a change that commits while it runs, in the
// key's item, in the log, or in both. So it takes over what it saw of both (the
// higher version counts) and follows the log from the first gap in what it saw.
// Log items are only ever removed from the old end, so a gap is a change that
// was not there yet when the scan passed.
//
// What a scan saw of a key that was deleted meanwhile must not stay. The deletion is
// in the log ([MapChanger.Forget]), and counts only if it was there before the scan
// began: else it is scanned again.
func (m *Map) load(ctx context.Context, now time.Time) error {
	var known int64 // the newest deletion that was there before the scan
	for range maxLoads {
		fresh := &Map{client: m.client, table: m.table, maxKeys: m.maxKeys, keys: map[string]Entry{}}
		deletion, err := fresh.scanAll(ctx, now)
		if err != nil {
			return err
		}
		if deletion <= known {
			err = fresh.follow(ctx, now)
			if err == nil {
				m.mu.Lock()
				defer m.mu.Unlock()
				m.at, m.seq, m.keys, m.partial = fresh.at, fresh.seq, fresh.keys, fresh.partial
				return nil
			}
			if !errors.Is(err, errDeletion) {
				return err
			}
			deletion = fresh.seq + 1
		}
		known = deletion
	}
	return fmt.Errorf("reading the shard map: keys were deleted during each of %d scans", maxLoads)
}

// scanAll takes in what a scan of the table has, and returns the newest deletion in
// the log that may have come while it ran, 0 for none.
func (m *Map) scanAll(ctx context.Context, now time.Time) (deletion int64, err error) {
	seen := map[int64]bool{}
	var from item
	for more := true; more; more = len(from) > 0 {
		out, err := m.scan(ctx, from)
		if err != nil {
			return 0, fmt.Errorf("reading the shard map: %w", err)
		}
		for _, it := range out.Items {
			seq, err := m.take(it, seen)
			if err != nil {
				return 0, err
			}
			if isDeletion(it) && recent(it, now) {
				deletion = max(deletion, seq)
			}
		}
		from = out.LastEvaluatedKey
	}
	m.seq = firstGap(seen) - 1
	return deletion, nil
}

func (m *Map) scan(ctx context.Context, from item) (out *dynamodb.ScanOutput, err error) {
	err = persist(ctx, func(ctx context.Context) error {
		out, err = m.client.Scan(ctx, &dynamodb.ScanInput{
			TableName: &m.table, ConsistentRead: aws.Bool(true), ExclusiveStartKey: from,
		}, once)
		return err
	})
	return out, err
}

// take takes in an item, and returns its number if it is one of the log.
func (m *Map) take(it item, seen map[int64]bool) (seq int64, err error) {
	pk, _ := it[schema.PK].(*types.AttributeValueMemberS)
	if pk == nil {
		return 0, fmt.Errorf("shard map: an item has no %s", schema.PK)
	}
	key := pk.Value
	if digits, ok := strings.CutPrefix(key, logPrefix); ok {
		if seq, err = strconv.ParseInt(digits, 10, 64); err != nil {
			return 0, fmt.Errorf("shard map: log item %q has no number", key)
		}
		seen[seq] = true
		key = text(it, attrKey)
	}
	if key != "" { // what is left of a deleted key's changes has none
		m.apply(readEntry(key, it))
	}
	return seq, nil
}

// readEntry reads an item into an entry, with the fault if there is one.
func readEntry(key string, it item) Entry {
	entry, err := parseEntry(key, it)
	if err != nil {
		return Entry{Key: key, fault: err}
	}
	return entry
}

// firstGap returns the first number missing after the lowest one seen.
func firstGap(seen map[int64]bool) int64 {
	if len(seen) == 0 {
		return 1
	}
	var low int64 = -1
	for n := range seen {
		if low < 0 || n < low {
			low = n
		}
	}
	for seen[low] {
		low++
	}
	return low
}

// follow reads the change log from the view's place to its end, or to a deletion:
// that is errDeletion, and the view is to be loaded anew.
func (m *Map) follow(ctx context.Context, now time.Time) error {
	for {
		it, err := m.get(ctx, logKey(m.seq+1))
		if err != nil {
			return fmt.Errorf("reading change %d of the shard map: %w", m.seq+1, err)
		}
		m.mu.Lock()
		if it == nil {
			m.at = now
			m.mu.Unlock()
			return nil
		}
		if isDeletion(it) {
			m.mu.Unlock()
			return errDeletion
		}
		if key := text(it, attrKey); key != "" {
			m.apply(readEntry(key, it))
		}
		m.seq++
		m.mu.Unlock()
	}
}

// Read reads one key's item, consistently and past the view. A key that is not in
// the map has an entry with no history.
func (m *Map) Read(ctx context.Context, key string) (Entry, error) {
	it, err := m.get(ctx, item{schema.PK: &types.AttributeValueMemberS{Value: key}})
	if err != nil || it == nil {
		return Entry{Key: key}, err
	}
	return parseEntry(key, it)
}

func (m *Map) get(ctx context.Context, key item) (it item, err error) {
	err = persist(ctx, func(ctx context.Context) error {
		out, err := m.client.GetItem(ctx, &dynamodb.GetItemInput{
			TableName: &m.table, Key: key, ConsistentRead: aws.Bool(true),
		}, once)
		if err == nil {
			it = out.Item
		}
		return err
	})
	return it, err
}

func text(it item, name string) string {
	s, _ := it[name].(*types.AttributeValueMemberS)
	if s == nil {
		return ""
	}
	return s.Value
}
