package limiter

import (
	"net/http"

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
	t, err := c.describe(in.TableName)
	if err != nil {
		return nil, err
	}
	at, ok := c.readPlace(t, &in)
	if !ok {
		return c.pass()
	}
	least := at.Reads(leastRead(in.ConsistentRead))
	if denied := c.l.gate.Admit([]partitions.Charge{least}); denied != nil {
		return c.refuse(denied)
	}
	changed := object{}
	askCapacity(changed, in.ReturnConsumedCapacity, totalCapacity)
	r, err := c.send(changed)
	taken := []partitions.Charge{least}
	if err != nil {
		c.l.settle(c.operation, taken, taken) // it may have been read
		return nil, err
	}
	c.l.settle(c.operation, taken, readCharges(r, least))
	if err := r.hideCapacity(in.ReturnConsumedCapacity, totalCapacity); err != nil {
		return nil, err
	}
	return r.response()
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

// readPlace is where a read goes: to one partition, or everywhere. It is false
// for one that the engine will refuse.
func (c *call) readPlace(t *table, in *readRequest) (partitions.Place, bool) {
	if t == nil {
		return partitions.Place{}, false
	}
	if c.operation == "GetItem" {
		hash, _, ok := t.key.of(in.Key)
		return t.Place(hash), ok
	}
	s, hash := t.Space, t.key.hash
	if in.IndexName != "" {
		x := t.index(in.IndexName)
		if x == nil {
			return partitions.Place{}, false
		}
		s, hash = x.Space, x.key.hash
	}
	if c.operation == "Query" {
		if key, ok := in.wants(hash); ok {
			return s.Place(key), true
		}
	}
	return s.Everywhere(), true
}

func (t *table) index(name string) *index {
	for _, x := range t.indexes {
		if x.name == name {
			return x
		}
	}
	return nil
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
