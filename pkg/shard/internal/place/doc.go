// Package place describes where items of a table are, what distinguishes items with equal sort
// keys, and the position at which a range continues:
//
//	p := place.Place{PK: "acme#7", Sort: sort}
//	guard := place.Identity{By: "order", Value: id}.Unoccupied("customer") // no other item is there
package place
