package throttle_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
	"github.com/google/go-cmp/cmp"

	"github.com/hotshard/hotshard/internal/test/require"
)

// engineDiffers has the cases whose ConsumedCapacity differs between DynamoDB Local and AWS: the engine leaves out
// condition checks, and doubles a transaction's writes to indexes. The limiter charges as AWS does, and returns the
// engine's figure.
var engineDiffers = map[string]bool{"transaction with a check": true, "transaction with indexes": true}

// parityCases restate what Parity Suite (github.com/paritysuite/dynamodb-conformance) measured on AWS, in files below
// tests: tier1/getItem, putItem, query and scan/consumedCapacity, tier1/putItem and query/indexConsumedCapacity,
// tier2/transactions/transactWrite and transactGet.
func parityCases() map[string]parityCase {
	small := values{"other": s("o")}
	both := values{"group": s("g"), "rank": n("1"), "tag": s("t"), "other": s("o")}
	x := values{":x": s("new")}
	var page []values // six items of 2 KB
	for range 6 {
		page = append(page, sized(2))
	}
	none, exists := aws.String("attribute_not_exists(pk)"), aws.String("attribute_exists(pk)")
	filter, projection := aws.String("tag = :x"), aws.String("sk")
	return map[string]parityCase{
		"consistent get":                  parityGet("1", true).costs(1, 0, small),
		"eventually consistent get":       parityGet("1", false).costs(0.5, 0, small),
		"eventually consistent get, none": parityGet("none", false).costs(0.5, 0),
		"put":                             parityPut(small, nil).costs(1, 0),
		"put into the global index":       parityPut(values{"group": s("g"), "tag": s("t")}, nil).costs(1, 1),
		"put into the local index":        parityPut(values{"rank": n("1")}, nil).costs(2, 0),
		"put into both":                   parityPut(both, nil).costs(2, 1),
		"identical put":                   parityPut(both, nil).costs(1, 0, both),
		"put whose condition holds":       parityPut(small, none).costs(1, 0),
		"update":                          parityUpdate("SET #x = :x", x).costs(1, 0, small),
		"update of what is not projected": parityUpdate("SET #x = :x", x).costs(2, 0, both),
		"update of what is projected":     parityUpdate("SET #t = :x", x).costs(2, 1, both),
		"update of the global key":        parityUpdate("SET #g = :x", x).costs(2, 2, both),
		"update that removes it":          parityUpdate("REMOVE #g", nil).costs(2, 1, both),
		"update of the local key":         parityUpdate("SET #r = :x", values{":x": n("2")}).costs(3, 0, both),
		"delete":                          parityDelete().costs(1, 0, small),
		"delete from both":                parityDelete().costs(2, 1, both),
		"consistent query":                parityQuery(dynamodb.QueryInput{ConsistentRead: aws.Bool(true)}).costs(1, 0, both),
		"query of six":                    parityQuery(dynamodb.QueryInput{}).costs(1.5, 0, page...),
		"query that finds nothing of six": parityQuery(dynamodb.QueryInput{FilterExpression: filter}).costs(1.5, 0, page...),
		"query of six sort keys":          parityQuery(dynamodb.QueryInput{ProjectionExpression: projection}).costs(1.5, 0, page...),
		"query of the global index":       parityQuery(dynamodb.QueryInput{IndexName: aws.String(byGroup)}).costs(0, 0.5, both),
		"scan of six":                     parityScan(dynamodb.ScanInput{}).costs(1.5, 0, page...),
		"scan that finds nothing of six":  parityScan(dynamodb.ScanInput{FilterExpression: filter}).costs(1.5, 0, page...),
		"scan of six sort keys":           parityScan(dynamodb.ScanInput{ProjectionExpression: projection}).costs(1.5, 0, page...),
		"batch of puts":                   parityBatch(small, small).costs(2, 0),
		"batch, half of it in the index":  parityBatch(values{"group": s("g"), "tag": s("t")}, small).costs(2, 1),
		"transaction":                     parityTransact(parityActions(small, nil, false)).costs(2, 0),
		"transaction with indexes":        parityTransact(parityActions(both, nil, false)).costs(3, 1),
		"transaction with a condition":    parityTransact(parityActions(small, none, false)).costs(2, 0),
		"transaction with a check":        parityTransact(parityActions(small, nil, true)).costs(4, 0, small),
		"transaction of 1.5 KB":           parityTransact(parityActions(sized(1.5), nil, false)).costs(4, 0),
		"cancelled transaction":           parityTransact(parityActions(small, exists, false)).costs(2, 0),
		"transaction of reads":            parityTransactGet("1", "none").costs(4, 0, small),
	}
}

