// Command copied names the index in a copy.
package main

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"example.com/small/internal/settings"
)

func main() {
	var s settings.Settings
	one := dynamodb.QueryInput{TableName: &s.Table}
	other := one
	other.IndexName = aws.String("by_x")
	new(dynamodb.Client).Query(&one)
	new(dynamodb.Client).Query(&other)
}
