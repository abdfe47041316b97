// Command kept names table and index in a struct that it keeps.
package main

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"example.com/small/internal/settings"
)

type keeper struct{ in *dynamodb.QueryInput }

func main() {
	var s settings.Settings
	k := keeper{&dynamodb.QueryInput{}}
	k.in.TableName, k.in.IndexName = &s.Table, aws.String("by_x")
	new(dynamodb.Client).Query(k.in)
}
