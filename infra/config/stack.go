package config

import "time"

// Stack holds the settings of the stack itself. The tag of a field has its key, its default and its allowed texts
// (oneOf) or numbers (between).
type Stack struct {
	// Prefix begins the names of the stack and its resources, so that several deployments can share an account. It is a
	// letter, then letters, digits and hyphens, with a hyphen at the end, up to 32 characters.
	Prefix string `env:"prefix" envDefault:"hotshard-"`
	// Tags are added to the stack and its resources: key=value, comma-separated, up to 40.
	Tags []string `env:"tags"`
	// Email gets the alarms after its owner has confirmed; "" for none.
	Email string `env:"email"`

	// Auth is the authorization of the API: iam (requests signed with AWS credentials that are granted
	// execute-api:Invoke) or jwt (tokens of JWTIssuer for one of JWTAudience, comma-separated).
	Auth        string   `env:"auth" envDefault:"iam" oneOf:"iam or jwt"`
	JWTIssuer   string   `env:"jwtIssuer"`
	JWTAudience []string `env:"jwtAudience"`
	// JWTScopes and JWTAdminScopes are comma-separated lists; a token must have one of them. Without JWTScopes any
	// token can call data. Without JWTAdminScopes operators' calls must be signed.
	JWTScopes      []string `env:"jwtScopes"`
	JWTAdminScopes []string `env:"jwtAdminScopes"`
	// CORSOrigins are the comma-separated origins whose pages may call the API from a browser, such as
	// https://app.example.com; none for no page.
	CORSOrigins []string `env:"corsOrigins"`
	// APIRate is the API's throttling limit in requests a second; 2 to 100,000. The burst is half of it. An account's
	// own limits are 10,000 and 5,000 unless raised.
	APIRate int `env:"apiRate" envDefault:"5000" between:"2 to 100000"`

	// Removal is what happens to the tables and failed records when the stack is deleted: retain, with deletion
	// protection of the tables, or destroy.
	Removal string `env:"removal" envDefault:"retain" oneOf:"retain or destroy"`
	// PITR keeps 35 days of every table for point-in-time recovery, except expendable tables.
	PITR bool `env:"pitr" envDefault:"true"`
	// Encryption selects the KMS key of the tables: DynamoDB's own (dynamodb), which is free, or the account's
	// aws/dynamodb (account).
	Encryption string `env:"encryption" envDefault:"dynamodb" oneOf:"dynamodb or account"`
	// Billing of the items table, its indexes, the events table and the rollups table is ondemand, or provisioned with
	// auto scaling. Other tables are on demand.
	Billing string `env:"billing" envDefault:"ondemand" oneOf:"ondemand or provisioned"`
	// PeakReads and PeakWrites are the highest expected load of all callers, in RCU/s and WCU/s. [Config.Units] derives
	// the capacity of tables and indexes. 0 is unknown: then tables on demand have no maximum.
	PeakReads  int `env:"peakReads" envDefault:"0" between:"0 to 10000000"`
	PeakWrites int `env:"peakWrites" envDefault:"0" between:"0 to 10000000"`

	// Readers are the functions that read the streams: two, or one that does the work of both. With one reader, a
	// function of yours can be the second reader of each stream, and RollupWindow has no effect.
	Readers string `env:"readers" envDefault:"two" oneOf:"two or one"`
	// StreamShards is the expected number of open stream shards, one for each partition. `hotshard plan` estimates the
	// number. It determines the batching windows besides RollupWindow, and the detector's Hold.
	StreamShards int `env:"streamShards" envDefault:"4" between:"1 to 1000000"`
	// RollupWindow is how long a delivery of events to the aggregator waits for more events, in whole seconds, 1s to
	// 1m. A longer window makes rollups older and folds fewer.
	RollupWindow time.Duration `env:"rollupWindow" envDefault:"20s"`
	// AccountConcurrency is the account's quota of Lambda's "Concurrent executions" in the Region, less what functions
	// of others reserve; at least 10, which new accounts have. Each function's reservation follows from it.
	AccountConcurrency int `env:"accountConcurrency" envDefault:"1000" between:"10 to 1000000"`

	// SourceStreamARN attaches the detector alone to the table of this stream; Prefix is then required. SourceKeyARN is
	// the table's customer managed key, if it has one.
	SourceStreamARN string `env:"sourceStreamArn"`
	SourceKeyARN    string `env:"sourceKeyArn"`
}
