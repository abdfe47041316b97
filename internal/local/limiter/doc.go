// Package limiter gives an engine that never throttles the throughput limits of
// DynamoDB's partitions. It stands between a program and the engine, maps
// partition keys to partitions, charges each the capacity units that AWS would,
// and refuses what is over the limit with the answers that AWS sends:
//
//	l, err := limiter.New(limiter.Options{Partitions: 64, PartitionWCU: 20})
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
// A table and each of its global secondary indexes have partitions of their own;
// a local index shares its table's. A partition has a token bucket for writes
// and one for reads. A request is admitted while every bucket that it needs is
// positive. At admission the buckets pay the least that the request can cost (all
// that is known of it), and after the engine's answer the rest; so a bucket may
// go below zero, and time makes up for it. A scan needs the mean of all
// partitions to be positive, and is paid for by all evenly.
//
// A partition is a range of hashes of partition keys. One that has refused requests
// of more than one key for SplitAfter, without five seconds of calm, splits into two
// equal ranges; each takes as much as the whole did, and half of what was saved or
// owed. All items of a partition key stay together here. DynamoDB may split those too,
// by sort key, and looks for the cut that halves the load.
//
// # Transactions
//
// A TransactWriteItems has its items for TransactionHold from its admission, and is
// answered no sooner. Whatever meets one of them meanwhile is refused as
// https://docs.aws.amazon.com/amazondynamodb/latest/developerguide/transaction-apis.html#transaction-conflict-handling
// says: another transaction, reading ones too, is cancelled with the reason
// TransactionConflict, a PutItem, UpdateItem or DeleteItem gets a
// TransactionConflictException. BatchWriteItem has no such exception, so its
// items are left unprocessed. A TransactGetItems is also in conflict with a write
// that the engine is at; a TransactWriteItems is not. Other reads are never refused.
// A client token that is used again goes to the engine.
//
// # Charges
//
// PutItem, UpdateItem, DeleteItem, GetItem, Query and Scan cost what the engine
// says that they consumed, a read of nothing the least a read costs. A failed
// condition costs the existing item's size in write units, at least 1. Batches
// cost the sum of their items. The actions of a transaction cost twice their
// units, from the sizes of the items before and after it, and what they change in
// indexes once: indexes follow when it is done. A client token used again costs
// transactional reads instead. A transaction whose condition failed costs twice the
// units of each existing item, at least 2 an action. AWS documents neither; both
// were measured there (docs/decisions/local-aws.md). What a conflict costs is not known: here a
// transaction's is as a failed condition, and a write's what it would have cost in its
// table.
//
// What an index write costs which of the index's partitions follows from the
// item before and after. For single writes to a table with global indexes the
// limiter asks the engine for the old item (or the new one), where the caller has
// no use for ReturnValues. It reads the item itself (consistently, uncharged)
// where that isn't enough: around an update that computes an index key, after
// one whose caller wants only what was updated, before any write while a partition
// of one of the table's indexes is out of capacity, before batches, and around
// transactions. A write by others in between may then be charged by a size, or to
// a partition of an index, that is no longer right.
//
// Keys and indexes are learned from DescribeTable, and again after a table was
// made, changed or deleted through the limiter; changes past it are not seen.
//
// What the limiter asks of the engine and the caller did not ask for is taken
// out of the answer. Requests are changed, so their signatures no longer fit:
// this is for engines that don't check them. Whatever isn't named above passes
// untouched and uncharged: control plane, streams, PartiQL, and requests that
// can't be understood, which the engine will refuse.
package limiter
