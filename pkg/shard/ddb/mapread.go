package ddb

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
)

// load reads the whole table, then follows the log to its end.
//
// A scan is no snapshot: it may miss a change that commits while it runs, in the
// key's item, in the log, or in both. So it takes over what it saw of both (the
// higher version counts) and follows the log from the first gap in what it saw.
// Log items are only ever removed from the old end, so a gap is a change that
// was not there yet when the scan passed.
func (m *Map) load(ctx context.Context, now time.Time) error {
	fresh := &Map{client: m.client, table: m.table, maxKeys: m.maxKeys, keys: map[string]Entry{}}
	seen := map[int64]bool{}
	var from item
	for more := true; more; more = len(from) > 0 {
		out, err := m.scan(ctx, from)
		if err != nil {
			return fmt.Errorf("reading the shard map: %w", err)
		}
		for _, it := range out.Items {
			if err := fresh.take(it, seen); err != nil {
				return err
			}
		}
		from = out.LastEvaluatedKey
	}
	fresh.seq = firstGap(seen) - 1
	if err := fresh.follow(ctx, now); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.at, m.seq, m.keys, m.partial = fresh.at, fresh.seq, fresh.keys, fresh.partial
	return nil
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

func (m *Map) take(it item, seen map[int64]bool) error {
	pk, _ := it[schema.PK].(*types.AttributeValueMemberS)
	if pk == nil {
		return fmt.Errorf("shard map: an item has no %s", schema.PK)
	}
	key := pk.Value
	if digits, ok := strings.CutPrefix(key, logPrefix); ok {
		seq, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return fmt.Errorf("shard map: log item %q has no number", key)
		}
		seen[seq] = true
		key = text(it, attrKey)
	}
	m.apply(readEntry(key, it))
	return nil
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

// follow reads the change log from the view's place to its end.
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
		m.apply(readEntry(text(it, attrKey), it))
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
