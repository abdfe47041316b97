// Package local is Amazon's DynamoDB Local as a child process, with clients for it and
// the tables of a deployment.
//
//	engine, err := local.StartEngine(ctx, local.Options{Notice: os.Stderr})
//	if err != nil {
//		return err
//	}
//	defer engine.Stop()
//	db := local.DynamoDB(engine.Endpoint(), "")
//	err = local.CreateTables(ctx, db, schema.NamesFor("hotshard-"))
package local
