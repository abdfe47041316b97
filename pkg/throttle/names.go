package throttle

import (
	"slices"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// tableName returns the name of a table that is given by its name or its ARN. It returns any other text as it is.
func tableName(named string) string {
	if name, _, _, err := dynamo.TableName(named); err == nil {
		return name
	}
	return named
}

// tables are the cached tables by database and name.
type tables map[string]*table

const (
	maxTables = 256 // cached tables; a further one evicts another and its buckets
	maxARNs   = 64  // cached ARNs of a table: DynamoDB Local accepts ARNs of any account
)

// add caches a table. If there are maxTables already, it removes any other one.
func (t tables) add(key string, added *table) {
	for other := range t {
		if len(t) >= maxTables {
			delete(t, other)
		}
	}
	t[key] = added
}

// spaces returns the partitions of a table and of its global indexes.
func (t *table) spaces() []*partitions.Space { return append(slices.Clone(t.globalIndexes), t.Space) }
