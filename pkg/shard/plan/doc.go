// Package plan works out how many write shards a demand needs, and what they cost:
//
//	p, err := plan.New(plan.Demand{WriteUnits: 4000}, plan.DefaultPrices())
//	fmt.Println(p.Shards, p.RandomShards)
package plan
