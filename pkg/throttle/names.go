package throttle

import (
	"maps"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// tableName returns the name of a table that is given by its name or its ARN. It returns any other text as it is.
func tableName(named string) string {
	if name, _, _, err := dynamo.TableName(named); err == nil {
		return name
	}
	return named
}

// tables are the tables that the limiter caches. The zero value has none.
type tables struct {
	all   []*table
	names map[string]*table // by database and name or ARN, as in requests
}

// maxTables bounds the cached tables. A further table evicts another one and its buckets.
const maxTables = 256

// maxNames bounds the cached names. DynamoDB Local takes ARNs of any account.
const maxNames = 4 * maxTables

// find returns the table that the engine describes with this name and ARN, or nil. The ARN tells tables of other accounts
// apart; "" is any.
func (t *tables) find(database, name, arn string) *table {
	for _, known := range t.all {
		if known.is(database, name, arn) {
			return known
		}
	}
	return nil
}

func (t *table) is(database, name, arn string) bool {
	return t.database == database && t.Table == name && (t.ARN == arn || t.ARN == "" || arn == "")
}

// add caches a table, and the name in a request for it.
func (t *tables) add(name string, added *table) {
	if t.names == nil || len(t.names) >= maxNames {
		t.names = map[string]*table{}
	}
	t.names[added.database+"\x00"+name] = added
	if slices.Contains(t.all, added) {
		return
	}
	if len(t.all) >= maxTables {
		t.remove(t.all[0])
	}
	t.all = append(t.all, added)
}

// remove removes a table with all its names.
func (t *tables) remove(removed *table) {
	t.all = slices.DeleteFunc(t.all, func(known *table) bool { return known == removed })
	maps.DeleteFunc(t.names, func(_ string, known *table) bool { return known == removed })
}

// batchTables are the tables of a batch by the names in its request.
type batchTables map[string]*table

// find returns the table that a response names, or nil. The engine may name a table whose ARN is in the request, and the
// other way round.
func (b batchTables) find(answered string) *table {
	if t := b[answered]; t != nil {
		return t
	}
	for _, name := range slices.Sorted(maps.Keys(b)) {
		if tableName(name) == tableName(answered) {
			return b[name]
		}
	}
	return nil
}

// mergeHeld adds what the limiter withheld of a batch, by the names in the request, to what the engine left unprocessed. A
// table keeps the name in the response, if it has one. Callers may send all of it as one batch.
func mergeHeld[V any](b batchTables, left map[string]V, held map[string][]jsontext.Value, merge func(name string, left V, held []jsontext.Value) V) map[string]V {
	merged := map[string]V{}
	maps.Copy(merged, left)
	for _, name := range slices.Sorted(maps.Keys(held)) {
		to := name
		for _, answered := range slices.Sorted(maps.Keys(left)) {
			if b.find(answered) == b[name] {
				to = answered
			}
		}
		merged[to] = merge(name, merged[to], held[name])
	}
	return merged
}
