package throttle

import "github.com/hotshard/hotshard/internal/base/dynamo"

// image is an item as [ddbstream.AddIndexWrites] reads it.
type image dynamo.Item

// Present reports whether the item exists.
func (i image) Present() bool { return i != nil }

// Key returns the text of a key attribute, or NUL for a computed value.
func (i image) Key(attribute string) ([]byte, bool) {
	text, ok := keyText(i[attribute])
	if ok && text == "" {
		text = "\x00"
	}
	return []byte(text), ok
}

// SameIn reports whether these attributes are the same in both items; nil stands for all attributes.
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
