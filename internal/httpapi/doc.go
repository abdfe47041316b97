// Package httpapi is what the functions that speak HTTP share: the framework's
// set-up, problem JSON for every error, names, and the OpenAPI document.
//
//	handler := httpapi.New(log, ingest.Routes(service), query.Routes(reader))
//	http.ListenAndServe("127.0.0.1:8080", handler)
package httpapi
