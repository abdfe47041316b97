// Command together names table and index at once.
package main

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"example.com/small/internal/settings"
)

func main() {
	var s settings.Settings
	new(dynamodb.Client).Query(&dynamodb.QueryInput{TableName: &s.Table, IndexName: aws.String("by_x")})
}
