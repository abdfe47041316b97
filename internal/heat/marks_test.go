package heat_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/hotshard/hotshard/internal/heat"
)

// TestMarksAreBounded: what doesn't fit is left out, sightings with their number.
func TestMarksAreBounded(t *testing.T) {
	item := heat.Item{Start: noon, Window: time.Second, Limit: 1000}
	shards := make([]int, 900)
	for i := range shards {
		shards[i] = i
	}
	for i := range 1000 {
		name := fmt.Sprintf("C#%0*d", 500, i)
		item.Sightings = append(item.Sightings, heat.Sighting{Base: name, Throttled: uint64(i)})
		item.Beats = append(item.Beats, heat.Beat{Name: name, At: noon, Shards: shards})
	}
	attributes := item.Attributes(noon)
	got, err := heat.Parse(attributes)
	if err != nil || len(got.Sightings) < 100 || uint64(len(got.Sightings))+got.Hidden != 1000 || got.Sightings[0].Throttled != 999 || len(got.Beats) < 50 {
		t.Errorf("%v, %d sightings, %d hidden, %d beats", err, len(got.Sightings), got.Hidden, len(got.Beats))
	}
	if size := len(attributes["marks"].(*types.AttributeValueMemberB).Value); size > 160_100 {
		t.Errorf("the marks take %d B", size)
	}
}

func TestSaturatedFirst(t *testing.T) {
	item := heat.Item{Start: noon, Window: time.Second, Limit: 1000, HotRate: 700}
	for i := range heat.MaxKeys + 5 {
		item.Keys = append(item.Keys, heat.Key{Key: fmt.Sprintf("C#%d#0", i), Units: 1000, PeakAt: noon})
	}
	item.Keys = append(item.Keys, heat.Key{Key: "C#refused#0", Units: 0, PeakAt: noon, Status: heat.Saturated})
	got, err := heat.Parse(item.Attributes(noon))
	if err != nil || len(got.Keys) != heat.MaxKeys || got.Keys[0].Key != "C#refused#0" {
		t.Fatalf("%v, first of %d is %+v", err, len(got.Keys), got.Keys[0])
	}
	if rows := heat.Merge([]heat.Item{got}); rows[0].Key != "C#refused#0" || rows[0].Status.String() != "saturated" || rows[1].Status != heat.Hot {
		t.Errorf("rows %+v", rows[:2])
	}
}
