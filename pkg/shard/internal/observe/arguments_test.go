package observe_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/observe"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// TestMissingArguments checks which arguments each function rejects.
func TestMissingArguments(t *testing.T) {
	client, shards := &libtest.Scripted{}, libtest.EmptyMap()
	var noClient *dynamodb.Client
	var noMap *shardmap.Map
	for name, c := range map[string]struct {
		err     error
		misused bool
	}{
		"all given":       {observe.CheckArguments(client, shards, "a", "b"), false},
		"no names":        {observe.CheckArguments(client, shards), false},
		"no client":       {observe.CheckArguments(nil, shards, "a"), true},
		"a nil client":    {observe.CheckArguments(noClient, shards, "a"), true},
		"no map":          {observe.CheckArguments(client, noMap, "a"), true},
		"the first name":  {observe.CheckArguments(client, shards, "", "b"), true},
		"the last name":   {observe.CheckArguments(client, shards, "a", ""), true},
		"a map":           {observe.CheckMap(shards, "a"), false},
		"a map's name":    {observe.CheckMap(shards, ""), true},
		"a nil map":       {observe.CheckMap(nil, "a"), true},
		"names":           {observe.CheckNames("a", "b"), false},
		"an empty name":   {observe.CheckNames("a", "", "b"), true},
		"no UTF-8":        {observe.CheckNames("a", "b\xff"), true},
		"no names at all": {observe.CheckNames(), false},
	} {
		if errors.Is(c.err, shard.ErrMisused) != c.misused || c.misused != (c.err != nil) {
			t.Errorf("%s: error %v, want ErrMisused: %t", name, c.err, c.misused)
		}
	}
}
