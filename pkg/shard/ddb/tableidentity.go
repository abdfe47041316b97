package ddb

import (
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// identity is what tells an item from others with its name and sort key: attributes
// with their values. It is empty where the sort key does that alone.
type identity Item

// identity returns the item's or key's own.
func (t *Table) identity(it Item) identity {
	if by := t.Layout.tells(t); by != "" {
		return identity{by: it[by]}
	}
	return nil
}

// tells is what Layout.tells returns for an item's write shard calculated by an attribute.
func (t *Table) tells(by string) string {
	if by == t.SortKey {
		return ""
	}
	return by
}

// byFault is what is wrong with the attribute that write shards are calculated from.
func (t *Table) byFault(by string) error {
	if by == t.PartitionKey {
		return fmt.Errorf("attribute %s (By) is the partition key: all items of a name would be on one write shard", by)
	}
	return nil
}

// apart orders items with equal sort keys, and is the same for the same item: the
// value of the attribute that tells them apart, "" without one.
func apart(it Item, by string) string {
	text, ok := attribute(it, by)
	if !ok {
		return ""
	}
	if _, number := it[by].(*types.AttributeValueMemberN); number {
		return "N:" + text
	}
	return "S:" + text
}

// matches tells whether an item that was read is the one.
func (id identity) matches(it Item) bool {
	if it == nil {
		return false
	}
	for by := range id {
		if apart(it, by) != apart(Item(id), by) {
			return false
		}
	}
	return true
}

// guard is a condition of a write, with its names and values; all are nil for none.
type guard struct {
	condition *string
	names     map[string]string
	values    Item
}

// there is the condition that the item is at the place that is written to.
func (id identity) there(partitionKey string) guard {
	g := guard{names: map[string]string{"#hotshard": partitionKey}}
	terms := []string{"attribute_exists(#hotshard)"}
	for i, by := range slices.Sorted(maps.Keys(id)) {
		name, value := "#hotshard"+strconv.Itoa(i), ":hotshard"+strconv.Itoa(i)
		terms = append(terms, name+" = "+value)
		g.names[name] = by
		if g.values == nil {
			g.values = Item{}
		}
		g.values[value] = id[by]
	}
	condition := strings.Join(terms, " AND ")
	g.condition = &condition
	return g
}

// absent is the condition that the item is not there: nothing is, or another item.
func (id identity) absent(partitionKey string) guard {
	g := id.there(partitionKey)
	condition := "NOT (" + *g.condition + ")"
	g.condition = &condition
	return g
}

// free is the condition that no other item is there: none for items that their sort
// keys tell apart.
func (id identity) free(partitionKey string) guard {
	if len(id) == 0 {
		return guard{}
	}
	g := id.there(partitionKey)
	condition := "attribute_not_exists(#hotshard) OR (" + *g.condition + ")"
	g.condition = &condition
	return g
}

// and adds a caller's condition, names and values.
func (g guard) and(condition *string, names map[string]string, values Item) guard {
	both := guard{g.condition, merged(g.names, names), merged(g.values, values)}
	switch {
	case g.condition == nil:
		both.condition = condition
	case condition != nil:
		joined := "(" + *g.condition + ") AND (" + *condition + ")"
		both.condition = &joined
	}
	return both
}

func merged[V any](a, b map[string]V) map[string]V {
	if len(a)+len(b) == 0 {
		return nil
	}
	all := maps.Clone(a)
	if all == nil {
		all = map[string]V{}
	}
	maps.Copy(all, b)
	return all
}

// taken is the error of a write whose place another item has.
func (id identity) taken() error {
	return fmt.Errorf("%w: another item with its sort key, and another %s, is on its write shard: let sort keys end in the %[2]s, as Stamp.Key makes them",
		ErrMisused, strings.Join(slices.Sorted(maps.Keys(id)), ", "))
}

// word is a name, a placeholder or a keyword of an expression.
var word = regexp.MustCompile(`[#:.]?[A-Za-z0-9_]+`)

// named returns an update's expression with which an item that it makes has the
// attributes that tell it apart, unless the expression sees to that itself.
func (id identity) named(in *dynamodb.UpdateItemInput) string {
	expression := aws.ToString(in.UpdateExpression)
	set := -1 // behind the keyword
	var own []string
	for _, at := range word.FindAllStringIndex(expression, -1) {
		w := expression[at[0]:at[1]]
		if strings.EqualFold(w, "SET") {
			set = at[1]
		}
		if name, ok := in.ExpressionAttributeNames[w]; ok {
			w = name
		}
		own = append(own, w)
	}
	var terms []string
	for i, by := range slices.Sorted(maps.Keys(id)) {
		if !slices.Contains(own, by) {
			terms = append(terms, fmt.Sprintf("#hotshard%d = :hotshard%[1]d", i))
		}
	}
	switch list := strings.Join(terms, ", "); {
	case list == "":
		return expression
	case set < 0:
		return strings.TrimSpace("SET " + list + " " + expression)
	default:
		return expression[:set] + " " + list + "," + expression[set:]
	}
}

// conditional is a failed condition of a write of one item.
func conditional(err error) (*types.ConditionalCheckFailedException, bool) {
	return errors.AsType[*types.ConditionalCheckFailedException](err)
}
