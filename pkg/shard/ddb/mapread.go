package ddb

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/schema"
)

// follow reads the change log from a view's place to its end.
func (m *Map) follow(ctx context.Context, v *view, now time.Time) error {
	for seq := v.last() + 1; ; seq++ {
		it, err := m.get(ctx, logKey(seq))
		if err != nil {
			return fmt.Errorf("reading change %d of the shard map: %w", seq, err)
		}
		if it == nil {
			v.reached(now)
			return nil
		}
		var entry Entry
		if key := text(it, attrKey); key != "" {
			entry = readEntry(key, it)
		}
		for _, key := range outdated(v, entry, it) {
			if err := m.lookAgain(ctx, v, key); err != nil {
				return err
			}
		}
		v.step(seq, entry)
	}
}

// outdated lists the keys to look at again because of a change: those that it may have
// deleted, and its own if it can't be read. What a view has of that is no longer so,
// whatever the change says; the key's item may be readable, or newer.
func outdated(v *view, change Entry, it item) (keys []string) {
	if h, ok := deleted(it); ok {
		keys = v.hinted(map[int64]bool{h: true})
	}
	if change.fault != nil {
		keys = append(keys, change.Key)
	}
	return keys
}

// readEntry reads an item into an entry, with the fault if there is one, and then no
// more than the version, 0 if that can't be read either.
func readEntry(key string, it item) Entry {
	entry, err := parseEntry(key, it)
	if err != nil {
		version, _ := integer(it, attrVersion)
		return Entry{Key: key, Version: version, fault: err}
	}
	return entry
}

// Read reads one key's item, consistently and past the view. A key that is not in
// the map has an entry with no history. It costs a read unit for 4 KB.
func (m *Map) Read(ctx context.Context, key string) (Entry, error) {
	if err := usable(key); err != nil {
		return Entry{}, err
	}
	it, err := m.get(ctx, item{schema.PK: &types.AttributeValueMemberS{Value: key}})
	if err != nil || it == nil {
		return Entry{Key: key}, err
	}
	return parseEntry(key, it)
}

// getTime bounds one attempt to read an item, which takes some milliseconds: many wait
// for it, and one that hangs is better made again.
const getTime = 2 * time.Second

func (m *Map) get(ctx context.Context, key item) (it item, err error) {
	err = persist(ctx, func(ctx context.Context) error {
		limited, cancel := context.WithTimeout(ctx, getTime)
		defer cancel()
		out, err := m.client.GetItem(limited, &dynamodb.GetItemInput{
			TableName: &m.table, Key: key, ConsistentRead: aws.Bool(true),
		}, once)
		switch {
		case err == nil:
			it = out.Item
		case limited.Err() != nil && ctx.Err() == nil:
			err = fmt.Errorf("%w: no answer within %v: %v", ErrUnavailable, getTime, err)
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
