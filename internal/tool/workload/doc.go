// Package workload makes the requests that drive hotshard. It reads them from a web server's access log, or generates
// them from a seed.
//
// A request is one event of its client and one increment of its path's counter. A [Source] yields the same requests each time:
//
//	source, err := workload.Log("events/access.log.gz", 0)
//	for request, err := range source.Requests() {
//		send(request.Client, request.ID, request.Counter())
//	}
//
// The package sends nothing and reads no clock.
package workload
