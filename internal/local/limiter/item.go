package limiter

import (
	"errors"
	"net/http"

	"github.com/hotshard/hotshard/internal/local/jsonitem"
	"github.com/hotshard/hotshard/internal/local/partitions"
)

// item is one that a request names.
type item struct {
	*table
	name  string           // the table's, as the caller wrote it
	at    partitions.Place // of its partition key
	whole string           // the whole key, as text
}

// errRefused tells that the engine will refuse a request: its answer is the right one.
var errRefused = errors.New("the engine will refuse the request")

// giveUp ends a call that could not be prepared, for the error that tells why.
func (c *call) giveUp(err error) (*http.Response, error) {
	if errors.Is(err, errRefused) {
		return c.pass()
	}
	return nil, err
}

// locate finds the item that has a key, which may be among other attributes. It fails with
// errRefused where there is no such table, or it has other keys.
func (c *call) locate(name string, key jsonitem.Item) (item, error) {
	t, err := c.describe(name)
	if err != nil {
		return item{}, err
	}
	hash, whole, ok := t.key.of(key)
	if !ok {
		return item{}, errRefused
	}
	return item{t, name, t.Place(hash), whole}, nil
}

// id tells items of all tables apart, by the names that the caller wrote.
func (i item) id() string { return i.name + "\x00" + i.whole }

// held is what transactions hold of it.
func (i item) held() partitions.ItemID { return partitions.ItemID{Space: i.Space, Key: i.whole} }
