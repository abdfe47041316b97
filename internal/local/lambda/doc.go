// Package lambda is how Lambda runs the functions of an HTTP API, on one machine:
// a pool of containers (Lambda calls them execution environments) for each function,
// one request at a time in each, cold starts, and one quota of concurrency for all
// functions.
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
// A container is a handler of its own in this process ([InProcess]), or for tests and
// bench a process of the function's built binary (package process), which is frozen
// between requests as Lambda does it. Goroutines can't be frozen: a handler in this
// process must rely on none after its answer. One may end later by itself, as a poll of
// the shard map that its request did not wait for does within ten seconds; a test sees to
// it that none stays.
//
// What it follows:
// https://docs.aws.amazon.com/lambda/latest/dg/lambda-concurrency.html and
// https://docs.aws.amazon.com/lambda/latest/dg/lambda-runtime-environment.html. What
// is not documented is guessed, such as which of several idle containers gets a request
// ([Pool]). That new containers come at a rate (1,000 in ten seconds for each function),
// and that idle ones are stopped at some time, is left out.
package lambda
