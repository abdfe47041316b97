// Package ingest takes writes over HTTP: events, counter increments, scores,
// sessions and hits of limits. It checks them, writes them as sharded items, and
// answers for each.
//
//	service, err := ingest.New(settings, client, log)
//	http.ListenAndServe(addr, httpapi.New(log, ingest.Routes(service)))
//
// An accepted write is durable before the answer. A call with an Idempotency-Key
// is applied once, however often it is sent.
package ingest
