package shard_test

import (
	"fmt"
	"time"

	"github.com/hotshard/hotshard/pkg/shard"
)

// A write goes to one write shard. A reader queries all of them.
func Example() {
	const n = 4
	write := shard.Hash.Join("page/home", shard.Random(n))
	name, _, err := shard.Hash.Split(write)
	fmt.Println(name, err)
	for i := range n {
		fmt.Println(shard.Hash.Join("page/home", i))
	}
	// Output:
	// page/home <nil>
	// page/home#0
	// page/home#1
	// page/home#2
	// page/home#3
}

// An item that Get must find has a calculated write shard.
func ExampleCalculated() {
	fmt.Println(shard.Hash.Join("orders", shard.Calculated("order-1234", 10)))
	// Output: orders#5
}

// Formats split and join the keys of other programs.
func ExampleFormat() {
	name, n, err := shard.HashShard.Split("BASE#SHARD_7")
	fmt.Println(name, n, err)
	fmt.Println(shard.Underscore.Join("path", 3))
	// Output:
	// BASE 7 <nil>
	// path_3
}

func ExampleBucket_Labels() {
	from := time.Date(2026, 1, 5, 22, 30, 0, 0, time.UTC)
	fmt.Println(shard.Hour.Labels(from, from.Add(2*time.Hour)))
	// Output: [2026-01-05T22 2026-01-05T23 2026-01-06T00]
}

func ExampleHistory() {
	h, err := shard.ParseHistory([]string{"1767571200:4", "1767574800:10"})
	if err != nil {
		fmt.Println(err)
		return
	}
	grown := time.Unix(1767574800, 0)
	fmt.Println(h.At(grown.Add(-time.Second)), h.At(grown), h.Newest())
	// Output: 4 10 10
}

// A sort key that begins with a time orders a series by time. The bounds of a range are
// parameters of DynamoDB's BETWEEN.
func ExampleStamp() {
	at := time.Date(2026, 1, 5, 12, 0, 0, 125e6, time.UTC)
	fmt.Println(shard.Millis.Key(at, "#", "order-1234"))
	first, last, ok := shard.UnixSeconds.Bounds(at, at.Add(time.Minute))
	fmt.Println(first, last, ok)
	// Output:
	// 2026-01-05T12:00:00.125Z#order-1234
	// 1767614401 1767614460 true
}

func ExampleCompose() {
	key, err := shard.Compose("#", "user", "42", "orders")
	fmt.Println(key, err)
	parts, err := shard.Decompose("#", key, 3)
	fmt.Println(parts, err)
	// Output:
	// user#42#orders <nil>
	// [user 42 orders] <nil>
}

// TTL takes Unix seconds in an attribute of type number.
func ExampleExpiry() {
	fmt.Println(shard.Expiry(time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), 24*time.Hour))
	// Output: 1767657600
}

func ExampleSpreadOf() {
	s := shard.SpreadOf([]int64{260, 180, 200, 160})
	fmt.Printf("%s: %.0f%% off the mean\n", s.Verdict(), 100*s.MaxDeviation)
	// Output: uneven: 30% off the mean
}
