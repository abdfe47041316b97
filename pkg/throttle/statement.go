package throttle

import (
	"net/http"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/secondary"
	"github.com/hotshard/hotshard/internal/throttle/partiql"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// statementBody has the members of a PartiQL statement's request that the limiter reads.
type statementBody struct {
	Statement              string
	Parameters             []types.AttributeValue
	ConsistentRead         bool
	ReturnConsumedCapacity string
}

// statement is a PartiQL statement and its cost.
type statement struct {
	partiql.Statement
	*table
	write *write // nil for a read, and for a write whose key can't be read

	// minimum is the least cost of a read, or of a write whose key can't be read.
	minimum partitions.Charge
}

var writeKinds = map[partiql.Kind]string{partiql.Insert: put, partiql.Update: update, partiql.Delete: remove, partiql.Exists: condition}

// statement parses a statement. It returns errInvalid if the engine will reject the statement.
func (c *call) statement(in statementBody) (*statement, error) {
	parsed, ok := partiql.Parse(in.Statement, in.Parameters)
	if !ok {
		return nil, errInvalid
	}
	t, err := c.describe(parsed.Table)
	if err != nil {
		return nil, err
	}
	s := &statement{Statement: parsed, table: t}
	if s.reads() {
		s.minimum, err = s.leastRead(in.ConsistentRead)
		return s, err
	}
	body := &writeBody{TableName: parsed.Table, Key: parsed.Equal, Item: parsed.Equal}
	if s.write, err = c.newWrite(writeKinds[parsed.Kind], body); err != nil { // a statement without a full key
		s.minimum = t.Everywhere().Writes(partitions.Unit)
	}
	return s, nil
}

func (s *statement) reads() bool { return s.Kind == partiql.Select }

// leastRead returns the least cost of a SELECT: a query if it has the partition key, and otherwise a scan.
func (s *statement) leastRead(consistent bool) (partitions.Charge, error) {
	space, attributes, err := s.table.readTarget(s.Index)
	if err != nil {
		return partitions.Charge{}, err
	}
	at := space.Everywhere()
	if key, ok := secondary.Key(&secondary.Index{Partition: attributes}, image(s.Equal)); ok {
		at = space.Place(string(key))
	}
	return at.Reads(leastRead(consistent)), nil
}

// least returns the least cost that is known before the statement.
func (s *statement) least() []partitions.Charge {
	if s.write == nil {
		return []partitions.Charge{s.minimum}
	}
	return s.write.cost()
}

// executeStatement handles a single statement.
func executeStatement(c *call) (*http.Response, error) {
	var in statementBody
	if !decode(c.body, &in) {
		return c.passThrough()
	}
	s, err := c.statement(in)
	if err == nil && s.write != nil {
		err = c.fetchItems(s.write)
	}
	if err != nil {
		return c.passOrFail(err)
	}
	reserved := s.least()
	if denied := c.l.gate.Admit(reserved); denied != nil {
		c.l.throttledWrites(denied)
		return c.throttle(denied)
	}
	if w := s.write; w != nil {
		if !c.l.holds.BeginWrite(w.id()) {
			c.settleCharges(reserved, reserved[:1])
			return c.conflict()
		}
		defer c.l.holds.EndWrite(w.id())
	}
	report := capacity{in.ReturnConsumedCapacity, totalCapacity}
	r, err := c.forward(object{}, report, reserved)
	if err != nil {
		return nil, err
	}
	charges := readCharges(r, s.minimum)
	if s.write != nil {
		charges = c.writtenCharges(s.write, r.exception())
	}
	c.settleCharges(reserved, charges)
	return r.response(report)
}

// writtenCharges returns a write's cost after the engine's response, by the item before and after. The failure
// is the code or exception, or "".
func (c *call) writtenCharges(w *write, failure string) []partitions.Charge {
	switch {
	case failure == "":
		c.refetch(w)
		return w.cost()
	case failedCondition(failure):
		return []partitions.Charge{w.failedCost()}
	}
	return nil
}

// executeTransaction handles a transaction of statements like a TransactGetItems or a TransactWriteItems. One
// that has a statement without a whole key passes: the engine will reject it.
func executeTransaction(c *call) (*http.Response, error) {
	var in struct {
		TransactStatements     []statementBody
		ClientRequestToken     string
		ReturnConsumedCapacity string
	}
	if !decode(c.body, &in) || len(in.TransactStatements) > maxTransaction {
		return c.passThrough()
	}
	t := &writeTransaction{call: c, clientToken: in.ClientRequestToken}
	var reads []keyedRead
	for _, body := range in.TransactStatements {
		s, err := c.statement(body)
		if err != nil {
			return c.passOrFail(err)
		}
		if s.write != nil {
			t.writes = append(t.writes, s.write)
			continue
		}
		found, err := c.locate(s.Table, s.Equal)
		if err != nil {
			return c.passOrFail(err)
		}
		reads = append(reads, keyedRead{found, found.at.Reads(transaction * partitions.Unit), s.Whole})
	}
	switch {
	case t.writes == nil:
		return c.readTransaction(reads, in.ReturnConsumedCapacity)
	case reads == nil:
		return t.run()
	}
	return c.passThrough()
}
