package throttle

import (
	"fmt"
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// write is one write of a single operation, a batch or a transaction.
type write struct {
	item
	kind    string
	key     dynamo.Item                // the key attributes
	changes map[string]attributeChange // of an update

	knowsBefore bool        // before was read
	before      dynamo.Item // nil if there was no item
	after       dynamo.Item // nil if there is no item; of an update or condition check, set by setBefore
}

// Kinds of writes, as transactions name them.
const (
	put       = "Put"
	update    = "Update"
	remove    = "Delete"
	condition = "ConditionCheck"
)

// writeBody has the members of a write's request that the limiter reads. Batches and transactions have some of them.
type writeBody struct {
	TableName                           string
	Item                                dynamo.Item
	Key                                 dynamo.Item
	UpdateExpression                    string
	ExpressionAttributeNames            map[string]string
	ExpressionAttributeValues           dynamo.Item
	AttributeUpdates                    object // the legacy form of an UpdateExpression
	ReturnValues                        string
	ReturnConsumedCapacity              string
	ReturnValuesOnConditionCheckFailure string
	ConditionExpression                 string
	Expected                            jsontext.Value
}

// conditional reports whether the write has a condition.
func (b *writeBody) conditional() bool { return b.ConditionExpression != "" || b.Expected != nil }

// source returns the request's Item or, of other kinds than Put, its Key.
func (b *writeBody) source(kind string) dynamo.Item {
	if kind == put {
		return b.Item
	}
	return b.Key
}

// newWrite prepares a write. It returns errInvalid if the engine will reject the table or the key.
func (c *call) newWrite(kind string, body *writeBody) (*write, error) {
	source, after := body.source(kind), dynamo.Item(nil)
	if kind == put {
		after = body.Item
	}
	found, err := c.locate(body.TableName, source)
	if err != nil {
		return nil, err
	}
	w := &write{item: found, kind: kind, after: after, key: dynamo.Item{found.key.hash: source[found.key.hash]}, changes: body.changes()}
	if sort := found.key.sort; sort != "" {
		w.key[sort] = source[sort]
	}
	return w, nil
}

func (b *writeBody) changes() map[string]attributeChange {
	changes := parseUpdates(b.UpdateExpression, b.ExpressionAttributeNames, b.ExpressionAttributeValues)
	for name := range b.AttributeUpdates {
		changes[name] = attributeChange{value: computed}
	}
	return changes
}

// setBefore sets the item before the write. For an update or a condition check it also sets the item after the write,
// which depends on the item before.
func (w *write) setBefore(before dynamo.Item) {
	w.knowsBefore, w.before = true, before
	switch w.kind {
	case update:
		w.after = applyChanges(before, w.key, w.changes, w.inGlobalPartitionKey)
	case condition:
		w.after = before
	}
}

// cost returns the write's charges: the table's, then its indexes'.
func (w *write) cost() []partitions.Charge { return w.table.cost(w.place, w.before, w.after) }

// maxFetch is BatchGetItem's limit of keys. No writing request has more items.
const maxFetch = 100

// fetchKeys are the keys of a table's items that are still to be read, as BatchGetItem takes them.
type fetchKeys struct {
	ConsistentRead bool
	Keys           []dynamo.Item
}

// fetch reads the current items of writes from the engine. An item that does not exist is not in the map. fetch returns
// errInvalid if the engine rejects the read.
func (c *call) fetch(writes ...*write) (map[partitions.ItemID]dynamo.Item, error) {
	tables, wanted := map[string]*table{}, map[string]fetchKeys{}
	seen := map[partitions.ItemID]bool{}
	for _, w := range writes {
		tables[w.name] = w.table
		if !seen[w.id()] {
			wanted[w.name] = fetchKeys{true, append(wanted[w.name].Keys, w.key)}
		}
		seen[w.id()] = true
	}
	found := map[partitions.ItemID]dynamo.Item{}
	for round := 0; len(wanted) > 0; round++ {
		if round == maxFetch { // each round reads at least one item
			return nil, fmt.Errorf("reading %d items before or after a write: the engine left keys unprocessed in %d requests; repeat the write later", len(writes), round)
		}
		items, unprocessed, err := c.fetchRound(wanted)
		if err != nil {
			return nil, err
		}
		for name, t := range tables {
			for _, it := range items[name] {
				if primaryKey, ok := t.key.primaryKey(it); ok {
					found[partitions.ItemID{Space: t.Space, Key: primaryKey}] = it
				}
			}
		}
		wanted = unprocessed
	}
	return found, nil
}

// fetchRound sends one BatchGetItem, and returns the items and the keys that the engine did not process, by table name.
func (c *call) fetchRound(wanted map[string]fetchKeys) (items map[string][]dynamo.Item, unprocessed map[string]fetchKeys, err error) {
	r, err := c.askEngine("BatchGetItem", map[string]any{"RequestItems": wanted})
	if err != nil {
		return nil, nil, fmt.Errorf("reading items before or after a write: %w", err)
	}
	var got struct {
		Responses       map[string][]dynamo.Item
		UnprocessedKeys map[string]fetchKeys
	}
	if !r.ok() || !decode(r.text, &got) {
		return nil, nil, errInvalid
	}
	maps.DeleteFunc(got.UnprocessedKeys, func(_ string, left fetchKeys) bool { return len(left.Keys) == 0 })
	return got.Responses, got.UnprocessedKeys, nil
}

// fetchBefore reads each write's item from the engine and sets it as the item before the write; nil after an error.
func (c *call) fetchBefore(writes ...*write) error {
	found, err := c.fetch(writes...)
	for _, w := range writes {
		w.setBefore(found[w.id()])
	}
	return err
}

// fetchAfter reads the items of the updates among writes again and sets them as the items after the updates. If the
// read fails, the calculated items stay.
func (c *call) fetchAfter(writes ...*write) {
	updates := slices.DeleteFunc(slices.Clone(writes), func(w *write) bool { return w.kind != update })
	found, err := c.fetch(updates...)
	if err != nil {
		return
	}
	for _, w := range updates {
		w.after = found[w.id()]
	}
}
