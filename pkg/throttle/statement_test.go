package throttle_test

import (
	"errors"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/test/require"
	"github.com/hotshard/hotshard/pkg/throttle"
)

// TestStatementsCostAsCalls checks that statements have the costs, partition keys and errors of the calls that they
// stand for.
func TestStatementsCostAsCalls(t *testing.T) {
	name, big := aws.String(tableName), sized(2.5)["data"]
	item := itemOf("a", "1", grouped("g", "1"))
	item["data"] = big
	insert := `INSERT INTO "limited" VALUE {'pk': 'a', 'sk': '1', 'group': 'g', 'rank': 1, 'data': ?}`
	absent := updateOf("b", "SET #x = :x", values{":x": n("1")})
	absent.ConditionExpression = aws.String("attribute_exists(pk)")
	steps := []struct {
		statement  string
		parameters []types.AttributeValue
		call       any // its input
	}{
		{insert, []types.AttributeValue{big}, &dynamodb.PutItemInput{TableName: name, Item: item}},
		{insert, []types.AttributeValue{big}, // the item exists
			&dynamodb.PutItemInput{TableName: name, Item: item, ConditionExpression: aws.String("attribute_not_exists(pk)")}},
		{`UPDATE "limited" SET "rank" = ? WHERE pk = 'a' AND sk = '1'`, []types.AttributeValue{n("2")}, updateOf("a", "SET #r = :r", values{":r": n("2")})},
		{`UPDATE "limited" SET x = 1 WHERE pk = 'b' AND sk = '1'`, nil, absent},
		{`SELECT * FROM "limited" WHERE pk = ?`, []types.AttributeValue{s("a")},
			&dynamodb.QueryInput{TableName: name, KeyConditionExpression: aws.String("pk = :p"), ExpressionAttributeValues: values{":p": s("a")}}},
		{`SELECT pk FROM "limited"."by_group" WHERE "group" = 'g'`, nil,
			&dynamodb.QueryInput{TableName: name, IndexName: aws.String(byGroup), KeyConditionExpression: aws.String("#g = :g"),
				ExpressionAttributeNames: map[string]string{"#g": "group"}, ExpressionAttributeValues: values{":g": s("g")}}},
		{`SELECT * FROM limited WHERE x = 1 OR pk = 'a'`, nil, &dynamodb.ScanInput{TableName: name}},
		{`DELETE FROM "limited" WHERE pk = 'a' AND sk = '1'`, nil, &dynamodb.DeleteItemInput{TableName: name, Key: keyOf("a", "1")}},
	}
	stated, called := newBench(t, roomy), newBench(t, roomy)
	for _, step := range steps {
		stated.Reset()
		called.Reset()
		err, want := stated.execute(t, step.statement, step.parameters...), called.send(t, step.call)
		if (err == nil) != (want == nil) {
			t.Errorf("%s: %v, want %v", step.statement, err, want)
		}
		got, wanted := stated.Stats(), called.Stats()
		if diff := cmp.Diff(wanted.Spaces, got.Spaces); diff != "" || len(got.Spaces) == 0 {
			t.Errorf("%s: %s", step.statement, diff)
		}
		wantEqual(t, step.statement, wanted.Keys, got.Keys)
	}
	if got := len(stated.image(t)); got != 0 {
		t.Errorf("%d items are left", got)
	}
}

// TestThrottledStatement checks that a dry partition throttles statements, and no other partition does.
func TestThrottledStatement(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 64, PartitionWCU: 1, PartitionRCU: 1})
	require.NoError(t, b.execute(t, `INSERT INTO limited VALUE {'pk':'a','sk':'1'}`))
	err := b.execute(t, `UPDATE limited SET x = 1 WHERE pk = 'a' AND sk = '1'`)
	wantThrottled(t, "an update of the dry partition", err, tableWriteThrottled)
	if err := b.execute(t, `INSERT INTO limited VALUE {'pk':?,'sk':'1'}`, s(b.apartFrom(t, "a"))); err != nil {
		t.Errorf("another partition: %v", err)
	}
	_, err = admitted(t, func() error { return b.execute(t, `SELECT * FROM limited WHERE pk = 'a'`) })
	wantThrottled(t, "a read beyond the limit", err, tableReadThrottled)
	if err := b.execute(t, `SELEKT`); err == nil || errors.As(err, new(*types.ProvisionedThroughputExceededException)) {
		t.Errorf("a wrong statement: %v", err)
	}
}

// apartFrom returns a key that is on another partition.
func (b *bench) apartFrom(t testing.TB, key string) string {
	for _, other := range b.apart(t, 2) {
		if b.Partition(other) != b.Partition(key) {
			return other
		}
	}
	t.Fatal("no other partition")
	return ""
}

func batchOf(statements ...string) *dynamodb.BatchExecuteStatementInput {
	in := &dynamodb.BatchExecuteStatementInput{}
	for _, text := range statements {
		in.Statements = append(in.Statements, types.BatchStatementRequest{Statement: &text, ConsistentRead: aws.Bool(true)})
	}
	return in
}

