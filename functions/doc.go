// Package functions has a folder for each Lambda function, whose main only connects settings, clients and handler. Its
// tests build the functions as `make build` does and run them against a Runtime API:
//
//	make functions          # dist/<function>/bootstrap for arm64, dist/amd64/... for amd64
//	go test ./functions     # feeds them events/*.json
package functions
