package fold_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"

	"github.com/aws/aws-lambda-go/events"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/internal/fold"
)

const streamARN = "arn:aws:dynamodb:eu-west-1:123456789012:table/hotshard-items/stream/2026-10-01T00:00:00.000"

// streamRecord returns a record as Lambda delivers it.
func streamRecord(name, keys, images string) string {
	return `{"eventID":"8e1f0c4a5b6d7f8091a2b3c4d5e6f708","eventName":"` + name + `","eventVersion":"1.1","eventSource":"aws:dynamodb","awsRegion":"eu-west-1",` +
		`"dynamodb":{"ApproximateCreationDateTime":1.793491200E9,"Keys":{` + keys + `},` + images +
		`,"SequenceNumber":"442158450` + placeholder + `","SizeBytes":180,"StreamViewType":"NEW_AND_OLD_IMAGES"},"eventSourceARN":"` + streamARN + `"}`
}

// counterRecord returns the record of an increment of a counter with two write shards.
func counterRecord(random *rand.Rand, target uint64) string {
	keys := fmt.Sprintf(`"sk":{"S":"+"},"pk":{"S":"C#articles/%d/views#1"}`, target)
	value := random.IntN(100_000)
	image := func(value int) string {
		return fmt.Sprintf(`{"rev":{"N":"%s"},%s,"value":{"N":"%d"}}`, placeholder, keys, value)
	}
	return streamRecord("MODIFY", keys, `"NewImage":`+image(value+1)+`,"OldImage":`+image(value))
}

// eventRecord returns the record of a new event of about 300 B.
func eventRecord(random *rand.Rand, target uint64) string {
	keys := fmt.Sprintf(`"sk":{"S":"2026-11-01T12:%02d:%02d.%03dZ#01KBV8QF6Z0000000000%06d"},"pk":{"S":"E#plant-7/sensor-%d#2026-11-01#0"}`,
		random.IntN(60), random.IntN(60), random.IntN(1000), random.IntN(1_000_000), target)
	image := fmt.Sprintf(`{"data":{"M":{"temperature":{"N":"%d.%d"},"humidity":{"N":"%d"},"status":{"S":"ok"},"note":{"S":"%s"}}},%s,"expires_at":{"N":"1796169600"}}`,
		random.IntN(40), random.IntN(10), random.IntN(100), strings.Repeat("all is well; ", 10), keys)
	return streamRecord("INSERT", keys, `"NewImage":`+image)
}

// stockCounters is a good stock stream handler: it sums up a batch and updates each summary once.
func stockCounters(ctx context.Context, client fold.Client, payload []byte) error {
	var event events.DynamoDBEvent
	if err := json.Unmarshal(payload, &event); err != nil {
		return err
	}
	sums := map[string]int64{}
	for _, r := range event.Records {
		counter, ok := strings.CutPrefix(r.Change.Keys["pk"].String(), "C#")
		if !ok {
			continue
		}
		was, err := r.Change.OldImage["value"].Integer()
		if err != nil {
			return err
		}
		is, err := r.Change.NewImage["value"].Integer()
		if err != nil {
			return err
		}
		sums[counter[:strings.LastIndexByte(counter, '#')]] += is - was
	}
	for counter, sum := range sums {
		if err := addTo(ctx, client, "C#"+counter, "-", "ADD total :a", strconv.FormatInt(sum, 10)); err != nil {
			return err
		}
	}
	return nil
}

// hour is the stock handler's rollup.
type hour struct {
	events                int
	temperature, humidity float64
}

// stockEvents is the stock handler of events. It counts them and sums up their numbers as floats, without
// minimum and maximum.
func stockEvents(ctx context.Context, client fold.Client, payload []byte) error {
	var event events.DynamoDBEvent
	if err := json.Unmarshal(payload, &event); err != nil {
		return err
	}
	hours := map[[2]string]*hour{}
	for _, r := range event.Records {
		entity, ok := strings.CutPrefix(r.Change.Keys["pk"].String(), "E#")
		if !ok || r.EventName != "INSERT" {
			continue
		}
		key := [2]string{entity, r.Change.Keys["sk"].String()[:13]}
		if hours[key] == nil {
			hours[key] = &hour{}
		}
		if err := hours[key].add(r.Change.NewImage["data"].Map()); err != nil {
			return err
		}
	}
	for key, h := range hours {
		if err := addTo(ctx, client, "E#"+key[0], key[1], "ADD events :a, temperature :b, humidity :c",
			strconv.Itoa(h.events), fmt.Sprint(h.temperature), fmt.Sprint(h.humidity)); err != nil {
			return err
		}
	}
	return nil
}

func (h *hour) add(data map[string]events.DynamoDBAttributeValue) error {
	temperature, err := data["temperature"].Float()
	if err != nil {
		return err
	}
	humidity, err := data["humidity"].Float()
	h.events++
	h.temperature += temperature
	h.humidity += humidity
	return err
}

// addTo updates a summary with values :a, :b and so on.
func addTo(ctx context.Context, client fold.Client, pk, sk, update string, values ...string) error {
	named := dynamo.Item{}
	for i, v := range values {
		named[":"+string(rune('a'+i))] = dynamo.Decimal(v)
	}
	_, err := client.UpdateItem(ctx, &dynamodb.UpdateItemInput{
		TableName:                 aws.String("rollups"),
		Key:                       dynamo.Key(pk, sk),
		UpdateExpression:          &update,
		ExpressionAttributeValues: named,
	})
	return err
}
