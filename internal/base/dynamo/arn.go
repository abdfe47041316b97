package dynamo

import (
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws/arn"
)

// TableName returns the name of a table that is given by its name or its ARN. The Region and the account are those of the
// ARN, and "" for a name. An ARN of anything else is an error, also of the table's stream, indexes, backups and exports.
func TableName(nameOrARN string) (name, region, account string, err error) {
	if !strings.HasPrefix(nameOrARN, "arn:") { // names have no colons
		return nameOrARN, "", "", nil
	}
	a, err := arn.Parse(nameOrARN) // a is empty after an error
	name, isTable := strings.CutPrefix(a.Resource, "table/")
	name, below, isBelow := strings.Cut(name, "/")
	switch {
	case err != nil,
		!isTable, a.Service != "dynamodb", name == "", strings.Contains(name, ":"), a.Region == "", a.AccountID == "":
		return "", "", "", fmt.Errorf("%q is not the ARN of a DynamoDB table, such as arn:aws:dynamodb:eu-west-1:123456789012:table/orders", nameOrARN)
	case isBelow:
		return "", "", "", fmt.Errorf("%q is the ARN of a part of a table: leave out /%s", nameOrARN, below)
	}
	return name, a.Region, a.AccountID, nil
}
