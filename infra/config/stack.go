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
	// TerminationProtection prevents the deletion of the stack.
	TerminationProtection bool `env:"terminationProtection" envDefault:"true"`
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
	// APIRate and APIBurst are the API's throttling limits: requests per second and burst; 1 to 100,000. An account's
	// own limits are 10,000 and 5,000 unless raised.
	APIRate  int `env:"apiRate" envDefault:"5000" between:"1 to 100000"`
	APIBurst int `env:"apiBurst" envDefault:"2500" between:"1 to 100000"`

	// Removal is what happens to the tables and failed records when the stack is deleted: retain or destroy.
	// DeletionProtection prevents the deletion of tables.
	Removal            string `env:"removal" envDefault:"retain" oneOf:"retain or destroy"`
	DeletionProtection bool   `env:"deletionProtection" envDefault:"true"`
	// PITR keeps PITRDays, 1 to 35, of every table for point-in-time recovery.
	PITR     bool `env:"pitr" envDefault:"true"`
	PITRDays int  `env:"pitrDays" envDefault:"35" between:"1 to 35"`
	// Encryption selects the KMS key of the tables: DynamoDB's own (dynamodb), which is free, or the account's
	// aws/dynamodb (account).
	Encryption string `env:"encryption" envDefault:"dynamodb" oneOf:"dynamodb or account"`
	// ContributorInsights lets CloudWatch list the most throttled keys of all tables, billed by throttled requests.
	ContributorInsights bool `env:"contributorInsights" envDefault:"false"`
	// Billing of the items table, its indexes, the events table and the rollups table: ondemand, or provisioned with auto scaling between
	// Min... and Max... units. Other tables are on demand.
	Billing string `env:"billing" envDefault:"ondemand" oneOf:"ondemand or provisioned"`
	// MaxReadUnits and MaxWriteUnits bound the items table's units per second, and each index's, and so the bill; 0 is
	// no bound. WarmReadUnits and WarmWriteUnits are the warm throughput; 0 leaves it to DynamoDB, else at least 12,000
	// and 4,000. MinReadUnits and MinWriteUnits are for provisioned billing, which needs both bounds, 1 or more.
	MinReadUnits   int `env:"minReadUnits" envDefault:"0"`
	MinWriteUnits  int `env:"minWriteUnits" envDefault:"0"`
	MaxReadUnits   int `env:"maxReadUnits" envDefault:"0"`
	MaxWriteUnits  int `env:"maxWriteUnits" envDefault:"0"`
	WarmReadUnits  int `env:"warmReadUnits" envDefault:"0"`
	WarmWriteUnits int `env:"warmWriteUnits" envDefault:"0"`
	// The same units of each of the items table's indexes, which only boards and sessions write.
	MinIndexReadUnits   int `env:"minIndexReadUnits" envDefault:"1"`
	MinIndexWriteUnits  int `env:"minIndexWriteUnits" envDefault:"1"`
	WarmIndexReadUnits  int `env:"warmIndexReadUnits" envDefault:"0"`
	WarmIndexWriteUnits int `env:"warmIndexWriteUnits" envDefault:"0"`
	// The same units of the events table.
	MinEventsReadUnits   int `env:"minEventsReadUnits" envDefault:"0"`
	MinEventsWriteUnits  int `env:"minEventsWriteUnits" envDefault:"0"`
	MaxEventsReadUnits   int `env:"maxEventsReadUnits" envDefault:"0"`
	MaxEventsWriteUnits  int `env:"maxEventsWriteUnits" envDefault:"0"`
	WarmEventsReadUnits  int `env:"warmEventsReadUnits" envDefault:"0"`
	WarmEventsWriteUnits int `env:"warmEventsWriteUnits" envDefault:"0"`
	// The same units of the rollups table.
	MinRollupsReadUnits   int `env:"minRollupsReadUnits" envDefault:"0"`
	MinRollupsWriteUnits  int `env:"minRollupsWriteUnits" envDefault:"0"`
	MaxRollupsReadUnits   int `env:"maxRollupsReadUnits" envDefault:"0"`
	MaxRollupsWriteUnits  int `env:"maxRollupsWriteUnits" envDefault:"0"`
	WarmRollupsReadUnits  int `env:"warmRollupsReadUnits" envDefault:"0"`
	WarmRollupsWriteUnits int `env:"warmRollupsWriteUnits" envDefault:"0"`

	// StreamShards is the expected number of open stream shards, which `hotshard plan` estimates. It determines
	// BatchingWindow and the detector's Hold.
	StreamShards int `env:"streamShards" envDefault:"4" between:"1 to 1000000"`
	// Reserved concurrency of each function, 1 to 10,000; 0 is none. hotkeys and aggregator need one for each stream
	// shard, and some for schedules. They have a default, so that a storm on the API can't use up their concurrency.
	IngestConcurrency     int `env:"ingestConcurrency" envDefault:"0" between:"0 to 10000"`
	QueryConcurrency      int `env:"queryConcurrency" envDefault:"0" between:"0 to 10000"`
	HotkeysConcurrency    int `env:"hotkeysConcurrency" envDefault:"100" between:"0 to 10000"`
	AggregatorConcurrency int `env:"aggregatorConcurrency" envDefault:"100" between:"0 to 10000"`
	// AccountConcurrency is the account's quota of Lambda's "Concurrent executions" in the Region; at least 10, which
	// new accounts have. An alarm goes off at 80 % of it.
	AccountConcurrency int `env:"accountConcurrency" envDefault:"1000" between:"10 to 1000000"`

	// Memory of each function in MB, 128 to 10,240, which also sets its CPU share: one CPU at 1,769. Go's heap gets 90
	// % of it (GOMEMLIMIT). From
	// https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
	IngestMemory     int `env:"ingestMemory" envDefault:"1024" between:"128 to 10240"`
	QueryMemory      int `env:"queryMemory" envDefault:"1024" between:"128 to 10240"`
	HotkeysMemory    int `env:"hotkeysMemory" envDefault:"1024" between:"128 to 10240"`
	AggregatorMemory int `env:"aggregatorMemory" envDefault:"1769" between:"128 to 10240"`

	// Canary is how calls move to a new release of the HTTP functions: off, all at once; 10percent5minutes (also 10,
	// 15, 30), a tenth first and all after as many minutes; or linear1minute (also 2minutes, 3minutes, 10minutes), a
	// tenth more each time. Alarms on errors roll it back.
	Canary string `env:"canary" envDefault:"off"`

	// BatchSize is the maximum number of records in a delivery of the stream, 1 to 10,000. BatchingWindow is how long a
	// delivery waits for them: whole seconds, up to 5m and up to the detector's window; if it is not set, 1s, or 5s with
	// more than 50 StreamShards. An accepted write is in its summary within twice that time.
	BatchSize      int           `env:"batchSize" envDefault:"1000" between:"1 to 10000"`
	BatchingWindow time.Duration `env:"batchingWindow"`
	// Retries and RecordAge bound how often and how long a failed delivery is retried before its records go to the
	// failure bucket; 0 to 10,000, and whole seconds, 1m to 23h. A stream keeps records for a day; expired records
	// are lost and not counted. For hotkeys the age is at most an hour, since older records are no evidence. Retries
	// follow each other within seconds, so by default only the age matters.
	Retries   int           `env:"retries" envDefault:"10000" between:"0 to 10000"`
	RecordAge time.Duration `env:"recordAge" envDefault:"20h"`

	// LogRetention and FailureRetention are the days that logs and failed records are kept: one of CloudWatch's
	// numbers, and 1 to 3,650.
	LogRetention     int `env:"logRetention" envDefault:"30"`
	FailureRetention int `env:"failureRetention" envDefault:"30" between:"1 to 3650"`

	// AccessLog is whether the API logs each call: all or off. Tracing is whether X-Ray traces functions: one call a
	// second and 5 % of the others, which can't be changed.
	AccessLog string `env:"accessLog" envDefault:"all" oneOf:"all or off"`
	Tracing   bool   `env:"tracing" envDefault:"false"`

	// Thresholds of alarms: the age of stream records (1m to RecordAge), the p99 of API calls (100ms to 30s), and
	// changes of shard counts in five minutes (at least 1).
	MaxIteratorAge  time.Duration `env:"maxIteratorAge" envDefault:"2m"`
	MaxLatency      time.Duration `env:"maxLatency" envDefault:"2s"`
	MaxShardChanges int           `env:"maxShardChanges" envDefault:"50"`
	// Runbook is the page that alarms link to, with a section for each.
	Runbook string `env:"runbook" envDefault:"https://github.com/hotshard/hotshard/blob/main/docs/runbook.md"`

	// SourceTable and SourceStreamARN attach the detector alone to an existing table; Prefix is then required.
	// SourceKeyARN is the table's customer managed key, if it has one.
	SourceTable     string `env:"sourceTable"`
	SourceStreamARN string `env:"sourceStreamArn"`
	SourceKeyARN    string `env:"sourceKeyArn"`
}
