package rebuild

import (
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/base/schema"
)

// sessionTraces finds and deletes the items of a group of sessions.
type sessionTraces struct{ plainTraces }

func (g sessionTraces) partitionQuery(writeShard int) *dynamodb.QueryInput {
	return &dynamodb.QueryInput{
		TableName: &g.o.Names.Items, IndexName: aws.String(schema.ByGroup),
		KeyConditionExpression:    aws.String("session_shard = :pk"),
		ExpressionAttributeValues: item{":pk": dynamo.String(schema.SessionShardKey(g.base.Name, writeShard))},
	}
}

func (sessionTraces) classify(k itemKey) (what Trace, ok bool) {
	if _, _, session := schema.ParseSessionKey(k.pk, k.sk); session {
		return Sessions, true
	}
	return Others, true
}
