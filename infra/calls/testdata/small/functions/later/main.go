// Command later asks the table, and then an index.
package main

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"example.com/small/internal/settings"
)

func main() {
	var s settings.Settings
	in := &dynamodb.QueryInput{TableName: &s.Table}
	new(dynamodb.Client).Query(in)
	in.IndexName = aws.String("by_x")
	new(dynamodb.Client).Query(in)
}
