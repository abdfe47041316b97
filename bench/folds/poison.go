package folds

import (
	"context"
	"fmt"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/bench/rig"
	"github.com/hotshard/hotshard/internal/schema"
)

// poison is an item whose record can't be folded.
type poison struct {
	key    item
	target string   // that has to be in the failure destination
	event  identity // zero for a counter's
}

// putPoison puts an item that looks like a counter's or an event's and can't be
// folded, among those of the same target that can.
func (r *system) putPoison(ctx context.Context) error {
	if len(r.poison) >= maxPoison {
		return nil
	}
	p, wrong := r.poisonCounter()
	if r.dice.intN(2) == 0 && r.o.Events > 0 {
		p, wrong = r.poisonEvent()
	}
	for name, value := range p.key {
		wrong[name] = value
	}
	whole := context.WithoutCancel(ctx) // one that is cut off may be there, uncounted
	if _, err := r.DB.PutItem(whole, &dynamodb.PutItemInput{TableName: &r.Names.Items, Item: wrong}); err != nil {
		return fmt.Errorf("putting a poison record: %w", err)
	}
	r.poison = append(r.poison, p)
	r.dice.count(poisoned)
	return nil
}

// beyondCount is a write shard that no counter comes to, in the second partial.
const beyondCount = maxCount + 10

// poisonCounter makes a write shard without a value.
func (r *system) poisonCounter() (poison, item) {
	name, n := r.counter(r.dice.intN(min(20, r.o.Counters))), beyondCount+len(r.poison)
	pk := schema.Key{Base: schema.BaseKey{Type: schema.Counter, Name: name}, Shard: n}.String()
	p := poison{key: rig.Key(pk, schema.SoleSK), target: schema.SummaryKey(name, n)}
	return p, item{"rev": &types.AttributeValueMemberN{Value: "1"}}
}

// poisonEvent makes an event whose data is no map.
func (r *system) poisonEvent() (poison, item) {
	entity := entityName(r.dice.intN(min(6, r.o.Entities)))
	at := r.began.UTC().Add(-time.Duration(r.dice.intN(int(time.Hour)))).Truncate(time.Millisecond)
	pk := schema.Key{Base: schema.BaseKey{Type: schema.Entity, Name: entity}, Bucket: at.Format(dayLayout)}.String()
	sk := schema.EventSortKey(at, fmt.Sprint("poison", len(r.poison)))
	id := identity{entity, sk}
	return poison{rig.Key(pk, sk), "E#" + id.bucket().String(), id}, item{"data": &types.AttributeValueMemberS{Value: "poison"}}
}

// comparePoison wants the targets of all poison in the failure destination, and no
// others but those of mended poison: its records may have come again after the
// replay. The caller holds the books' lock.
func (r *system) comparePoison(failures map[string]bool) {
	missing, known := map[string]bool{}, map[string]bool{}
	for _, p := range r.poison {
		missing[p.target], known[p.target] = true, true
	}
	for _, p := range r.mended {
		known[p.target] = true
	}
	for target := range failures {
		delete(missing, target)
		if !known[target] {
			r.books.differ("target %s is in the failure destination and had no poison", target)
		}
	}
	for target := range missing {
		r.books.differ("target %s had poison and is not in the failure destination", target)
	}
}
