// Package plan calculates how many write shards a demand needs, what they cost, and how a deployment's functions share
// Lambda's concurrency and batching windows:
//
//	p, err := plan.New(plan.Demand{WriteUnits: 4000})
//	fmt.Println(p.Shards, p.RandomShards)
package plan
