// Package setup creates hotshard's tables, with the caller's names of tables and keys:
//
//	names := setup.Names{Items: "shop", ShardMap: "shop-shards", PartitionKey: "PK", SortKey: "SK"}
//	db := dynamodb.NewFromConfig(cfg, names.RenameKeys)
//	err := setup.Create(ctx, db, names)
package setup
