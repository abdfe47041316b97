// Command nested names the index in a part of another struct.
package main

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"example.com/small/internal/settings"
)

type keeper struct{ in dynamodb.QueryInput }

func main() {
	var s settings.Settings
	k := &keeper{in: dynamodb.QueryInput{TableName: &s.Table}}
	k.in.IndexName = aws.String("by_x")
	new(dynamodb.Client).Query(&k.in)
}
