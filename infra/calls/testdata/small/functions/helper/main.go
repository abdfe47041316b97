// Command helper has another function name the index.
package main

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"example.com/small/internal/settings"
)

func main() {
	var s settings.Settings
	in := &dynamodb.QueryInput{TableName: &s.Table}
	name(in)
	new(dynamodb.Client).Query(in)
}

func name(in *dynamodb.QueryInput) { in.IndexName = aws.String("by_x") }
