package plan_test

import (
	"fmt"

	"github.com/hotshard/hotshard/pkg/shard/plan"
)

// A peak of 4,000 WCU/s, on items of 500 bytes.
func ExampleNew() {
	p, err := plan.New(plan.Demand{WriteUnits: 4000, ItemBytes: 500})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(p.Shards, p.RandomShards, p.CalculatedShards)
	fmt.Println(p.Read.Queries, p.Read.ReadUnits)
	// Output:
	// 6 16 32
	// 6 8
}
