// Package query answers reads over HTTP: counters, events,
// rollups, leaderboards, sessions, shard counts, hot keys, heat maps and explanations
// of throttles.
//
//	service, err := query.New(settings, client, collect.Sources{DynamoDB: client})
//	http.ListenAndServe(addr, httpapi.New(log, query.Routes(service)))
//
// It only reads.
package query
