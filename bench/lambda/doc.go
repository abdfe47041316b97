// Package lambda runs the functions of the HTTP API as Lambda does, on one machine. Each function has a pool of
// containers (Lambda calls them execution environments), each with one request at a time. Cold starts take time, and
// all functions share one quota of concurrency.
//
// A container is a handler in this process, or a process of the function's binary, which is frozen between requests, as
// in Lambda. A handler can't be frozen: it must not depend on goroutines after its response.
//
// It follows https://docs.aws.amazon.com/lambda/latest/dg/lambda-concurrency.html and
// https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html. Undocumented behaviour is guessed, such
// as which idle container gets a request ([Pool]). The rate of new containers (1,000 in ten seconds for each function)
// and the end of idle ones are left out.
package lambda
