package given_test

import (
	"errors"
	"testing"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/test/libtest"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/internal/given"
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
		"all given":       {given.Check(client, shards, "a", "b"), false},
		"no names":        {given.Check(client, shards), false},
		"no client":       {given.Check(nil, shards, "a"), true},
		"a nil client":    {given.Check(noClient, shards, "a"), true},
		"no map":          {given.Check(client, noMap, "a"), true},
		"the first name":  {given.Check(client, shards, "", "b"), true},
		"the last name":   {given.Check(client, shards, "a", ""), true},
		"a map":           {given.Map(shards, "a"), false},
		"a map's name":    {given.Map(shards, ""), true},
		"a nil map":       {given.Map(nil, "a"), true},
		"names":           {given.Names("a", "b"), false},
		"an empty name":   {given.Names("a", "", "b"), true},
		"no names at all": {given.Names(), false},
	} {
		if errors.Is(c.err, shard.ErrMisused) != c.misused || c.misused != (c.err != nil) {
			t.Errorf("%s: error %v, want ErrMisused: %t", name, c.err, c.misused)
		}
	}
}
