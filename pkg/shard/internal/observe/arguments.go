package observe

import (
	"fmt"
	"unicode/utf8"

	"github.com/hotshard/hotshard/internal/base/dynamo"
	"github.com/hotshard/hotshard/pkg/shard"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// CheckArguments returns ErrMisused if the client, the map or its client is nil, or a name is empty.
func CheckArguments(client any, shards *shardmap.Map, names ...string) error {
	if err := dynamo.CheckClient(client); err != nil {
		return err
	}
	return CheckMap(shards, names...)
}

// CheckMap returns ErrMisused if the map or its client is nil, or a name is empty.
func CheckMap(shards *shardmap.Map, names ...string) error {
	if err := shards.Check(); err != nil {
		return err
	}
	return CheckNames(names...)
}

// CheckNames returns ErrMisused if a name is empty, or not UTF-8: the SDK would send other bytes.
func CheckNames(names ...string) error {
	for i, name := range names {
		if name == "" || !utf8.ValidString(name) {
			return fmt.Errorf("%w: name %d of %d is %q: pass at least one character, and UTF-8", shard.ErrMisused, i+1, len(names), name)
		}
	}
	return nil
}
