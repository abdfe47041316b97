package parts

import (
	"errors"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/base/schema"
	"github.com/hotshard/hotshard/pkg/shard/boards"
)

// StoredTop returns the top in its item, or an error if the item is damaged.
func StoredTop(item map[string]types.AttributeValue) (*Top, error) {
	if err := checkVersion(item); err != nil {
		return nil, err
	}
	places, _ := item[schema.TopPlaces].(*types.AttributeValueMemberB)
	whole, _ := item[schema.TopWhole].(*types.AttributeValueMemberBOOL)
	if places == nil || whole == nil {
		return nil, errors.New("it lacks the binary places or the boolean whole")
	}
	return ParseTop(places.Value, whole.Value)
}

// Attributes returns a fragment of the histogram as it is stored, without its keys, its sequence number and its times.
func (h Histogram) Attributes() map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		schema.Version:        &types.AttributeValueMemberN{Value: schema.BoardVersion},
		schema.HistogramCells: &types.AttributeValueMemberB{Value: h.Bytes()},
	}
}

// StoredHistogram returns a stream shard's fragment of a histogram in its item, or an error if the item is damaged.
func StoredHistogram(item map[string]types.AttributeValue) (Histogram, error) {
	if err := checkVersion(item); err != nil {
		return Histogram{}, err
	}
	cells, _ := item[schema.HistogramCells].(*types.AttributeValueMemberB)
	if cells == nil {
		return Histogram{}, errors.New("it lacks the binary cells")
	}
	return parseHistogram(cells.Value)
}

func checkVersion(item map[string]types.AttributeValue) error {
	v, _ := item[schema.Version].(*types.AttributeValueMemberN)
	if v == nil || v.Value != schema.BoardVersion {
		return fmt.Errorf("its version is not %s: run the release that wrote it, or a newer one", schema.BoardVersion)
	}
	return nil
}

// Places returns the places of the top's entries by rank.
func (t *Top) Places() []boards.Place {
	list := make([]boards.Place, len(t.entries))
	for i, e := range t.entries {
		list[i] = e.Place
	}
	return list
}

// Neighbours returns how many other players are ahead of a place, and up to n places above it and n below it, by rank.
// ok is false if the top may lack some of these places.
func (t *Top) Neighbours(place boards.Place, n int) (ahead int, above, below []boards.Place, ok bool) {
	for _, e := range t.entries {
		switch {
		case e.Player == place.Player:
		case ComparePlaces(e.Place, place) < 0:
			above = append(above, e.Place)
		case len(below) < n:
			below = append(below, e.Place)
		}
	}
	hasAllBelow := t.whole || len(below) == n
	return len(above), above[max(0, len(above)-n):], below, t.Covers(place) && hasAllBelow
}
