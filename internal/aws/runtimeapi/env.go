package runtimeapi

import "github.com/hotshard/hotshard/internal/base/schema"

// Env returns the environment of hotshard's functions for the tables at a DynamoDB-compatible endpoint (a URL) and
// another endpoint for metrics. The access key selects the database on an engine that has one for each key.
func Env(endpoint, accessKey, metrics string, names schema.Names) []string {
	return []string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + endpoint,
		"AWS_ENDPOINT_URL_CLOUDWATCH=" + metrics,
		"AWS_ACCESS_KEY_ID=" + accessKey,
		"AWS_SECRET_ACCESS_KEY=local",
		"HOTSHARD_ITEMS_TABLE=" + names.Items,
		"HOTSHARD_EVENTS_TABLE=" + names.Events,
		"HOTSHARD_ROLLUPS_TABLE=" + names.Rollups,
		"HOTSHARD_SHARD_MAP_TABLE=" + names.ShardMap,
		"HOTSHARD_HEAT_TABLE=" + names.Heat,
	}
}
