// Package httpapi is what the functions that serve HTTP share: registering calls, decoding bodies, problem JSON for
// every error, types of requests and responses, and the adapter for Lambda.
//
//	handler := httpapi.New(log, ingest.Routes(service), query.Routes(reader))
//	http.ListenAndServe("127.0.0.1:8080", handler)
package httpapi
