// Package spread measures how evenly a base key's write shards are used. See [Reader]:
//
//	list, err := spread.NewReader(client, "hotshard-items", shards).Events(ctx, "sensor-1", from, to, now)
//	for _, s := range list {
//		fmt.Println(s.From, s.To, s.Counts, s.Verdict())
//	}
package spread
