package limiter

import (
	"fmt"

	"github.com/hotshard/hotshard/internal/local/jsonitem"
	"github.com/hotshard/hotshard/internal/local/partitions"
)

// write is one write, of an operation of its own, a batch or a transaction.
type write struct {
	item
	kind    string
	key     jsonitem.Item
	changes map[string]jsonitem.Change

	// The item before the write, nil for none, which is known once it was looked at, and after
	// it: after an update it is what the limiter could make out.
	looked        bool
	before, after jsonitem.Item
}

// The kinds of write, as transactions name them.
const (
	put       = "Put"
	update    = "Update"
	remove    = "Delete"
	condition = "ConditionCheck"
)

// writeBody is what is read of a write's request; batches and transactions use
// parts of it.
type writeBody struct {
	TableName                           string
	Item                                jsonitem.Item
	Key                                 jsonitem.Item
	UpdateExpression                    string
	ExpressionAttributeNames            map[string]string
	ExpressionAttributeValues           jsonitem.Item
	AttributeUpdates                    map[string]jsonitem.AttributeUpdate
	ReturnValues                        string
	ReturnConsumedCapacity              string
	ReturnValuesOnConditionCheckFailure string
}

// newWrite makes out a write. It fails with errRefused for one that the engine will refuse,
// for its table or its key.
func (c *call) newWrite(kind string, body *writeBody) (*write, error) {
	source, after := body.Key, jsonitem.Item(nil)
	if kind == put {
		source, after = body.Item, body.Item
	}
	of, err := c.locate(body.TableName, source)
	if err != nil {
		return nil, err
	}
	w := &write{item: of, kind: kind, after: after, key: jsonitem.Item{of.key.hash: source[of.key.hash]}}
	if sort := of.key.sort; sort != "" {
		w.key[sort] = source[sort]
	}
	if kind == update {
		w.changes = body.changes()
	}
	return w, nil
}

func (b *writeBody) changes() map[string]jsonitem.Change {
	changes := jsonitem.Updates(b.UpdateExpression, b.ExpressionAttributeNames, b.ExpressionAttributeValues)
	for name, u := range b.AttributeUpdates {
		changes[name] = u.Change()
	}
	return changes
}

// look takes note of the item as it is before the write.
func (w *write) look(before jsonitem.Item) {
	w.looked, w.before = true, before
	if w.kind == update {
		w.after = jsonitem.Apply(before, w.key, w.changes, w.globalHash)
	}
}

// cost is what the write costs in its table, which comes first, and in its indexes.
func (w *write) cost() []partitions.Charge { return w.table.cost(w.at, w.before, w.after) }

// maxFetch is the most keys that BatchGetItem takes, and more than other requests have.
const maxFetch = 100

type fetchKeys struct {
	ConsistentRead bool
	Keys           []jsonitem.Item
}

// fetch reads the items of a request's writes from the engine as they are now, by the writes'
// ids. It fails with errRefused for items that the engine does not read.
func (c *call) fetch(writes ...*write) (map[string]jsonitem.Item, error) {
	found := map[string]jsonitem.Item{}
	tables := map[string]*table{}
	wanted := map[string]*fetchKeys{}
	seen := map[string]bool{}
	for _, w := range writes {
		if seen[w.id()] {
			continue
		}
		seen[w.id()] = true
		if wanted[w.name] == nil {
			tables[w.name], wanted[w.name] = w.table, &fetchKeys{ConsistentRead: true}
		}
		wanted[w.name].Keys = append(wanted[w.name].Keys, w.key)
	}
	for round := 0; len(wanted) > 0; round++ {
		if round == maxFetch { // each brings an item at least
			return nil, fmt.Errorf("reading %d items: the engine leaves keys unprocessed", len(writes))
		}
		var err error
		if wanted, err = c.fetchOnce(wanted, tables, found); err != nil {
			return nil, err
		}
	}
	return found, nil
}

// fetchOnce returns what the engine left.
func (c *call) fetchOnce(wanted map[string]*fetchKeys, tables map[string]*table, found map[string]jsonitem.Item) (map[string]*fetchKeys, error) {
	r, err := c.ask("BatchGetItem", map[string]any{"RequestItems": wanted})
	if err != nil {
		return nil, fmt.Errorf("reading items before or after a write: %w", err)
	}
	var got struct {
		Responses       map[string][]jsonitem.Item
		UnprocessedKeys map[string]*fetchKeys
	}
	if !r.ok() || !understood(r.body, &got) {
		return nil, errRefused
	}
	for name, items := range got.Responses {
		for _, it := range items {
			if _, whole, ok := tables[name].key.of(it); ok {
				found[item{name: name, whole: whole}.id()] = it
			}
		}
	}
	return got.UnprocessedKeys, nil
}
