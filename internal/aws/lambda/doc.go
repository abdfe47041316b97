// Package lambda runs the functions of an HTTP API as Lambda does, on one machine. Each
// function has a pool of containers (Lambda calls them execution environments). Each container
// has one request at a time. Cold starts take time, and all functions share one quota of
// concurrency.
//
//	quota := lambda.NewQuota(lambda.AccountQuota)
//	pool, err := lambda.NewPool(lambda.Options{Name: "ingest", Quota: quota, Start: start})
//	if err != nil {
//		return err
//	}
//	server := &http.Server{Handler: pool}
//	...
//	err = pool.Stop() // after the server's end
//
// A container is a handler in this process ([InProcess]). In tests and benchmarks it may be a
// process of the function's binary (package process). That is frozen between requests, as in
// Lambda. Goroutines can't be frozen: a handler in this process must not depend on any after
// its response. A poll of the shard map may run for ten seconds longer; a test checks that no
// goroutine stays.
//
// It follows https://docs.aws.amazon.com/lambda/latest/dg/lambda-concurrency.html and
// https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html. Undocumented
// behaviour is guessed, such as which idle container gets a request ([Pool]). The rate of new
// containers (1,000 in ten seconds for each function) and the end of idle ones are left out.
package lambda
