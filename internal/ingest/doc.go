// Package ingest accepts writes over HTTP: events, counter increments, scores, sessions and hits of limits. It
// validates them, writes them as sharded items, and returns a result for each.
//
//	service, err := ingest.New(settings, client, log)
//	http.ListenAndServe(addr, httpapi.New(log, ingest.Routes(service)))
//
// An accepted write is durable before the response. A call with an Idempotency-Key is applied once, however often it is
// sent.
package ingest
