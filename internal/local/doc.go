// Package local is the deployed system's surroundings on one machine: Amazon's
// DynamoDB Local as a child process, clients for it, the tables, and an event
// source mapping that reads a table's stream and invokes a handler as Lambda
// does.
//
//	engine, err := local.StartEngine(ctx, local.Options{CacheDir: dir})
//	if err != nil {
//		return err
//	}
//	defer engine.Stop()
//	db := local.DynamoDB(engine.Endpoint(), "")
//	err = local.CreateTables(ctx, db, schema.NamesFor("hotshard-"))
package local
