package ddbstream

// Vector is an attribute that a vector index reads. A write to the table is charged for four bytes of each dimension, and
// not for the numbers of the list, as Parity Suite measured on AWS: tests/tier2/vectorSearch/consumedCapacity.test.ts of
// https://github.com/paritysuite/dynamodb-conformance.
type Vector struct {
	Attribute  string
	Dimensions int
}

const dimensionSize = 4

// charged returns the size for which a write of the item is charged.
func (i Image) charged(vectors []Vector) (int, error) {
	size, err := i.Size()
	if err != nil {
		return 0, err
	}
	for _, v := range vectors {
		raw := i.value(v.Attribute)
		if kind, _ := soleMember(raw); kind != nil && equalsQuoted(kind, "L") {
			var s scanner
			s.open(raw)
			s.attribute(0, 1)
			size += dimensionSize*v.Dimensions - s.size
		}
	}
	return size, nil
}
