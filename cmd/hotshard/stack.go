package main

import (
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"github.com/hotshard/hotshard/internal/heat/windows"
	"github.com/hotshard/hotshard/internal/schema"
)

// heatLag is how long after its end a window's heat items have come, as a rule.
const heatLag = 10 * time.Second

// openStack finds what a deployment has counted.
func (h *heatFrom) openStack(c aws.Config) (*watched, error) {
	client := dynamodb.NewFromConfig(c, func(o *dynamodb.Options) { o.DisableValidateResponseChecksum = h.Endpoint != "" })
	reader := windows.Reader{Client: client, Table: schema.NamesFor(h.TablesPrefix).Heat}
	return &watched{
		source: reader, settled: func() time.Time { return time.Now().Add(-heatLag) },
		name: h.TablesPrefix + "*", where: h.where(c),
	}, nil
}
