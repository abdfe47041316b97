// Package runtimeapi runs a Lambda function's binary outside Lambda. It serves the Runtime API on the loopback
// interface and starts the binary. Like an execution environment it passes one payload at a time:
//
//	f, err := runtimeapi.Start(ctx, runtimeapi.Options{Binary: "dist/amd64/query/bootstrap", Env: env})
//	if err != nil { ... }
//	defer f.Stop()
//	response, err := f.Invoke(ctx, payload)
//	if fault, ok := errors.AsType[*runtimeapi.FunctionError](err); ok { ... }
//
// Tests, benchmarks and `make invoke` use it. It follows
// https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html. There are no extensions and
// no streamed responses, the size of responses is not limited, and a process that has ended is not restarted.
package runtimeapi
