package dynamo_test

import (
	"strings"
	"testing"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

func TestTableName(t *testing.T) {
	const arn = "arn:aws:dynamodb:eu-west-1:123456789012:table/orders"
	for _, c := range []struct{ in, name, region, account, fault string }{
		{"orders", "orders", "", "", ""},
		{"", "", "", "", ""},
		{"a.b-c_D3", "a.b-c_D3", "", "", ""},
		{"table/orders", "table/orders", "", "", ""}, // DynamoDB rejects it
		{arn, "orders", "eu-west-1", "123456789012", ""},
		{"arn:aws-cn:dynamodb:cn-north-1:123456789012:table/a.b-c_D3", "a.b-c_D3", "cn-north-1", "123456789012", ""},
		{"arn:aws-us-gov:dynamodb:us-gov-west-1:123456789012:table/orders", "orders", "us-gov-west-1", "123456789012", ""},
		{"arn:aws:dynamodb:ddblocal:000000000000:table/orders", "orders", "ddblocal", "000000000000", ""},
		{"arn:", "", "", "", "is not the ARN of a DynamoDB table"},
		{"arn:aws:dynamodb:eu-west-1:123456789012", "", "", "", "is not the ARN of a DynamoDB table"},
		{"arn:aws:dynamodb:eu-west-1:123456789012:orders", "", "", "", "is not the ARN of a DynamoDB table"},
		{"arn:aws:dynamodb:eu-west-1:123456789012:table/", "", "", "", "is not the ARN of a DynamoDB table"},
		{"arn:aws:dynamodb:eu-west-1:123456789012:table:orders", "", "", "", "is not the ARN of a DynamoDB table"},
		{"arn:aws:dynamodb:eu-west-1:123456789012:table/orders:7", "", "", "", "is not the ARN of a DynamoDB table"},
		{"arn:aws:dynamodb::123456789012:table/orders", "", "", "", "is not the ARN of a DynamoDB table"},
		{"arn:aws:dynamodb:eu-west-1::table/orders", "", "", "", "is not the ARN of a DynamoDB table"},
		{"arn:aws:dynamodb::123456789012:global-table/orders", "", "", "", "is not the ARN of a DynamoDB table"},
		{"arn:aws:cassandra:eu-west-1:123456789012:table/orders", "", "", "", "is not the ARN of a DynamoDB table"},
		{arn + "/stream/2026-01-05T00:00:00.000", "", "", "", "leave out /stream/2026-01-05T00:00:00.000"},
		{arn + "/index/by_state", "", "", "", "leave out /index/by_state"},
		{arn + "/", "", "", "", "leave out /"},
	} {
		name, region, account, err := dynamo.TableName(c.in)
		if name != c.name || region != c.region || account != c.account || (err == nil) != (c.fault == "") || err != nil && !strings.Contains(err.Error(), c.fault) {
			t.Errorf("%q: %q, %q, %q, %v; want %+v", c.in, name, region, account, err, c)
		}
	}
}