// TestParity checks that each call costs what AWS charges, and that the response has AWS's ConsumedCapacity if the
// caller asked for it.
func TestParity(t *testing.T) {
	for name, c := range parityCases() {
		b := newBench(t, roomy, parityTable())
		for _, a := range []asked{"", types.ReturnConsumedCapacityTotal, types.ReturnConsumedCapacityIndexes} {
			pk := strings.ReplaceAll(name, " ", "-")[:min(20, len(name))]
			if !c.reads {
				pk += string(a)
			}
			for i, more := range c.before {
				sk := fmt.Sprint(i)
				if len(c.before) == 1 {
					sk = "1"
				}
				if _, err := b.direct.PutItem(t.Context(), &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: itemOf(pk, sk, more)}); err != nil {
					t.Fatal(name, err)
				}
			}
			b.Reset()
			_, err := send(t.Context(), b.db, asking(a, c.call(pk)))
			consumed := consumed(t, b.wire)
			cancelled := errors.As(err, new(*types.TransactionCanceledException))
			if err != nil && !cancelled {
				t.Errorf("%s: %v", name, err)
				continue
			}
			if got, want := parityCharged(b, c.reads), [2]float64{c.table, c.index}; got != want {
				t.Errorf("%s: charged %v in the table and the index, AWS charges %v", name, got, want)
			}
			if cancelled || a == "" {
				if consumed != nil {
					t.Errorf("%s, asked %q: the response has %+v", name, a, consumed)
				}
				continue
			}
			diff := c.compare(consumed, a)
			if (diff != "") != engineDiffers[name] {
				t.Errorf("%s, asked %s (-AWS +the engine): %q", name, a, diff)
			}
		}
	}
}

// consumed returns the ConsumedCapacity of the last response.
func consumed(t *testing.T, w *wire) (list []types.ConsumedCapacity) {
	t.Helper()
	var response struct{ ConsumedCapacity json.RawMessage }
	require.NoError(t, json.Unmarshal(w.body, &response))
	text := response.ConsumedCapacity
	if len(text) == 0 {
		return nil
	}
	if text[0] != '[' {
		text = slices.Concat([]byte("["), text, []byte("]"))
	}
	require.NoError(t, json.Unmarshal(text, &list))
	return list
}

// parityCharged returns the units charged in the table and in the index.
func parityCharged(b *bench, reads bool) (units [2]float64) {
	for _, space := range b.Stats().Spaces {
		at := 0
		if space.Index != "" {
			at = 1
		}
		if reads {
			units[at] += space.ReadUnits
		} else {
			units[at] += space.WriteUnits
		}
	}
	return units
}

// compare returns the difference of a ConsumedCapacity from AWS's: of the total, and for INDEXES of the table and the
// index.
func (c parityCase) compare(consumed []types.ConsumedCapacity, a asked) string {
	type capacity struct{ Total, Table, Index float64 }
	want, got := capacity{Total: c.table + c.index}, capacity{}
	if a == types.ReturnConsumedCapacityIndexes {
		want.Table, want.Index = c.table, c.index
	}
	if len(consumed) == 1 {
		got.Total = aws.ToFloat64(consumed[0].CapacityUnits)
		if consumed[0].Table != nil {
			got.Table = aws.ToFloat64(consumed[0].Table.CapacityUnits)
		}
		for _, x := range consumed[0].LocalSecondaryIndexes {
			got.Table += aws.ToFloat64(x.CapacityUnits)
		}
		for _, x := range consumed[0].GlobalSecondaryIndexes {
			got.Index += aws.ToFloat64(x.CapacityUnits)
		}
	}
	return cmp.Diff(want, got)
}

