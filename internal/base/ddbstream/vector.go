package ddbstream

import (
	"slices"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/secondary"
)

// Vector is an attribute that a vector index reads. Writes to the table and to the index are charged for four bytes of each
// dimension, and not for the numbers of the list, as Parity Suite measured on AWS:
// tests/tier2/vectorSearch/consumedCapacity.test.ts of https://github.com/paritysuite/dynamodb-conformance.
type Vector struct {
	Attribute  string
	Dimensions int
}

const dimensionSize = 4

// charged returns the size for which a write of the item to the table is charged.
func (i Image) charged(vectors []Vector) (int, error) {
	size, err := i.Size()
	if err != nil {
		return 0, err
	}
	for _, v := range vectors {
		size += v.chargeDifference(i)
	}
	return size, nil
}

// chargeDifference returns the charged size of the item's vector, less its size as a list. It is 0 without a vector.
func (v Vector) chargeDifference(i Image) int {
	raw, ok := v.listOf(i)
	if !ok {
		return 0
	}
	var s scanner
	s.open(raw)
	s.attribute(0, 1)
	return dimensionSize*v.Dimensions - s.size
}

// listOf returns the item's vector; ok is false if the attribute is absent or no list.
func (v Vector) listOf(i Image) (raw []byte, ok bool) {
	raw = i.value(v.Attribute)
	kind, _ := soleMember(raw)
	return raw, kind != nil && equalsQuoted(kind, "L")
}

// VectorIndex is a vector index. Its partition key may have no attributes: then the key of all items is "".
type VectorIndex struct {
	secondary.Index
	Vector
}

// DescribeVectorIndex returns the index that DescribeTable describes. Table is the key schema of its table.
func DescribeVectorIndex(table []types.KeySchemaElement, d types.VectorIndexDescription) VectorIndex {
	x := VectorIndex{Vector: Vector{Dimensions: int(aws.ToInt64(d.Dimensions))}}
	if d.VectorAttribute != nil {
		x.Attribute = aws.ToString(d.VectorAttribute.AttributeName)
	}
	var partition []string
	include := []string{x.Attribute}
	for _, e := range d.SearchSchema {
		if e.SearchSchemaElementType == types.SearchSchemaElementTypeHash {
			partition = append(partition, aws.ToString(e.AttributeName))
		} else {
			include = append(include, aws.ToString(e.AttributeName))
		}
	}
	if p := d.Projection; p != nil && p.ProjectionType == types.ProjectionTypeAll {
		include = nil
	} else if p != nil {
		include = append(include, p.NonKeyAttributes...)
	}
	x.Index = secondary.New(aws.ToString(d.IndexName), partition, nil, slices.Concat(secondary.Keys(table)), include)
	x.InBytes = true
	return x
}

// vectorEntry is an item as a vector index stores it. An item without a vector is not in the index.
type vectorEntry struct {
	Image
	vector Vector
}

func (e vectorEntry) Present() bool {
	_, ok := e.vector.listOf(e.Image)
	return ok
}

func (e vectorEntry) SameIn(other vectorEntry, attributes []string) bool {
	return e.Image.SameIn(other.Image, attributes)
}

func (e vectorEntry) SizeIn(attributes []string) (int, error) {
	size, err := e.Image.SizeIn(attributes)
	return size + e.vector.chargeDifference(e.Image), err
}
