// Package load drives a hotshard API with a workload, measures it, and checks
// afterwards that what was accepted is what the API then tells.
//
//	source, err := workload.Log("events/access.log.gz", 0)
//	result, err := load.Run(ctx, load.Options{Target: "http://127.0.0.1:8080", Source: source, Verify: true})
//	fmt.Println(result.PerSecond, result.Verify.Differences)
//
// Each request is one event (POST /v1/events) and one increment
// (POST /v1/counters). An answer of 429 or 503 means that nothing was accepted,
// so the call is sent again, a bounded number of times. When an answer is lost,
// or says of an item that it may have been written, that may or may not have
// been applied: events are sent again, since an
// event is the same event however often it comes, and so are increments under an
// Idempotency-Key. An increment without a key is not; it is counted as unknown,
// and its counter may end up on either side of it.
package load
