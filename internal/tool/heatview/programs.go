package heatview

import (
	"cmp"

	"github.com/hotshard/hotshard/internal/base/heat"
	"github.com/hotshard/hotshard/internal/base/ownkeys"
)

// Programs is how the programs of a table spread names over partition keys by the library. nil means that they don't.
type Programs struct {
	Keys      ownkeys.Keys
	Namespace string // prefix of the names in the shard map
}

// have reports whether a row is of the programs' names, and not of an index.
func (p *Programs) have(row *heat.KeyHeat) bool { return p != nil && row.Index == "" }

// group returns the ID of the base key or name that a row is a write shard of, or of the row itself if it is none.
func (p *Programs) group(row *heat.KeyHeat) keyID {
	id := idOf(row)
	if base, ok := row.Base(); ok {
		id.key = base.String()
	} else if p.have(row) {
		id.key, _ = p.split(row.Key)
	}
	return id
}

// split returns the name that a partition key is a write shard of, and the write shard's number.
func (p *Programs) split(key string) (name string, n int) {
	name, _, n, ok := p.Keys.Split(key)
	if !ok { // it has no time bucket
		return key, 0
	}
	return name, n
}

// compare orders partition keys by name and write shard.
func (p *Programs) compare(a, b string) int {
	if p == nil {
		return heat.CompareShards(a, b)
	}
	aName, aNumber := p.split(a)
	bName, bNumber := p.split(b)
	return cmp.Or(cmp.Compare(aName, bName), cmp.Compare(aNumber, bNumber))
}

// seen returns the least number of write shards that a name with these rows has, or 0 for other keys.
func (p *Programs) seen(rows []heat.KeyHeat) (most int) {
	for i := range rows {
		if p.have(&rows[i]) {
			_, n := p.split(rows[i].Key)
			most = max(most, n+1)
		}
	}
	return most
}
