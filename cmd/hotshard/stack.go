package main

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/heat/windows"
	"github.com/hotshard/hotshard/internal/schema"
	"github.com/hotshard/hotshard/pkg/shard/shardmap"
)

// heatLag is how long after its end a window's heat items have come, as a rule.
const heatLag = 10 * time.Second

// openStack finds what a deployment has counted.
func (h *heatFrom) openStack(c aws.Config) (*watched, error) {
	client := dynamodb.NewFromConfig(c, func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = h.Endpoint != "" })
	names := schema.NamesFor(h.TablesPrefix)
	reader := windows.Reader{Client: client, Table: names.Heat}
	return &watched{
		source: reader, settled: func() time.Time { return time.Now().Add(-heatLag) },
		shards: shardmap.New(client, names.ShardMap, shardmap.Options{}), notices: &notices{tell: func(string) {}},
		name: h.TablesPrefix + "*", where: h.where(c),
	}, nil
}
