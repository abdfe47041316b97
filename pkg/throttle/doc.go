// Package throttle makes an engine that never throttles, such as DynamoDB Local, throttle as DynamoDB does. A [Limiter]
// is an http.RoundTripper for a process's clients, or a proxy for other programs. It maps partition keys to partitions
// and charges each partition the capacity units that AWS would. Requests over a limit get AWS's responses:
//
//	l, err := throttle.New(throttle.Options{Partitions: 64, PartitionWCU: 20})
//	if err != nil {
//		return err
//	}
//	client := &http.Client{Transport: l}          // for an SDK's client
//	http.ListenAndServe(addr, l.Proxy(engineURL)) // for any other program
//	...
//	fmt.Println(l.Stats().WriteUnits)
//
// # Limits
//
// A table and each of its global secondary indexes have partitions of their own; a local index shares its table's. A
// partition has a token bucket for writes and one for reads. A request is admitted while each bucket that it needs is
// positive. At admission the buckets pay the least possible cost of the request; after the engine's response they pay
// the rest. So a bucket may become negative until it is refilled. A scan needs a positive mean of all partitions, which
// share its cost evenly.
//
// A partition's bucket holds one second's tokens. A table or global index as a whole has a limit, too: its provisioned
// throughput, its on-demand maximum, or else the account's quota. Only the provisioned one is saved longer, for Burst.
//
// A partition is a range of hashes of partition keys. It splits if it was at its limit for SplitAfter; five seconds
// without a throttle end that time. It splits between two partition keys, so that its latest requests are divided most
// evenly. A partition whose latest requests are for one key does not split, since the items of a key stay together.
// Each half has the whole throughput, and half of the tokens saved or owed.
//
// # Transactions
//
// A TransactWriteItems holds its items for TransactionHold from its admission, and its response waits until then.
// Conflicts are handled as in
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html#transaction-conflict-handling:
// another transaction on a held item, even a TransactGetItems, is cancelled with the reason TransactionConflict. A
// single write of a held item gets a TransactionConflictException. A BatchWriteItem has no such exception, so held
// items are left unprocessed. Other reads than a TransactGetItems never conflict. Unlike on AWS, a TransactGetItems does
// not conflict with a single write in flight.
//
// # Charges
//
// A PutItem, DeleteItem or UpdateItem costs the larger of the item before and after it. The limiter asks the engine for
// the item before. GetItem, Query, Scan and updates that compute values cost the capacity that the engine reports; a
// read that finds nothing has the least cost of a read. A failed condition costs the existing item's size in write
// units, at least 1. Batches cost the sum of their items.
//
// The actions of a transaction cost twice their units, from the item sizes before and after. Their index writes cost
// once, because indexes are updated after the transaction. A failed condition in a transaction costs twice the units of
// each existing item, at least 2 for an action. A transaction that is sent again with its client token costs and
// conflicts like a new one; on AWS it costs transactional reads. AWS does not document the costs of index writes and of
// failed conditions; both were measured on AWS (docs/decisions/local-aws.md). The cost of a conflict is unknown. Here a
// TransactWriteItems in conflict costs as much as one with a failed condition, a TransactGetItems its least reads, and a
// single write its units in the table.
//
// The cost of an index write, and its partition, follow from the item before and after. The caller's ReturnValues
// take precedence, so the limiter reads the item itself in some cases, consistently and uncharged:
//
//   - around updates of an index key that also compute values, or whose caller wants other values than the old ones,
//   - around updates whose caller wants only the updated attributes,
//   - before any write while a partition of an index has no capacity left,
//   - before batches, and around transactions.
//
// A concurrent write may then be charged with an outdated size, or to an outdated partition.
//
// Keys and indexes come from DescribeTable. They are read again after a table was created, changed or deleted through
// the limiter; other changes are not seen. Requests may give a table by its name or an ARN: both have one state. The
// engine gets the name, and the caller's response has the ARN. Calls for a table that the engine has under the ARN
// alone, such as another account's, pass unchanged and uncharged.
//
// A request without a response, for instance because its caller has left, costs what was debited at admission.
//
// The limiter changes requests, so their signatures become invalid: it is for engines that do not check them. It
// removes from responses what only the limiter asked for. All other operations pass unchanged and uncharged: control
// plane, streams, PartiQL statements, and requests that can't be decoded, which the engine will reject.
package throttle
