// Package record stores structs as items, by the tags of the SDK's attributevalue: how an
// item is stored is said once, where its struct is.
//
//	type cursor struct {
//		record.Key
//		Round time.Time `dynamodbav:"round"`               // N, Unix milliseconds
//		From  string    `dynamodbav:"from,omitempty"`      // S, absent for ""
//		Ends  time.Time `dynamodbav:"expires_at,unixtime"` // N, Unix seconds
//	}
//
//	put(record.Item(cursor{...}))
//	err := record.Read(item, &c) // names the attribute that is missing or damaged
//
// It does no input or output.
package record

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type item = map[string]types.AttributeValue

// Key is the primary key of a record. Read does not ask for it.
type Key struct {
	PK string `dynamodbav:"pk,omitempty"`
	SK string `dynamodbav:"sk,omitempty"`
}

var (
	encoder = attributevalue.NewEncoder(func(o *attributevalue.EncoderOptions) {
		o.EncodeTime = func(t time.Time) (types.AttributeValue, error) {
			return &types.AttributeValueMemberN{Value: strconv.FormatInt(t.UnixMilli(), 10)}, nil
		}
		o.OmitEmptyTime = true
	})
	decoder = attributevalue.NewDecoder(func(o *attributevalue.DecoderOptions) {
		o.DecodeTime.N = func(digits string) (time.Time, error) {
			ms, err := strconv.ParseInt(digits, 10, 64)
			return time.UnixMilli(ms).UTC(), err
		}
	})
)

// Item returns what is stored of a record. It panics if the record's type can't be stored.
func Item(record any) item {
	stored, err := encoder.Encode(record)
	m, ok := stored.(*types.AttributeValueMemberM)
	if err != nil || !ok {
		panic(fmt.Sprintf("record: a %T can't be stored: %v", record, err))
	}
	return m.Value
}

// Fault is why an item can't be read.
type Fault struct {
	Attribute string
	Err       error
}

func (f *Fault) Error() string { return fmt.Sprintf("attribute %s: %v", f.Attribute, f.Err) }

// Unwrap returns what is wrong with the attribute.
func (f *Fault) Unwrap() error { return f.Err }

var (
	errMissing = errors.New("it is missing")
	errType    = errors.New("it is of another type")
)

// Read reads an item into a record. What is always stored, which is what has no omitempty,
// has to be there, and of its type. The error is a [*Fault].
func Read[R any](it item, into *R) error {
	for _, a := range alwaysOf[R]() {
		if it[a.name] == nil {
			return &Fault{a.name, errMissing}
		}
		if a.like != nil && reflect.TypeOf(it[a.name]) != a.like { // the decoder takes a number for a text
			return &Fault{a.name, errType}
		}
	}
	err := decoder.Decode(&types.AttributeValueMemberM{Value: it}, into)
	if err == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(it)) { // the decoder does not say which it is
		one := &types.AttributeValueMemberM{Value: item{name: it[name]}}
		if err := decoder.Decode(one, new(R)); err != nil {
			return &Fault{name, err}
		}
	}
	return err
}

// attribute is one that is always stored.
type attribute struct {
	name string
	like reflect.Type // nil where a zero value does not tell
}

// always has the attributes that are always stored, in order, by the type of record.
var always sync.Map

func alwaysOf[R any]() []attribute {
	of := reflect.TypeFor[R]()
	if known, ok := always.Load(of); ok {
		return known.([]attribute)
	}
	var list []attribute
	zero := Item(*new(R))
	for _, name := range slices.Sorted(maps.Keys(zero)) {
		a := attribute{name: name}
		if _, null := zero[name].(*types.AttributeValueMemberNULL); !null {
			a.like = reflect.TypeOf(zero[name])
		}
		list = append(list, a)
	}
	always.Store(of, list)
	return list
}
