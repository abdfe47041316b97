package schema

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// checkTable returns an error if the keys, the indexes or the stream of an existing table differ from the schema.
func checkTable(have *types.TableDescription, want Table) error {
	in := CreateInput(want)
	haveTypes, wantTypes := attributeTypes(have.AttributeDefinitions), attributeTypes(in.AttributeDefinitions)
	if got, expected := describeKeys(have.KeySchema, haveTypes), describeKeys(in.KeySchema, wantTypes); got != expected {
		return fmt.Errorf("it exists with the key %s instead of %s: use another table name", got, expected)
	}
	for _, index := range in.GlobalSecondaryIndexes {
		i := slices.IndexFunc(have.GlobalSecondaryIndexes, func(d types.GlobalSecondaryIndexDescription) bool {
			return aws.ToString(d.IndexName) == *index.IndexName
		})
		if i < 0 {
			return fmt.Errorf("it exists without the index %s: add it, or use another table name", *index.IndexName)
		}
		found := have.GlobalSecondaryIndexes[i]
		if found.IndexStatus == types.IndexStatusCreating || found.IndexStatus == types.IndexStatusDeleting {
			return fmt.Errorf("its index %s is %s: try again when that is done", *index.IndexName, found.IndexStatus)
		}
		got := describeKeys(found.KeySchema, haveTypes)
		if expected := describeKeys(index.KeySchema, wantTypes); got != expected {
			return fmt.Errorf("its index %s has the key %s instead of %s: delete the index and create it with this key, or use another table name", *index.IndexName, got, expected)
		}
	}
	return checkStream(have.StreamSpecification, want.Stream)
}

func checkStream(have *types.StreamSpecification, wantStream bool) error {
	if !wantStream {
		return nil
	}
	if have == nil || !aws.ToBool(have.StreamEnabled) {
		return errors.New("it exists without a stream: enable one with the view type NEW_AND_OLD_IMAGES")
	}
	if have.StreamViewType != types.StreamViewTypeNewAndOldImages {
		return fmt.Errorf("its stream holds %s instead of %s: disable it, and enable one with this view type", have.StreamViewType, types.StreamViewTypeNewAndOldImages)
	}
	return nil
}

// attributeTypes returns the types of attributes, such as S, by name.
func attributeTypes(definitions []types.AttributeDefinition) map[string]string {
	typesByName := make(map[string]string, len(definitions))
	for _, d := range definitions {
		typesByName[aws.ToString(d.AttributeName)] = string(d.AttributeType)
	}
	return typesByName
}

// describeKeys returns a key's text, such as "pk S, sk S". typesByName has the attributes' types.
func describeKeys(keys []types.KeySchemaElement, typesByName map[string]string) string {
	var parts []string
	for _, keyType := range []types.KeyType{types.KeyTypeHash, types.KeyTypeRange} {
		for _, k := range keys {
			if k.KeyType == keyType {
				name := aws.ToString(k.AttributeName)
				parts = append(parts, name+" "+typesByName[name])
			}
		}
	}
	return strings.Join(parts, ", ")
}
