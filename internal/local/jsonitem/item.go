// Package jsonitem is DynamoDB's items as its JSON has them: how large they are, which are
// equal, the text of a key, and what an update makes of an item as far as its request tells.
// It takes whatever the engine takes, and does no input or output.
package jsonitem

import (
	"bytes"
	"encoding/base64"
	"maps"
	"slices"
)

// Item is an item, or its key, as DynamoDB's JSON has it.
type Item map[string]Value

// Value is an attribute's value: one of its fields, named as its type.
type Value struct {
	S    *string          `json:"S,omitzero"`
	N    *string          `json:"N,omitzero"`
	B    []byte           `json:"B,omitzero"`
	SS   []string         `json:"SS,omitzero"`
	NS   []string         `json:"NS,omitzero"`
	BS   [][]byte         `json:"BS,omitzero"`
	L    []Value          `json:"L,omitzero"`
	M    map[string]Value `json:"M,omitzero"`
	BOOL *bool            `json:"BOOL,omitzero"`
	NULL *bool            `json:"NULL,omitzero"`

	computed bool // a value that only the engine knows
}

// Text is the value as a key: a string's text, a number's digits in one form,
// a binary value in base64. It is false for a type that no key has.
func (v Value) Text() (string, bool) {
	switch {
	case v.S != nil:
		return *v.S, true
	case v.N != nil:
		return parseNumber(*v.N).text(), true
	case v.B != nil:
		return base64.StdEncoding.EncodeToString(v.B), true
	}
	return "", v.computed
}

// What DynamoDB adds for documents, from
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/CapacityUnitCalculations.html
const (
	documentSize = 3 // each list and map
	elementSize  = 1 // each element of a list or map
)

// Size is what the item takes in a table, in bytes.
func (i Item) Size() int {
	size := 0
	for name, v := range i {
		size += len(name) + v.Size()
	}
	return size
}

// Size is what the value takes, without its name.
func (v Value) Size() int {
	switch {
	case v.S != nil:
		return len(*v.S)
	case v.N != nil:
		return parseNumber(*v.N).size()
	case v.B != nil:
		return len(v.B)
	case v.L != nil:
		return documentSize + len(v.L)*elementSize + total(v.L, Value.Size)
	case v.M != nil:
		return documentSize + len(v.M)*elementSize + Item(v.M).Size()
	case v.SS != nil:
		return total(v.SS, func(s string) int { return len(s) })
	case v.NS != nil:
		return total(v.NS, func(n string) int { return parseNumber(n).size() })
	case v.BS != nil:
		return total(v.BS, func(b []byte) int { return len(b) })
	}
	return 1
}

func total[T any](elements []T, size func(T) int) int {
	sum := 0
	for _, e := range elements {
		sum += size(e)
	}
	return sum
}

// Equal compares values as DynamoDB does: numbers by value, sets in any order.
func (v Value) Equal(w Value) bool {
	if v.computed || w.computed {
		return false
	}
	return samePointee(v.S, w.S) && samePointee(v.BOOL, w.BOOL) && samePointee(v.NULL, w.NULL) &&
		sameNumber(v.N, w.N) && bytes.Equal(v.B, w.B) && (v.B == nil) == (w.B == nil) &&
		slices.Equal(v.members(), w.members()) &&
		(v.L == nil) == (w.L == nil) && slices.EqualFunc(v.L, w.L, Value.Equal) &&
		(v.M == nil) == (w.M == nil) && Item(v.M).Equal(w.M)
}

// Equal tells whether two items have equal values by equal names.
func (i Item) Equal(j Item) bool { return maps.EqualFunc(i, j, Value.Equal) }

// members are a set's elements in order, each with the set's type.
func (v Value) members() []string {
	var all []string
	for _, s := range v.SS {
		all = append(all, "S"+s)
	}
	for _, n := range v.NS {
		all = append(all, "N"+parseNumber(n).text())
	}
	for _, b := range v.BS {
		all = append(all, "B"+string(b))
	}
	slices.Sort(all)
	return all
}

func samePointee[T comparable](a, b *T) bool {
	return a == b || a != nil && b != nil && *a == *b
}

func sameNumber(a, b *string) bool {
	return samePointee(a, b) || a != nil && b != nil && parseNumber(*a) == parseNumber(*b)
}
