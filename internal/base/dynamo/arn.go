package dynamo

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
)

// TableName returns the name of a table that is given by its name or its ARN. The Region and the account are those of the
// ARN, and "" for a name. Any other ARN is an error, such as that of a table's stream, index, backup or export.
func TableName(nameOrARN string) (name, region, account string, err error) {
	if !strings.HasPrefix(nameOrARN, "arn:") { // names have no colons
		return nameOrARN, "", "", nil
	}
	parsed, err := arn.Parse(nameOrARN) // parsed is empty after an error
	resource, isTable := strings.CutPrefix(parsed.Resource, "table/")
	name, part, hasPart := strings.Cut(resource, "/")
	isName := name != "" && !strings.Contains(name, ":")
	if err != nil || parsed.Service != "dynamodb" || parsed.Region == "" || parsed.AccountID == "" || !isTable || !isName {
		return "", "", "", fmt.Errorf("%q is not the ARN of a DynamoDB table, such as arn:aws:dynamodb:eu-west-1:123456789012:table/orders", nameOrARN)
	}
	if hasPart {
		return "", "", "", fmt.Errorf("%q is the ARN of a part of a table: leave out /%s", nameOrARN, part)
	}
	return name, parsed.Region, parsed.AccountID, nil
}
