// Package plan calculates how many write shards a demand needs and their cost, how many stream shards a table has, and
// what rollups of events cost:
//
//	p, err := plan.New(plan.Demand{WriteUnits: 4000})
//	fmt.Println(p.Shards, p.RandomShards)
package plan
