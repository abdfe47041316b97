package observe

import (
	"fmt"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// CheckArguments returns ErrMisused if the client or the map is nil, or a name is empty.
func CheckArguments(client any, shards *shardmap.Map, names ...string) error {
	if err := dynamo.CheckClient(client); err != nil {
		return err
	}
	return CheckMap(shards, names...)
}

// CheckMap returns ErrMisused if the map is nil, or a name is empty.
func CheckMap(shards *shardmap.Map, names ...string) error {
	if shards == nil {
		return fmt.Errorf("%w: the shard map is nil: pass the result of shardmap.New", shard.ErrMisused)
	}
	return CheckNames(names...)
}

// CheckNames returns ErrMisused if a name is empty.
func CheckNames(names ...string) error {
	for i, name := range names {
		if name == "" {
			return fmt.Errorf("%w: name %d of %d is empty: pass at least one character", shard.ErrMisused, i+1, len(names))
		}
	}
	return nil
}