// parityTable has a global index with the attribute tag, and a local index with all attributes.
func parityTable() *dynamodb.CreateTableInput {
	table := onDemandTable()
	table.GlobalSecondaryIndexes[0].KeySchema = table.GlobalSecondaryIndexes[0].KeySchema[:1]
	table.LocalSecondaryIndexes[0].Projection = &types.Projection{ProjectionType: types.ProjectionTypeAll}
	return table
}

type asked = types.ReturnConsumedCapacity

// parityCase is a call and what AWS charges for it. The table's units include its local index's.
type parityCase struct {
	before []values            // stored before the call, with its partition key
	call   func(pk string) any // the input of a call of the partition key

	table, index float64
	reads        bool
}

func parityPut(more values, condition *string) parityCase {
	return parityCase{call: func(pk string) any {
		return &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: itemOf(pk, "1", more), ConditionExpression: condition}
	}}
}

func parityUpdate(expression string, v values) parityCase {
	return parityCase{call: func(pk string) any { return updateOf(pk, expression, v) }}
}

func parityDelete() parityCase {
	return parityCase{call: func(pk string) any {
		return &dynamodb.DeleteItemInput{TableName: aws.String(tableName), Key: keyOf(pk, "1")}
	}}
}

func parityGet(sk string, consistent bool) parityCase {
	return parityCase{reads: true, call: func(pk string) any {
		return &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: keyOf(pk, sk), ConsistentRead: &consistent}
	}}
}

// parityQuery queries the table, or the group "g" of the index if in names it.
func parityQuery(in dynamodb.QueryInput) parityCase {
	return parityCase{reads: true, call: func(pk string) any {
		in := in
		in.TableName = aws.String(tableName)
		in.KeyConditionExpression, in.ExpressionAttributeValues = aws.String("pk = :p"), values{":p": s(pk)}
		if in.IndexName != nil {
			in.KeyConditionExpression, in.ExpressionAttributeNames, in.ExpressionAttributeValues = aws.String("#g = :p"), map[string]string{"#g": "group"}, values{":p": s("g")}
		}
		if in.FilterExpression != nil {
			in.ExpressionAttributeValues[":x"] = s("x")
		}
		return &in
	}}
}

func parityScan(in dynamodb.ScanInput) parityCase {
	return parityCase{reads: true, call: func(_ string) any {
		in := in
		in.TableName = aws.String(tableName)
		if in.FilterExpression != nil {
			in.ExpressionAttributeValues = values{":x": s("x")}
		}
		return &in
	}}
}

func parityTransact(actions func(pk string) []types.TransactWriteItem) parityCase {
	return parityCase{call: func(pk string) any { return &dynamodb.TransactWriteItemsInput{TransactItems: actions(pk)} }}
}

func parityActions(more values, condition *string, check bool) func(pk string) []types.TransactWriteItem {
	return func(pk string) []types.TransactWriteItem {
		actions := []types.TransactWriteItem{{Put: &types.Put{TableName: aws.String(tableName), Item: itemOf(pk, "new", more), ConditionExpression: condition}}}
		if check {
			actions = append(actions, types.TransactWriteItem{ConditionCheck: &types.ConditionCheck{
				TableName: aws.String(tableName), Key: keyOf(pk, "1"), ConditionExpression: aws.String("attribute_exists(pk)"),
			}})
		}
		return actions
	}
}

func parityTransactGet(sks ...string) parityCase {
	return parityCase{reads: true, call: func(pk string) any {
		in := &dynamodb.TransactGetItemsInput{}
		for _, sk := range sks {
			in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: aws.String(tableName), Key: keyOf(pk, sk)}})
		}
		return in
	}}
}

func parityBatch(items ...values) parityCase {
	return parityCase{call: func(pk string) any {
		var all []values
		for i, more := range items {
			all = append(all, itemOf(pk, fmt.Sprint(i), more))
		}
		return &dynamodb.BatchWriteItemInput{RequestItems: putRequests(all...)}
	}}
}

func (c parityCase) costs(table, index float64, before ...values) parityCase {
	c.table, c.index, c.before = table, index, before
	return c
}
