// Package httpapi is shared by the functions that serve HTTP: the framework's set-up, problem JSON for every error,
// names, and the OpenAPI document.
//
//	handler := httpapi.New(log, ingest.Routes(service), query.Routes(reader))
//	http.ListenAndServe("127.0.0.1:8080", handler)
package httpapi
