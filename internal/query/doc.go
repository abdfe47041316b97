// Package query answers reads over HTTP: counters, events, rollups, leaderboards, sessions, shard counts, hot keys and
// heat maps.
//
//	service, err := query.New(settings, client)
//	http.ListenAndServe(addr, httpapi.New(log, query.Routes(service)))
//
// It only reads. WithDocs adds the OpenAPI document, and a page that shows it.
package query
