// Package load drives a hotshard API with a workload, measures it, and verifies that the API returns what it accepted.
//
//	source, err := load.LogSource("events/access.log.gz", 0)
//	result, err := load.Run(ctx, load.Options{Target: "http://127.0.0.1:8080", Source: source, Verify: true})
//	fmt.Println(result.PerSecond, result.Verify.Differences)
//
// Each request is one event (POST /v1/events) and one increment (POST /v1/counters), with a call each. A 429 or 503 means
// that nothing was accepted, so the call is retried, a bounded number of times.
//
// A write has an unknown outcome if its response is lost, or says that it may have been written. Events are then
// retried, since repeated events are the same event. So are increments with an Idempotency-Key. Without a key they are
// counted as unknown: their counter may or may not have them.
//
// A [Source] yields the same requests each time, from a web server's access log or a seed. An [APIClient] calls the API,
// and signs the calls if the API requires it. Other commands use it, too, and for one call of Lambda's API.
//
// With Verify, Run reads the system's data before the load. Afterwards it waits until the counters are right, get no
// closer for 30 s, or 10 minutes are over. Then it compares counters and events.
//
// [RunDemo] makes one counter hot, and measures how the system cools it.
package load
