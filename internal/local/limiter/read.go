package limiter

import "net/http"

// readRequest is what is read of a GetItem, Query or Scan.
type readRequest struct {
	TableName                 string
	IndexName                 string
	Key                       item
	ConsistentRead            bool
	KeyConditionExpression    string
	KeyConditions             map[string]keyCondition
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues item
	ReturnConsumedCapacity    string
}

// keyCondition is one of the older way to say what a query wants.
type keyCondition struct {
	ComparisonOperator string
	AttributeValueList []attr
}

// readItems handles GetItem, Query and Scan.
func (c *call) readItems() (*http.Response, error) {
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
	least := charge{place: at, units: leastRead(in.ConsistentRead)}
	if denied := c.l.admit([]charge{least}); denied != nil {
		return c.refuse(denied)
	}
	changed := object{}
	askCapacity(changed, in.ReturnConsumedCapacity, totalCapacity)
	r, err := c.send(changed)
	taken := []charge{least}
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
func leastRead(consistent bool) units {
	if consistent {
		return unit
	}
	return eventual
}

// readCharges are what the engine says, but at least the least: the engine
// charges nothing for a query that finds nothing, AWS does.
func readCharges(r *reply, least charge) []charge {
	if !r.ok() {
		return nil
	}
	var total units
	for _, consumed := range r.consumed() {
		total += toUnits(consumed.CapacityUnits)
	}
	least.units = max(least.units, total)
	return []charge{least}
}

// readPlace is where a read goes: to one partition, or everywhere. It is false
// for one that the engine will refuse.
func (c *call) readPlace(t *table, in *readRequest) (place, bool) {
	if t == nil {
		return place{}, false
	}
	if c.operation == "GetItem" {
		hash, _, ok := t.key.of(in.Key)
		return c.l.place(t.space, hash), ok
	}
	s, hash := t.space, t.key.hash
	if in.IndexName != "" {
		x := t.index(in.IndexName)
		if x == nil {
			return place{}, false
		}
		s, hash = x.space, x.key.hash
	}
	if c.operation == "Query" {
		if key, ok := in.wants(hash); ok {
			return c.l.place(s, key), true
		}
	}
	return everywhere(s), true
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
	v, ok := equals(in.KeyConditionExpression, hash, in.ExpressionAttributeNames, in.ExpressionAttributeValues)
	if old := in.KeyConditions[hash]; !ok && old.ComparisonOperator == "EQ" && len(old.AttributeValueList) == 1 {
		v, ok = old.AttributeValueList[0], true
	}
	if !ok {
		return "", false
	}
	return v.text()
}
