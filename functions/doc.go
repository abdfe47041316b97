// Package functions has the Lambda functions in its folders, one main each, which
// only wires: settings from the environment, clients, handler, start. Its tests
// build them as `make build` does and run them against a Runtime API:
//
//	make functions          # dist/<function>/bootstrap for arm64, dist/amd64/... for amd64
//	go test ./functions     # feeds them events/*.json
package functions
