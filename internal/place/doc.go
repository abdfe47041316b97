// Package place is where items of a table are, what tells items with equal sort keys apart,
// and where a range goes on:
//
//	p := place.Place{PK: "acme#7", Sort: sort}
//	guard := place.Identity{"order": id}.Free("customer") // no other item is there
package place
