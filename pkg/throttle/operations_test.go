package throttle_test

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/dynamo"
)

// workload makes operations on a few items.
type workload struct{ *rand.Rand }

func pick[T any](w *workload, from ...T) T { return from[w.IntN(len(from))] }

func (w *workload) key() values {
	return keyOf("pk"+strconv.Itoa(w.IntN(6)), strconv.Itoa(w.IntN(2)))
}

// keys returns different keys.
func (w *workload) keys() []values {
	all := map[string]values{}
	for range 1 + w.IntN(4) {
		key := w.key()
		all[pkOf(key)+key["sk"].(*types.AttributeValueMemberS).Value] = key
	}
	var keys []values
	for _, name := range slices.Sorted(maps.Keys(all)) {
		keys = append(keys, all[name])
	}
	return keys
}

func (w *workload) item(key values) values {
	item := maps.Clone(key)
	if w.IntN(2) == 0 {
		maps.Copy(item, sized(float64(w.IntN(90))/10))
	}
	if w.IntN(3) > 0 {
		item["group"] = s(pick(w, "g1", "g2", "g3"))
	}
	if w.IntN(3) > 0 {
		item["rank"] = n(pick(w, "1", "2", "-0.5", "10e2"))
	}
	if w.IntN(2) == 0 {
		item["tag"] = s(pick(w, "x", "y"))
	}
	if w.IntN(4) == 0 {
		item["doc"] = &types.AttributeValueMemberM{Value: values{"list": &types.AttributeValueMemberL{Value: []types.AttributeValue{
			n("12.5"), &types.AttributeValueMemberSS{Value: []string{"a", "bc"}}, &types.AttributeValueMemberBOOL{Value: true},
			&types.AttributeValueMemberB{Value: make([]byte, w.IntN(2000))}, &types.AttributeValueMemberNULL{Value: true},
		}}}}
	}
	return item
}

// writing is a put, an update or a delete, perhaps with a condition.
type writing struct{ types.TransactWriteItem }

func (w *workload) writing(key values) writing {
	name := aws.String(tableName)
	var condition *string
	if w.IntN(4) == 0 {
		condition = aws.String(pick(w, "attribute_exists(pk)", "attribute_not_exists(pk)", "attribute_exists(tag)"))
	}
	switch w.IntN(5) {
	case 0, 1:
		return writing{types.TransactWriteItem{Put: &types.Put{TableName: name, Item: w.item(key), ConditionExpression: condition}}}
	case 2:
		return writing{types.TransactWriteItem{Delete: &types.Delete{TableName: name, Key: key, ConditionExpression: condition}}}
	}
	expression := pick(w,
		"ADD #x :n", "SET #t = :t", "SET #t = if_not_exists(#t, :t) ADD #x :n", "SET #g = :g, #r = :n", "SET #g = :g",
		"REMOVE #g", "REMOVE #r, #t SET #x = :n", "ADD #r :n", "SET #g = if_not_exists(#g, :g), #r = :n", "SET #r = if_not_exists(#r, :n)", "SET #g = if_not_exists(#t, :g)",
	)
	all := values{":n": n("3"), ":t": s(pick(w, "x", "z")), ":g": s(pick(w, "g1", "g4"))}
	maps.DeleteFunc(all, func(name string, _ types.AttributeValue) bool { return !strings.Contains(expression, name) })
	if len(all) == 0 {
		all = nil
	}
	return writing{types.TransactWriteItem{Update: &types.Update{
		TableName: name, Key: key, ConditionExpression: condition,
		UpdateExpression: &expression, ExpressionAttributeNames: names(expression), ExpressionAttributeValues: all,
	}}}
}

func (w writing) key() values {
	switch {
	case w.Put != nil:
		return values{"pk": w.Put.Item["pk"], "sk": w.Put.Item["sk"]}
	case w.Update != nil:
		return w.Update.Key
	}
	return w.Delete.Key
}

// input returns the input of the write as a single operation.
func (w writing) input() any {
	switch {
	case w.Put != nil:
		return dynamo.PutInput(w.Put)
	case w.Update != nil:
		return dynamo.UpdateInput(w.Update)
	}
	return dynamo.DeleteInput(w.Delete)
}

