// Command returned names the index of what another function made.
package main

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"example.com/small/internal/settings"
)

func main() {
	var s settings.Settings
	in := ask(&s)
	in.IndexName = aws.String("by_x")
	new(dynamodb.Client).Query(in)
}

func ask(s *settings.Settings) *dynamodb.QueryInput { return &dynamodb.QueryInput{TableName: &s.Table} }
