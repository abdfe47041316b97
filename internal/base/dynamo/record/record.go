// Package record converts structs to items and back, by the tags of the SDK's package attributevalue.
// So an item's stored form is declared once, at its struct.
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
	"cmp"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

type item = map[string]types.AttributeValue

// Key is the primary key of a record. Read reads it, but does not require it.
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

// Item returns the stored form of a record. It panics if the record's type can't be stored.
func Item(record any) item {
	stored, err := encoder.Encode(record)
	m, ok := stored.(*types.AttributeValueMemberM)
	if err != nil || !ok {
		panic(fmt.Sprintf("record: a %T can't be stored: %v", record, err))
	}
	return m.Value
}

// Fault is the error of an item that can't be read, with the attribute.
type Fault struct {
	Attribute string
	Err       error
}

func (f *Fault) Error() string { return fmt.Sprintf("attribute %s: %v", f.Attribute, f.Err) }

// Unwrap returns the attribute's error.
func (f *Fault) Unwrap() error { return f.Err }

var (
	errMissing = errors.New("it is missing")
	errType    = errors.New("it is of another type")
)

// Read reads an item into a record. It returns a [*Fault] if an attribute without omitempty is absent, or if any has
// another type than its field, such as NULL, or can't be decoded. A uint64 must not exceed the largest int64.
func Read[R any](it item, into *R) error {
	for _, a := range attributesOf[R]() {
		stored := it[a.name]
		if stored == nil && a.required {
			return &Fault{a.name, errMissing}
		}
		if stored != nil && reflect.TypeOf(stored) != a.storedType { // the decoder would accept a number for a string
			return &Fault{a.name, errType}
		}
		if n, ok := stored.(*types.AttributeValueMemberN); ok && a.unsigned {
			if _, err := strconv.ParseUint(n.Value, 10, 63); err != nil {
				return &Fault{a.name, err}
			}
		}
	}
	err := decoder.Decode(&types.AttributeValueMemberM{Value: it}, into)
	if err == nil {
		return nil
	}
	for _, name := range slices.Sorted(maps.Keys(it)) { // the decoder's error does not name the attribute
		if err := decodeAlone[R](name, it[name]); err != nil {
			return &Fault{name, cmp.Or(firstBadMember[R](name, it[name]), err)}
		}
	}
	return err
}

// decodeAlone returns the error of decoding an item with only this attribute into a record.
func decodeAlone[R any](name string, value types.AttributeValue) error {
	return decoder.Decode(&types.AttributeValueMemberM{Value: item{name: value}}, new(R))
}

// firstBadMember returns the error of the first member of a map attribute that can't be decoded alone. It returns nil if
// there is none, or the attribute is no map.
func firstBadMember[R any](name string, value types.AttributeValue) error {
	members, ok := value.(*types.AttributeValueMemberM)
	if !ok {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(members.Value)) {
		if err := decodeAlone[R](name, &types.AttributeValueMemberM{Value: item{key: members.Value[key]}}); err != nil {
			return fmt.Errorf("member %.60q: %w", key, err)
		}
	}
	return nil
}

// attribute is the stored form of a field of a record.
type attribute struct {
	name       string
	required   bool         // stored even if the field is zero
	storedType reflect.Type // such as *types.AttributeValueMemberN
	unsigned   bool         // the field is a uint64
}

// attributes caches the attributes of each type of record that was read.
var attributes sync.Map

// attributesOf returns the stored form of R's fields. It panics if a field can't be stored.
func attributesOf[R any]() []attribute {
	record := reflect.TypeFor[R]()
	if known, ok := attributes.Load(record); ok {
		return known.([]attribute)
	}
	var list []attribute
	for _, field := range reflect.VisibleFields(record) {
		name, options, _ := strings.Cut(field.Tag.Get("dynamodbav"), ",")
		if name == "" { // embedded
			continue
		}
		example, err := encoder.Encode(notNil(field.Type))
		if err != nil {
			panic(fmt.Sprintf("record: the field %s of %v can't be stored: %v", field.Name, record, err))
		}
		list = append(list, attribute{name, !strings.Contains(options, "omitempty"), reflect.TypeOf(example), field.Type.Kind() == reflect.Uint64})
	}
	attributes.Store(record, list)
	return list
}

// notNil returns the zero value of a field's type. For a map or a slice it returns an empty one, since nil is stored as NULL.
func notNil(field reflect.Type) any {
	switch field.Kind() {
	case reflect.Map:
		return reflect.MakeMap(field).Interface()
	case reflect.Slice:
		return reflect.MakeSlice(field, 0, 0).Interface()
	}
	return reflect.Zero(field).Interface()
}