func (w *workload) next() operation {
	switch w.IntN(10) {
	case 0:
		return w.batchWrite()
	case 1:
		return w.transactWrite()
	case 2:
		return w.batchGet()
	case 3:
		return w.transactGet()
	case 4:
		return w.query()
	case 5:
		key, consistent := w.key(), w.IntN(2) == 0
		in := &dynamodb.GetItemInput{TableName: aws.String(tableName), Key: key, ConsistentRead: &consistent}
		return operation{in, func(a *auditor) { a.read(key, consistent, 1) }}
	}
	return w.single()
}

func (w *workload) single() operation {
	one := w.writing(w.key())
	failure := pick(w, types.ReturnValuesOnConditionCheckFailure(""), types.ReturnValuesOnConditionCheckFailureAllOld)
	old := pick(w, types.ReturnValueNone, types.ReturnValueAllOld, "")
	in := one.input()
	switch in := in.(type) {
	case *dynamodb.PutItemInput:
		in.ReturnValues, in.ReturnValuesOnConditionCheckFailure = old, failure
	case *dynamodb.UpdateItemInput:
		in.ReturnValues, in.ReturnValuesOnConditionCheckFailure = pick(w, append(types.ReturnValue("").Values(), "")...), failure
	case *dynamodb.DeleteItemInput:
		in.ReturnValues, in.ReturnValuesOnConditionCheckFailure = types.ReturnValueAllOld, failure
	}
	return operation{in, func(a *auditor) { a.write(one, 1) }}
}

func (w *workload) batchWrite() operation {
	var all []writing
	var requests []types.WriteRequest
	for _, key := range w.keys() {
		var one writing
		if item := w.item(key); w.IntN(3) == 0 {
			one.Delete = &types.Delete{TableName: aws.String(tableName), Key: key}
			requests = append(requests, types.WriteRequest{DeleteRequest: &types.DeleteRequest{Key: key}})
		} else {
			one.Put = &types.Put{TableName: aws.String(tableName), Item: item}
			requests = append(requests, types.WriteRequest{PutRequest: &types.PutRequest{Item: item}})
		}
		all = append(all, one)
	}
	in := &dynamodb.BatchWriteItemInput{RequestItems: map[string][]types.WriteRequest{tableName: requests}}
	return operation{in, func(a *auditor) { a.writeAll(all, 1) }}
}

// transactWrite has no conditions: the auditor could not undo the other writes.
func (w *workload) transactWrite() operation {
	var all []writing
	in := &dynamodb.TransactWriteItemsInput{}
	for _, key := range w.keys() {
		one := w.writing(key)
		switch {
		case one.Put != nil:
			one.Put.ConditionExpression = nil
		case one.Update != nil:
			one.Update.ConditionExpression = nil
		default:
			one.Delete.ConditionExpression = nil
		}
		all, in.TransactItems = append(all, one), append(in.TransactItems, one.TransactWriteItem)
	}
	return operation{in, func(a *auditor) { a.writeAll(all, 2) }}
}

func (w *workload) batchGet() operation {
	keys, consistent := w.keys(), w.IntN(2) == 0
	in := &dynamodb.BatchGetItemInput{RequestItems: map[string]types.KeysAndAttributes{tableName: {Keys: keys, ConsistentRead: &consistent}}}
	return operation{in, func(a *auditor) {
		for _, key := range keys {
			a.read(key, consistent, 1)
		}
	}}
}

func (w *workload) transactGet() operation {
	keys := w.keys()
	in := &dynamodb.TransactGetItemsInput{}
	for _, key := range keys {
		in.TransactItems = append(in.TransactItems, types.TransactGetItem{Get: &types.Get{TableName: aws.String(tableName), Key: key}})
	}
	return operation{in, func(a *auditor) {
		for _, key := range keys {
			a.read(key, true, 2)
		}
	}}
}

func (w *workload) query() operation {
	pk := pkOf(w.key())
	in := dynamodb.QueryInput{TableName: aws.String(tableName), KeyConditionExpression: aws.String("(pk = :key) AND sk >= :zero"),
		ExpressionAttributeValues: values{":key": s(pk), ":zero": s("0")}, ConsistentRead: aws.Bool(w.IntN(2) == 0)}
	if w.IntN(2) == 0 {
		pk = pick(w, "g1", "g2", "none")
		in = dynamodb.QueryInput{TableName: aws.String(tableName), IndexName: aws.String(byGroup),
			KeyConditions: map[string]types.Condition{"group": {ComparisonOperator: "EQ", AttributeValueList: []types.AttributeValue{s(pk)}}}}
	}
	return operation{&in, func(a *auditor) { a.query(in, pk) }}
}
