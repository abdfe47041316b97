package runtimeapi

import "github.com/hotshard/hotshard/internal/schema"

// Env is the environment of hotshard's functions when they work on the tables of
// a DynamoDB-compatible endpoint (a URL) and send their metrics to another. The
// access key id tells databases apart on an engine that has one for each.
func Env(endpoint, accessKey, metrics string, names schema.Names) []string {
	return []string{
		"AWS_ENDPOINT_URL_DYNAMODB=" + endpoint,
		"AWS_ENDPOINT_URL_CLOUDWATCH=" + metrics,
		"AWS_ACCESS_KEY_ID=" + accessKey,
		"AWS_SECRET_ACCESS_KEY=local",
		"HOTSHARD_ITEMS_TABLE=" + names.Items,
		"HOTSHARD_ROLLUPS_TABLE=" + names.Rollups,
		"HOTSHARD_SHARD_MAP_TABLE=" + names.ShardMap,
		"HOTSHARD_HEAT_TABLE=" + names.Heat,
	}
}
