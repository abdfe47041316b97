// Package given checks the arguments of the library's calls, so that an error names what is
// missing:
//
//	err := given.Check(c.client, c.shards, name)
package given

import (
	"fmt"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// Check returns ErrMisused if the client or the map is nil, or a name is empty.
func Check(client any, shards *shardmap.Map, names ...string) error {
	if err := dynamo.CheckClient(client); err != nil {
		return err
	}
	return Map(shards, names...)
}

// Map returns ErrMisused if the map is nil, or a name is empty.
func Map(shards *shardmap.Map, names ...string) error {
	if shards == nil {
		return fmt.Errorf("%w: the shard map is nil", shard.ErrMisused)
	}
	return Names(names...)
}

// Names returns ErrMisused if a name is empty.
func Names(names ...string) error {
	for i, name := range names {
		if name == "" {
			return fmt.Errorf("%w: name %d of %d is empty", shard.ErrMisused, i+1, len(names))
		}
	}
	return nil
}
