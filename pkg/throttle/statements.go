package throttle

import (
	"errors"
	"net/http"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/throttle/partitions"
)

// batchStatements is a BatchExecuteStatement, of which some statements may be throttled.
type batchStatements struct {
	*call
	statements []*batchedStatement
	reserved   []partitions.Charge
	denied     []partitions.Denial
	throttled  int
	conflicts  int
}

// batchedStatement is one statement of a batch.
type batchedStatement struct {
	*statement                // nil for one that the engine will reject
	text       jsontext.Value // as in the request
	response   *statementResponse
}

// statementResponse is the limiter's response for a statement that it does not send.
type statementResponse struct {
	Error     statementError
	TableName string
}

type statementError struct{ Code, Message string }

// maxStatements is the engine's limit.
const maxStatements = 25

func batchExecuteStatement(c *call) (*http.Response, error) {
	var in struct {
		Statements             []jsontext.Value
		ReturnConsumedCapacity string
	}
	if !decode(c.body, &in) || len(in.Statements) > maxStatements {
		return c.passThrough()
	}
	b := &batchStatements{call: c}
	if err := b.prepareStatements(in.Statements); err != nil {
		return c.passOrFail(err)
	}
	b.admit()
	defer b.endWrites()
	c.l.countUnprocessed(c.operation, b.throttled, b.denied)
	c.l.countConflicts(c.operation, b.conflicts)
	return b.sendAdmitted(capacity{in.ReturnConsumedCapacity, totalCapacity})
}

// prepareStatements prepares the statements and fetches the items of writes.
func (b *batchStatements) prepareStatements(texts []jsontext.Value) error {
	var writes []*write
	for _, text := range texts {
		var body statementBody
		if !decode(text, &body) {
			return errInvalid
		}
		s, err := b.statement(body)
		if err != nil && !errors.Is(err, errInvalid) {
			return err
		}
		b.statements = append(b.statements, &batchedStatement{statement: s, text: text})
		if err == nil && s.write != nil {
			writes = append(writes, s.write)
		}
	}
	return b.fetchItems(writes...)
}

// admit charges the statements one by one, and withholds those that are throttled or conflict with a
// transaction.
func (b *batchStatements) admit() {
	for _, s := range b.statements {
		if s.statement == nil {
			continue
		}
		least := s.least()
		denied := b.l.gate.Admit(least)
		switch {
		case denied != nil:
			b.l.throttledWrites(denied)
			b.denied = append(b.denied, denied...)
			b.throttled++
			x := exceptionOf(denied)
			s.withhold(x.code, x.message)
		case s.write != nil && !b.l.holds.BeginWrite(s.write.id()):
			b.settleCharges(least, least[:1])
			b.conflicts++
			s.withhold("TransactionConflict", conflictMessage)
		default:
			b.reserved = append(b.reserved, least...)
		}
	}
}

// withhold makes an error the statement's response.
func (s *batchedStatement) withhold(code, message string) {
	s.response = &statementResponse{statementError{code, message}, s.Table}
}

func (b *batchStatements) endWrites() {
	for _, s := range b.statements {
		if s.response == nil && s.statement != nil && s.write != nil {
			b.l.holds.EndWrite(s.write.id())
		}
	}
}

// sendAdmitted sends the admitted statements, and inserts the errors of the others into the response.
func (b *batchStatements) sendAdmitted(report capacity) (*http.Response, error) {
	sent, responses := []jsontext.Value{}, make([]any, len(b.statements))
	for i, s := range b.statements {
		if s.response == nil {
			sent = append(sent, s.text)
		} else {
			responses[i] = s.response
		}
	}
	if len(sent) == 0 && len(b.statements) > 0 {
		return b.respond(http.StatusOK, map[string]any{"Responses": responses})
	}
	changed := object{}
	if len(sent) < len(b.statements) {
		text, err := encode(sent)
		if err != nil {
			return nil, err
		}
		changed["Statements"] = text
	}
	r, err := b.forward(changed, report, b.reserved)
	if err != nil {
		return nil, err
	}
	var got struct{ Responses []jsontext.Value }
	if !r.ok() || !decode(r.text, &got) || len(got.Responses) != len(sent) {
		b.settleCharges(b.reserved, nil)
		return r.response(report)
	}
	b.settleCharges(b.reserved, b.charges(r, got.Responses))
	if len(sent) < len(b.statements) {
		for i, s := range b.statements {
			if s.response == nil {
				responses[i], got.Responses = got.Responses[0], got.Responses[1:]
			}
		}
		if err := r.setMember("Responses", responses); err != nil {
			return nil, err
		}
	}
	return r.response(report)
}

// charges returns the charges of the statements that were sent, by the items' sizes. A projection may hide
// the size of reads: they share the rest of the capacity that the engine reported.
func (b *batchStatements) charges(r *reply, responses []jsontext.Value) []partitions.Charge {
	var charges, hidden []partitions.Charge
	var surplus partitions.Units
	for _, consumed := range r.consumed() {
		surplus += partitions.ToUnits(consumed.CapacityUnits)
	}
	for _, s := range b.statements {
		if s.response != nil {
			continue
		}
		var got struct {
			Item  dynamo.Item
			Error statementError
		}
		decode(responses[0], &got)
		responses = responses[1:]
		switch {
		case s.statement == nil:
		case s.write != nil:
			charges = append(charges, b.writtenCharges(s.write, got.Error.Code)...)
		case got.Error.Code != "":
		case s.reads() && !s.Whole:
			hidden = append(hidden, s.minimum)
			surplus -= s.minimum.Units
		default:
			c := s.minimum
			c.Units *= blocks(dynamo.Size(got.Item), readBlock) / partitions.Unit
			charges = append(charges, c)
			surplus -= c.Units
		}
	}
	if hidden == nil {
		return charges
	}
	return append(charges, spreadSurplus(hidden, surplus)...)
}
