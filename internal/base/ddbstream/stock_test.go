package ddbstream_test

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/hotshard/hotshard/internal/base/ddbstream"
)

// stockSize returns the size of an item that aws-lambda-go decoded. It shares no code with the package: it writes numbers
// in full and cuts them into pairs of digits.
func stockSize(item map[string]events.DynamoDBAttributeValue) int {
	size := 0
	for name, value := range item {
		size += len(name) + stockValueSize(value)
	}
	return size
}

func stockValueSize(v events.DynamoDBAttributeValue) int {
	size := 0
	switch v.DataType() {
	case events.DataTypeString:
		return len(v.String())
	case events.DataTypeNumber:
		return stockNumberSize(v.Number())
	case events.DataTypeBinary:
		return len(v.Binary())
	case events.DataTypeBoolean, events.DataTypeNull:
		return 1
	case events.DataTypeStringSet:
		for _, s := range v.StringSet() {
			size += len(s)
		}
	case events.DataTypeNumberSet:
		for _, s := range v.NumberSet() {
			size += stockNumberSize(s)
		}
	case events.DataTypeBinarySet:
		for _, b := range v.BinarySet() {
			size += len(b)
		}
	case events.DataTypeList:
		size = 3
		for _, e := range v.List() {
			size += 1 + stockValueSize(e)
		}
	case events.DataTypeMap:
		size = 3 + len(v.Map()) + stockSize(v.Map())
	}
	return size
}

func stockNumberSize(s string) int {
	sign := 0
	if s[0] == '-' {
		sign, s = 1, s[1:]
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	power, _ := strconv.Atoi(exponent)
	whole, fraction, _ := strings.Cut(mantissa, ".")
	zeros := strings.Repeat("0", 1002)
	digits := zeros + whole + fraction + zeros
	if (len(zeros)+len(whole)+power)%2 == 1 { // digits before the point
		digits = "0" + digits
	}
	first, last := -1, -1
	for i := 0; i+1 < len(digits); i += 2 {
		if digits[i:i+2] != "00" {
			if first < 0 {
				first = i
			}
			last = i
		}
	}
	if first < 0 {
		return 1
	}
	return min(1+(last-first)/2+1+sign, 21)
}

// compare compares a decoded batch with the stock decoder's. agreed is false for a payload that one of them rejects.
func compare(payload []byte) (agreed bool, err error) {
	batch, err := ddbstream.Decode(payload)
	if err != nil {
		return false, nil
	}
	for i := range batch.Records {
		rec := &batch.Records[i]
		for _, image := range []ddbstream.Image{rec.Keys, rec.New, rec.Old} {
			if _, err := image.Size(); err != nil || rec.Err != nil {
				return false, nil
			}
		}
	}
	var stock events.DynamoDBEvent
	if json.Unmarshal(payload, &stock) != nil {
		return false, nil
	}
	if len(stock.Records) != len(batch.Records) {
		return false, fmt.Errorf("%d records, stock has %d", len(batch.Records), len(stock.Records))
	}
	for i := range batch.Records {
		if err := compareRecord(&batch.Records[i], stock.Records[i]); err != nil {
			return false, fmt.Errorf("record %d: %w", i, err)
		}
	}
	return true, nil
}

func compareRecord(rec *ddbstream.Record, stock events.DynamoDBEventRecord) error {
	id := stock.UserIdentity
	expired := stock.EventName == "REMOVE" && id != nil && id.Type == "Service" && id.PrincipalID == "dynamodb.amazonaws.com"
	change := stock.Change
	switch {
	case rec.Name.String() != stock.EventName, string(rec.Sequence) != change.SequenceNumber, rec.Expired != expired:
		return fmt.Errorf("%v %s %v, stock has %s %s %v", rec.Name, rec.Sequence, rec.Expired, stock.EventName, change.SequenceNumber, expired)
	case rec.Created.IsZero() && change.ApproximateCreationDateTime.Equal(time.Unix(0, 0)): // null is an absent time here
	case !rec.Created.Equal(change.ApproximateCreationDateTime.Time):
		return fmt.Errorf("created %v, stock has %v", rec.Created, change.ApproximateCreationDateTime)
	}
	images := []ddbstream.Image{rec.Keys, rec.New, rec.Old}
	for i, item := range []map[string]events.DynamoDBAttributeValue{change.Keys, change.NewImage, change.OldImage} {
		if err := compareImage(images[i], item); err != nil {
			return err
		}
	}
	units, err := rec.WriteUnits()
	want := max(1, (max(stockSize(change.NewImage), stockSize(change.OldImage))+1023)/1024)
	if expired {
		want = 0
	}
	if units != want || err != nil {
		return fmt.Errorf("%d write units, %v; want %d", units, err, want)
	}
	return nil
}

func compareImage(image ddbstream.Image, item map[string]events.DynamoDBAttributeValue) error {
	size, err := image.Size()
	if size != stockSize(item) || err != nil || image.Present() != (item != nil) {
		return fmt.Errorf("size %d, %v, present %v; stock has %d, %v", size, err, image.Present(), stockSize(item), item != nil)
	}
	for name, value := range item {
		s, isString := image.String(name)
		n, isNumber := image.Number(name)
		kind := value.DataType()
		switch {
		case !image.Has(name), isString != (kind == events.DataTypeString), isNumber != (kind == events.DataTypeNumber):
			return fmt.Errorf("attribute %q is not found, or has another type than %v", name, kind)
		case isString && s != value.String(), isNumber && n != value.Number():
			return fmt.Errorf("attribute %q: %q %q, stock has %v", name, s, n, value)
		}
	}
	return nil
}
