// Package runtimeapi runs a Lambda function's binary outside Lambda: it serves
// the Runtime API on the loopback interface, starts the binary, and hands it one
// payload at a time, as an execution environment does:
//
//	f, err := runtimeapi.Start(ctx, runtimeapi.Options{Binary: "dist/amd64/query/bootstrap", Env: env})
//	if err != nil { ... }
//	defer f.Stop()
//	answer, err := f.Invoke(ctx, payload)
//	if fault, ok := errors.AsType[*runtimeapi.FunctionError](err); ok { ... }
//
// Tests, benchmarks and `make invoke` use it. What it does follows
// https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html. It has no
// extensions, no streamed answers, and no second process: a function whose
// process has ended stays ended.
package runtimeapi
