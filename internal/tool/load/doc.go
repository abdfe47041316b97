// Package load drives a hotshard API with a workload, measures it, and verifies that the API returns what it accepted.
//
//	source, err := workload.Log("events/access.log.gz", 0)
//	result, err := load.Run(ctx, load.Options{Target: "http://127.0.0.1:8080", Source: source, Verify: true})
//	fmt.Println(result.PerSecond, result.Verify.Differences)
//
// Each request is one event (POST /v1/events), one increment (POST /v1/counters) and, with a board, one score (POST
// /v1/scores). A 429 or 503 means that nothing was accepted, so the call is retried, a bounded number of times.
//
// A write has an unknown outcome if its response is lost, or says that it may have been written. Events are then
// retried, since repeated events are the same event. So are increments and scores with an Idempotency-Key. Without a
// key they are counted as unknown: their counter or sum may or may not have them.
//
// With Verify, Run reads the system's data before the load. Afterwards it compares until everything is equal, or gets
// no closer for 30 s. It reads all places of the board, the stored top, and each player's entry and rank. Each entry
// must have the accepted sum, and the places must be in order with the same scores. The stored top must be the first
// places, and a rank may be off by its stated error. Players of other loads count in the ranks. A player who was on the
// board neither before nor by this load is a difference.
//
// A player's entry is one item, and a sum is read and then written on a condition. So concurrent calls for one player
// wait for each other, longest with an Idempotency-Key.
package load
