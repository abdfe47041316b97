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
	key     dynamo.Item
	changes map[string]attributeChange

	// before and after are nil for no item; after an update, after is calculated from the request.
	knowsBefore   bool
	before, after dynamo.Item
}

// Kinds of writes, as transactions name them.
const (
	put       = "Put"
	update    = "Update"
	remove    = "Delete"
	condition = "ConditionCheck"
)

// writeBody has the members of a write's request that the limiter reads. Batches and
// transactions have some of them.
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

// source returns the request's item that has the key, for a write of this kind.
func (b *writeBody) source(kind string) dynamo.Item {
	if kind == put {
		return b.Item
	}
	return b.Key
}

// newWrite prepares a write. It returns errInvalid if the engine will reject the table or the
// key.
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

// setBefore sets the item before the write and calculates the item after it, as far as that depends on the
// one before.
func (w *write) setBefore(before dynamo.Item) {
	w.knowsBefore, w.before = true, before
	switch w.kind {
	case update:
		w.after = applyChanges(before, w.key, w.changes, w.inGlobalHash)
	case condition:
		w.after = before
	}
}

// cost returns the cost in the table, which is first, and in its indexes.
func (w *write) cost() []partitions.Charge { return w.table.cost(w.at, w.before, w.after) }

func (w *write) failedCost() partitions.Charge {
	return w.at.Writes(blocks(dynamo.Size(w.before), writeBlock))
}

// maxFetch is BatchGetItem's limit of keys, and exceeds that of writing requests.
const maxFetch = 100

// fetchKeys are the keys of a table whose items are still to be read.
type fetchKeys struct {
	ConsistentRead bool
	Keys           []dynamo.Item
}

// fetch reads the current items of writes from the engine. It returns errInvalid if the engine rejects the read.
func (c *call) fetch(writes ...*write) (map[partitions.ItemID]dynamo.Item, error) {
	found, of := map[partitions.ItemID]dynamo.Item{}, map[string]*table{}
	wanted, seen := map[string]fetchKeys{}, map[partitions.ItemID]bool{}
	for _, w := range writes {
		if !seen[w.id()] {
			seen[w.id()], of[w.name] = true, w.table
			wanted[w.name] = fetchKeys{true, append(wanted[w.name].Keys, w.key)}
		}
	}
	for round := 0; len(wanted) > 0; round++ {
		if round == maxFetch { // each round reads at least one item
			return nil, fmt.Errorf("reading %d items: the engine leaves keys unprocessed", len(writes))
		}
		r, err := c.query("BatchGetItem", map[string]any{"RequestItems": wanted})
		if err != nil {
			return nil, fmt.Errorf("reading items before or after a write: %w", err)
		}
		var got struct {
			Responses       map[string][]dynamo.Item
			UnprocessedKeys map[string]fetchKeys
		}
		if !r.ok() || !decode(r.text, &got) {
			return nil, errInvalid
		}
		for name, t := range of {
			for _, it := range got.Responses[name] {
				if _, whole, ok := t.key.text(it); ok {
					found[partitions.ItemID{Space: t.Space, Key: whole}] = it
				}
			}
		}
		wanted = got.UnprocessedKeys
		maps.DeleteFunc(wanted, func(_ string, rest fetchKeys) bool { return len(rest.Keys) == 0 })
	}
	return found, nil
}

// fetchItems fetches the items before writes.
func (c *call) fetchItems(writes ...*write) error {
	found, err := c.fetch(writes...)
	for _, w := range writes {
		w.setBefore(found[w.id()])
	}
	return err
}

// refetch fetches the items after updates. If that fails, the calculated items stay.
func (c *call) refetch(writes ...*write) {
	updates := slices.DeleteFunc(slices.Clone(writes), func(w *write) bool { return w.kind != update })
	found, err := c.fetch(updates...)
	if err != nil {
		return
	}
	for _, w := range updates {
		w.after = found[w.id()]
	}
}
