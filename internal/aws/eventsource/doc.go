// Package eventsource runs Lambda's event source mapping on one machine. It reads a table's stream, each stream shard
// in order, and invokes a handler with batches and windows as Lambda does.
//
//	stream, err := eventsource.OpenStream(ctx, db, dynamolocal.Streams(endpoint, ""), names.Items)
//	if err != nil {
//		return err
//	}
//	mapping := eventsource.NewMapping(eventsource.MappingOptions{Name: "hotkeys", Source: stream, Handler: handler, ...})
//	err = mapping.Run(ctx)
//
// A [Stream] lists the stream shards. A [Cursor] reads a stream shard page by page, and never skips or repeats a
// record. A [Lineage] decides which stream shard may be read.
package eventsource
