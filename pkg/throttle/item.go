package throttle

import (
	"errors"
	"net/http"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// item is an item that a request names.
type item struct {
	*table
	name       string           // the table's, as in the request
	place      partitions.Place // of its partition key
	primaryKey string           // as [keys.primaryKey] returns it
}

// errInvalid reports that the engine will reject the caller's request. The limiter then passes the request on.
var errInvalid = errors.New("the engine will reject the request")

// rejection is an errInvalid with the name of the engine's exception for a DescribeTable; "" if there was no exception.
type rejection struct{ exception string }

func (rejection) Error() string { return errInvalid.Error() }

func (rejection) Is(target error) bool { return target == errInvalid }

// passOrFail passes the request to the engine if err is errInvalid, and otherwise returns err.
func (c *call) passOrFail(err error) (*http.Response, error) {
	if errors.Is(err, errInvalid) {
		return c.passThrough()
	}
	return nil, err
}

// locate returns the table, place and primary key of the item with a key; it does not read the item. It ignores other
// attributes in key. It returns errInvalid if the engine has no such table, or the key lacks a key attribute.
func (c *call) locate(table string, key dynamo.Item) (item, error) {
	t, err := c.describe(table)
	if err != nil {
		return item{}, err
	}
	primaryKey, ok := t.key.primaryKey(key)
	if !ok {
		return item{}, errInvalid
	}
	partitionKey, _ := keyText(key[t.key.hash])
	return item{t, table, t.Space.Place(partitionKey), primaryKey}, nil
}

// id identifies the item among all tables. Transactions hold the item by it.
func (i item) id() partitions.ItemID { return partitions.ItemID{Space: i.Space, Key: i.primaryKey} }

// image is an item as [ddbstream.AddIndexWrites] reads it.
type image dynamo.Item

// Present reports whether the item exists.
func (i image) Present() bool { return i != nil }

// Key returns the text of a key attribute, NUL if it is empty or computed; false if the item has no such key.
func (i image) Key(attribute string) ([]byte, bool) {
	text, ok := keyText(i[attribute])
	if ok && text == "" {
		text = "\x00"
	}
	return []byte(text), ok
}

// SameIn reports whether these attributes, or all if nil, are the same in both items. A computed value equals none.
func (i image) SameIn(other image, attributes []string) bool {
	return equalItems(i.only(attributes), other.only(attributes))
}

// SizeIn returns the size of the item with only these attributes, in bytes; nil stands for all attributes.
func (i image) SizeIn(attributes []string) (int, error) { return dynamo.Size(i.only(attributes)), nil }

// only returns the item with only these attributes; nil stands for all attributes.
func (i image) only(attributes []string) dynamo.Item {
	if attributes == nil {
		return dynamo.Item(i)
	}
	part := dynamo.Item{}
	for _, name := range attributes {
		if v, ok := i[name]; ok {
			part[name] = v
		}
	}
	return part
}
