// Command branch names an index sometimes.
package main

import (
	"os"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"example.com/small/internal/settings"
)

func main() {
	var s settings.Settings
	in := &dynamodb.QueryInput{TableName: &s.Table}
	if len(os.Args) > 1 {
		in.IndexName = aws.String("by_x")
	}
	new(dynamodb.Client).Query(in)
}
