package throttle

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// readRequest has the members of a GetItem, Query or Scan that the limiter reads.
type readRequest struct {
	TableName                 string
	IndexName                 string
	Key                       dynamo.Item
	ConsistentRead            bool
	KeyConditionExpression    string
	KeyConditions             map[string]keyCondition
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues dynamo.Item
	ReturnConsumedCapacity    string
}

// keyCondition is a condition of the legacy parameter KeyConditions.
type keyCondition struct {
	ComparisonOperator string
	AttributeValueList []types.AttributeValue
}

// readItems handles GetItem, Query and Scan.
func readItems(c *call) (*http.Response, error) {
	var in readRequest
	if !decode(c.body, &in) {
		return c.passThrough()
	}
	place, err := c.readPlace(&in)
	if err != nil {
		return c.passOrFail(err)
	}
	reserved := []partitions.Charge{place.Reads(leastRead(in.ConsistentRead))}
	if denied := c.l.gate.Admit(reserved); denied != nil {
		return c.throttle(denied)
	}
	report := capacityReport{in.ReturnConsumedCapacity, totalCapacity}
	r, err := c.forward(object{}, report, reserved)
	if err != nil {
		return nil, err
	}
	c.settleCharges(reserved, readCharges(r, reserved[0]))
	return r.response(report)
}

// leastRead returns the least cost of a read, strongly or eventually consistent.
func leastRead(consistent bool) partitions.Units {
	if consistent {
		return partitions.Unit
	}
	return eventualRead
}

// readCharges returns the cost that the engine reported, or least if that is more. AWS charges for a query that finds
// nothing; DynamoDB Local does not. A rejected read costs nothing.
func readCharges(r *reply, least partitions.Charge) []partitions.Charge {
	if !r.ok() {
		return nil
	}
	least.Units = max(least.Units, r.reportedUnits())
	return []partitions.Charge{least}
}

// readPlace returns the place of a read: a partition key's, or all partitions for a Scan or if the partition key is
// unknown. It returns errInvalid if there is no such table or index, or if a GetItem's key is incomplete.
func (c *call) readPlace(in *readRequest) (partitions.Place, error) {
	if c.operation == "GetItem" {
		found, err := c.locate(in.TableName, in.Key)
		return found.place, err
	}
	t, err := c.describe(in.TableName)
	if err != nil {
		return partitions.Place{}, err
	}
	s, attributes, err := t.readTarget(in.IndexName)
	if err != nil {
		return partitions.Place{}, err
	}
	if c.operation == "Query" {
		if key, ok := ddbstream.IndexKey(&ddbstream.Index{Partition: attributes}, in.requiredValues(attributes)); ok {
			return s.Place(string(key)), nil
		}
	}
	return s.Everywhere(), nil
}

// readTarget returns the partitions of an index, or of the table if the index is "". It also returns the attributes of
// their partition key. It returns errInvalid for an unknown index.
func (t *table) readTarget(index string) (*partitions.Space, []string, error) {
	if index == "" {
		return t.Space, []string{t.key.hash}, nil
	}
	for _, x := range t.indexes {
		if x.name == index {
			return x.Space, x.rule.Partition, nil
		}
	}
	return nil, nil, errInvalid
}

// requiredValues returns the values that a query's condition requires of these attributes, by "=" or by EQ in the
// legacy KeyConditions.
func (in *readRequest) requiredValues(attributes []string) image {
	values := image{}
	for _, name := range attributes {
		v, ok := requiredValue(in.KeyConditionExpression, name, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
		if legacy := in.KeyConditions[name]; !ok && legacy.ComparisonOperator == "EQ" && len(legacy.AttributeValueList) == 1 {
			v, ok = legacy.AttributeValueList[0], true
		}
		if ok {
			values[name] = v
		}
	}
	return values
}
