package limiter

import (
	"net/http"
	"slices"

	"github.com/hotshard/hotshard/internal/local/jsonitem"
	"github.com/hotshard/hotshard/internal/local/partitions"
)

// readRequest is what is read of a GetItem, Query or Scan.
type readRequest struct {
	TableName                 string
	IndexName                 string
	Key                       jsonitem.Item
	ConsistentRead            bool
	KeyConditionExpression    string
	KeyConditions             map[string]keyCondition
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues jsonitem.Item
	ReturnConsumedCapacity    string
}

// keyCondition is one of the older way to say what a query wants.
type keyCondition struct {
	ComparisonOperator string
	AttributeValueList []jsonitem.Value
}

// readItems handles GetItem, Query and Scan.
func readItems(c *call) (*http.Response, error) {
	var in readRequest
	if !understood(c.body, &in) {
		return c.pass()
	}
	at, err := c.readPlace(&in)
	if err != nil {
		return c.giveUp(err)
	}
	taken := []partitions.Charge{at.Reads(leastRead(in.ConsistentRead))}
	if denied := c.l.gate.Admit(taken); denied != nil {
		return c.refuse(denied)
	}
	tell := capacity{in.ReturnConsumedCapacity, totalCapacity}
	r, err := c.forward(object{}, tell, taken)
	if err != nil {
		return nil, err
	}
	c.l.settle(c.operation, taken, readCharges(r, taken[0]))
	return r.response(tell)
}

// leastRead is what the smallest item, or none, costs to read.
func leastRead(consistent bool) partitions.Units {
	if consistent {
		return partitions.Unit
	}
	return eventual
}

// readCharges are what the engine says, but at least the least: the engine
// charges nothing for a query that finds nothing, AWS does.
func readCharges(r *reply, least partitions.Charge) []partitions.Charge {
	if !r.ok() {
		return nil
	}
	var total partitions.Units
	for _, consumed := range r.consumed() {
		total += partitions.ToUnits(consumed.CapacityUnits)
	}
	least.Units = max(least.Units, total)
	return []partitions.Charge{least}
}

// readPlace is where a read goes: to one partition, or everywhere. It fails with errRefused
// for one that the engine will refuse.
func (c *call) readPlace(in *readRequest) (partitions.Place, error) {
	if c.operation == "GetItem" {
		of, err := c.locate(in.TableName, in.Key)
		return of.at, err
	}
	t, err := c.describe(in.TableName)
	if err != nil {
		return partitions.Place{}, err
	}
	s, hash := t.Space, t.key.hash
	if in.IndexName != "" {
		i := slices.IndexFunc(t.indexes, func(x *index) bool { return x.name == in.IndexName })
		if i < 0 {
			return partitions.Place{}, errRefused
		}
		s, hash = t.indexes[i].Space, t.indexes[i].key.hash
	}
	if c.operation == "Query" {
		if key, ok := in.wants(hash); ok {
			return s.Place(key), nil
		}
	}
	return s.Everywhere(), nil
}

// wants returns the partition key that a query names.
func (in *readRequest) wants(hash string) (string, bool) {
	v, ok := jsonitem.Equals(in.KeyConditionExpression, hash, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	if old := in.KeyConditions[hash]; !ok && old.ComparisonOperator == "EQ" && len(old.AttributeValueList) == 1 {
		v, ok = old.AttributeValueList[0], true
	}
	if !ok {
		return "", false
	}
	return v.Text()
}
