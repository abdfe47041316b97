package limiter

import (
	"errors"
	"fmt"
	"net/http"

	"github.com/hotshard/hotshard/internal/local/jsonitem"
	"github.com/hotshard/hotshard/internal/local/partitions"
)

// write is one write, of an operation of its own, a batch or a transaction.
type write struct {
	*table
	name    string // the table's, as the caller wrote it
	kind    string
	key     jsonitem.Item
	hash    string // of the key, as text
	whole   string // the key as text
	changes map[string]jsonitem.Change

	// The item before and after the write, nil for none, when they are known.
	// After an update it is what the limiter could make out.
	before, after image
}

// The kinds of write, as transactions name them.
const (
	put       = "Put"
	update    = "Update"
	remove    = "Delete"
	condition = "ConditionCheck"
)

type image struct {
	known bool
	item  jsonitem.Item
}

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

// newWrite makes out a write. It is nil for one that the engine will refuse, for
// its table or its key.
func (c *call) newWrite(kind string, body *writeBody) (*write, error) {
	t, err := c.describe(body.TableName)
	if t == nil || err != nil {
		return nil, err
	}
	w := &write{table: t, name: body.TableName, kind: kind, key: body.Key}
	source := body.Key
	if kind == put {
		source = body.Item
		w.after = image{true, body.Item}
	}
	var ok bool
	if w.hash, w.whole, ok = t.key.of(source); !ok {
		return nil, nil
	}
	w.key = jsonitem.Item{t.key.hash: source[t.key.hash]}
	if t.key.sort != "" {
		w.key[t.key.sort] = source[t.key.sort]
	}
	switch kind {
	case update:
		w.changes = body.changes()
	case remove:
		w.after = image{known: true}
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
	w.before = image{true, before}
	if w.kind == update {
		w.after.item = jsonitem.Apply(before, w.key, w.changes, w.globalHash)
	}
}

// globalHash tells whether an attribute is the partition key of a global index.
func (t *table) globalHash(name string) bool {
	for _, x := range t.indexes {
		if !x.local() && x.key.hash == name {
			return true
		}
	}
	return false
}

// id tells items of all tables apart, by the names that the caller wrote.
func (w *write) id() string { return w.name + "\x00" + w.whole }

func (w *write) item() partitions.ItemID { return partitions.ItemID{Space: w.Space, Key: w.whole} }

// fetch reads the items of writes from the engine as they are now, up to 100 a
// call, by the writes' ids.
func (c *call) fetch(writes ...*write) (map[string]jsonitem.Item, error) {
	found := map[string]jsonitem.Item{}
	for len(writes) > 0 {
		n := min(len(writes), maxFetch)
		if err := c.fetchSome(writes[:n], found); err != nil {
			return nil, err
		}
		writes = writes[n:]
	}
	return found, nil
}

// errRefused tells that the engine did not read items; it will refuse to write
// them as well, with a better answer.
var errRefused = errors.New("the engine refused to read the items of a write")

// giveUp ends a call that could not be prepared.
func (c *call) giveUp(err error) (*http.Response, error) {
	if errors.Is(err, errRefused) {
		return c.pass()
	}
	return nil, err
}

// maxFetch is the most keys that BatchGetItem takes.
const maxFetch = 100

type fetchKeys struct {
	ConsistentRead bool
	Keys           []jsonitem.Item
}

func (c *call) fetchSome(writes []*write, found map[string]jsonitem.Item) error {
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
			return fmt.Errorf("reading %d items: the engine leaves keys unprocessed", len(writes))
		}
		var err error
		if wanted, err = c.fetchOnce(wanted, tables, found); err != nil {
			return err
		}
	}
	return nil
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
				found[name+"\x00"+whole] = it
			}
		}
	}
	return got.UnprocessedKeys, nil
}
