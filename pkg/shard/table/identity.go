package table

import (
	"fmt"

	"github.com/hotshard/hotshard/internal/place"
)

// identity returns the item's or key's own.
func (t *Table) identity(it Item) place.Identity {
	if by := t.Layout.tells(t); by != "" {
		return place.Identity{by: it[by]}
	}
	return nil
}

// tells is what Layout.tells returns for an item's write shard calculated by an attribute.
func (t *Table) tells(by string) string {
	if by == t.SortKey {
		return ""
	}
	return by
}

// byFault is what is wrong with the attribute that write shards are calculated from.
func (t *Table) byFault(by string) error {
	if by == t.PartitionKey {
		return fmt.Errorf("attribute %s (By) is the partition key: all items of a name would be on one write shard", by)
	}
	return nil
}