// TestPartialBatchStatements checks that a batch reports each throttled statement in its own response.
func TestPartialBatchStatements(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 64, PartitionWCU: 2, PartitionRCU: 3})
	other := b.apartFrom(t, "a")
	run := func(statements ...string) (codes []string, items int) {
		t.Helper()
		out, err := b.db.BatchExecuteStatement(t.Context(), batchOf(statements...))
		require.NoError(t, err)
		if out.ConsumedCapacity != nil {
			t.Error("the response has a ConsumedCapacity that was not asked for")
		}
		for _, r := range out.Responses {
			code := ""
			if r.Error != nil {
				code = string(r.Error.Code)
			}
			codes = append(codes, code)
			items += min(1, len(r.Item))
		}
		return codes, items
	}
	insert := func(pk, sk string) string { return `INSERT INTO limited VALUE {'pk':'` + pk + `','sk':'` + sk + `'}` }
	const over = "ProvisionedThroughputExceeded"
	require.NoError(t, b.execute(t, insert("a", "1")))
	b.Reset()
	got, _ := run(insert("a", "1"), insert("a", "3"), insert(other, "1"), insert("a", "4"), `DELETE FROM none WHERE pk = 'a'`)
	wantEqual(t, "error codes", []string{"DuplicateItem", over, "", over, "ResourceNotFound"}, got)
	want := throttle.OperationStats{Operation: "BatchExecuteStatement", WriteUnits: 2, ThrottledItems: 2}
	wantEqual(t, "statistics", []throttle.OperationStats{want}, b.Stats().Operations)
	if got, _ := run(insert("a", "3"), insert("a", "4")); !cmp.Equal(got, []string{over, over}) {
		t.Errorf("a batch of which nothing fits: %v", got)
	}
	b.Reset()
	read := func(pk, sk string) string {
		return `SELECT * FROM limited WHERE pk = '` + pk + `' AND sk = '` + sk + `'`
	}
	got, items := run(read("a", "1"), read("a", "none"), read(other, "1"), read("a", "2"), read("a", "3"))
	if diff := cmp.Diff([]string{"", "", "", "", over}, got); diff != "" || items != 2 {
		t.Errorf("%d items were read, want 2; error codes (-want +got):\n%s", items, diff)
	}
	if units := b.Stats().ReadUnits; units != 4 {
		t.Errorf("reads cost %v units, want 4", units)
	}
	if _, err := b.db.BatchExecuteStatement(t.Context(), batchOf(insert("b", "1"), read("b", "1"))); err == nil {
		t.Error("the engine accepted reads and writes in one batch")
	}
}

// TestStatementsInTransaction checks that transactions of statements cost twice, are throttled as a whole, and
// hold their items.
func TestStatementsInTransaction(t *testing.T) {
	b := newBench(t, throttle.Options{Partitions: 64, PartitionWCU: 8, PartitionRCU: 2})
	transact := func(statements ...string) error {
		in := &dynamodb.ExecuteTransactionInput{}
		for _, text := range statements {
			in.TransactStatements = append(in.TransactStatements, types.ParameterizedStatement{Statement: &text})
		}
		return errorOf(b.db.ExecuteTransaction(t.Context(), in))
	}
	const insert, again = `INSERT INTO limited VALUE {'pk':'a','sk':'1'}`, `INSERT INTO limited VALUE {'pk':'a','sk':'2'}`
	require.NoError(t, transact(insert, again))
	const exists = `EXISTS(SELECT * FROM limited WHERE pk = 'a' AND sk = '1' AND x IS MISSING)`
	require.NoError(t, transact(exists, `UPDATE limited SET x = 1 WHERE pk = 'a' AND sk = '2'`))
	if got := b.Stats().WriteUnits; got != 2*2+2*2 {
		t.Errorf("two transactions cost %v units, want 8", got)
	}
	wantCancelled(t, "a write beyond the limit", transact(exists, again), "ThrottlingError", "ThrottlingError")
	b.advance(time.Second)
	wantCancelled(t, "a failed condition", transact(exists, `DELETE FROM limited WHERE pk = 'a' AND sk = '2' AND x = 5`), "None", "ConditionalCheckFailed")
	if got := b.Stats().WriteUnits; got != 8+4 {
		t.Errorf("with a failed condition, three transactions cost %v units, want 12", got)
	}
	const read = `SELECT * FROM limited WHERE pk = 'a' AND sk = '1'`
	require.NoError(t, transact(read))
	if got := b.Stats().ReadUnits; got != 2 {
		t.Errorf("a read cost %v units, want 2", got)
	}
	wantCancelled(t, "a read beyond the limit", transact(read), "ThrottlingError")
	if err := transact(read, again); err == nil {
		t.Error("the engine accepted reads and writes in one transaction")
	}
}

// TestStatementsMeetTransaction checks that statements that write held items are conflicts.
func TestStatementsMeetTransaction(t *testing.T) {
	m := newMeanwhile(t)
	const insert = `INSERT INTO limited VALUE {'pk':'held','sk':'1'}`
	m.do = func() {
		wantConflict(t, "an insert", m.execute(t, insert))
		out, err := m.db.BatchExecuteStatement(t.Context(), batchOf(insert, `INSERT INTO limited VALUE {'pk':'free','sk':'1'}`))
		if err != nil || out.Responses[0].Error == nil || out.Responses[0].Error.Code != types.BatchStatementErrorCodeEnumTransactionConflict || out.Responses[1].Error != nil {
			t.Errorf("a batch: %v %+v", err, out)
		}
		if err := m.execute(t, `SELECT * FROM limited WHERE pk = 'held'`); err != nil {
			t.Errorf("a read: %v", err)
		}
	}
	require.NoError(t, m.transact(t, "first", keyOf("held", "1")))
}
