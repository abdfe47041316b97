package config

import "time"

// Stack are the settings of the stack itself. Each field's tag has its key and default, and
// what is allowed where that is one of some texts (oneOf) or a span of numbers (between).
type Stack struct {
	// Prefix begins the names of the stack and of all that has a name, so that several
	// deployments can share an account: a letter, then letters, digits and hyphens, a
	// hyphen at its end, up to 32 characters.
	Prefix string `env:"prefix" envDefault:"hotshard-"`
	// Tags are given to the stack and to all that it has: key=value, comma-separated, up to 40.
	Tags []string `env:"tags"`
	// TerminationProtection has CloudFormation refuse to delete the stack.
	TerminationProtection bool `env:"terminationProtection" envDefault:"true"`
	// Email gets the alarms, once its owner confirmed; "" is nobody.
	Email string `env:"email"`

	// Auth says who may call the API: iam (requests signed with AWS credentials that
	// are granted execute-api:Invoke) or jwt (tokens of JWTIssuer for one of
	// JWTAudience, comma-separated).
	Auth        string   `env:"auth" envDefault:"iam" oneOf:"iam or jwt"`
	JWTIssuer   string   `env:"jwtIssuer"`
	JWTAudience []string `env:"jwtAudience"`
	// JWTScopes and JWTAdminScopes are lists, comma-separated, of one of which a token must
	// have: JWTScopes for calls of data, where none is any token, and JWTAdminScopes for
	// operators' calls, where none is signed requests in the place of tokens.
	JWTScopes      []string `env:"jwtScopes"`
	JWTAdminScopes []string `env:"jwtAdminScopes"`
	// CORSOrigins are the origins, comma-separated, whose pages may call the API from a
	// browser, such as https://app.example.com; none is no page.
	CORSOrigins []string `env:"corsOrigins"`
	// APIRate and APIBurst bound the API's requests: so many a second, and at once.
	// 1 to 100,000. An account's own limits are 10,000 and 5,000 unless raised.
	APIRate  int `env:"apiRate" envDefault:"5000" between:"1 to 100000"`
	APIBurst int `env:"apiBurst" envDefault:"2500" between:"1 to 100000"`

	// Removal says what destroying the stack does to the tables and failed records:
	// retain or destroy. With DeletionProtection nothing deletes a table.
	Removal            string `env:"removal" envDefault:"retain" oneOf:"retain or destroy"`
	DeletionProtection bool   `env:"deletionProtection" envDefault:"true"`
	// PITR keeps PITRDays, 1 to 35, of every table to be restored from.
	PITR     bool `env:"pitr" envDefault:"true"`
	PITRDays int  `env:"pitrDays" envDefault:"35" between:"1 to 35"`
	// Encryption of the tables at rest is by a key of DynamoDB's (dynamodb), without
	// charge, or by the account's key for DynamoDB, aws/dynamodb (account).
	Encryption string `env:"encryption" envDefault:"dynamodb" oneOf:"dynamodb or account"`
	// ContributorInsights has CloudWatch list the keys of all tables that are throttled most,
	// which it bills by what is throttled.
	ContributorInsights bool `env:"contributorInsights" envDefault:"false"`
	// Billing of the items table, with its index, and of rollups: ondemand pays for what
	// is used, provisioned for capacity that follows the load, between Min... and Max...
	// units, within minutes. Other tables are on demand.
	Billing string `env:"billing" envDefault:"ondemand" oneOf:"ondemand or provisioned"`
	// MaxReadUnits and MaxWriteUnits bound what the items table, and its index, take a
	// second, and so the bill; 0 is no bound. WarmReadUnits and WarmWriteUnits are what
	// it is to take from the first second on; 0 leaves that to DynamoDB, else at least
	// its own least, 12,000 and 4,000. MinReadUnits and MinWriteUnits are for provisioned
	// billing, which wants both bounds, 1 or more.
	MinReadUnits   int `env:"minReadUnits" envDefault:"0"`
	MinWriteUnits  int `env:"minWriteUnits" envDefault:"0"`
	MaxReadUnits   int `env:"maxReadUnits" envDefault:"0"`
	MaxWriteUnits  int `env:"maxWriteUnits" envDefault:"0"`
	WarmReadUnits  int `env:"warmReadUnits" envDefault:"0"`
	WarmWriteUnits int `env:"warmWriteUnits" envDefault:"0"`
	// The same of the rollups table.
	MinRollupsReadUnits   int `env:"minRollupsReadUnits" envDefault:"0"`
	MinRollupsWriteUnits  int `env:"minRollupsWriteUnits" envDefault:"0"`
	MaxRollupsReadUnits   int `env:"maxRollupsReadUnits" envDefault:"0"`
	MaxRollupsWriteUnits  int `env:"maxRollupsWriteUnits" envDefault:"0"`
	WarmRollupsReadUnits  int `env:"warmRollupsReadUnits" envDefault:"0"`
	WarmRollupsWriteUnits int `env:"warmRollupsWriteUnits" envDefault:"0"`

	// Concurrency of each function that is kept for it and bounds it, 1 to 10,000; 0 is
	// none of its own. hotkeys and aggregator need one for each stream shard, and some
	// for schedules. They have some by default, so that requests in a storm can't use up
	// what the detector and the folds run on.
	IngestConcurrency     int `env:"ingestConcurrency" envDefault:"0" between:"0 to 10000"`
	QueryConcurrency      int `env:"queryConcurrency" envDefault:"0" between:"0 to 10000"`
	HotkeysConcurrency    int `env:"hotkeysConcurrency" envDefault:"100" between:"0 to 10000"`
	AggregatorConcurrency int `env:"aggregatorConcurrency" envDefault:"100" between:"0 to 10000"`
	// AccountConcurrency is the account's quota for "Concurrent executions" of Lambda in
	// the Region; at least 10, which new accounts have. An alarm goes off at 80 % of it.
	AccountConcurrency int `env:"accountConcurrency" envDefault:"1000" between:"10 to 1000000"`

	// Memory of each function in MB, 128 to 10,240, and with it a share of a CPU, a whole
	// one at 1,769. Of it 90 % are for Go's heap (GOMEMLIMIT). From
	// https://docs.aws.amazon.com/lambda/latest/dg/configuration-memory.html
	IngestMemory     int `env:"ingestMemory" envDefault:"1024" between:"128 to 10240"`
	QueryMemory      int `env:"queryMemory" envDefault:"1024" between:"128 to 10240"`
	HotkeysMemory    int `env:"hotkeysMemory" envDefault:"1024" between:"128 to 10240"`
	AggregatorMemory int `env:"aggregatorMemory" envDefault:"1769" between:"128 to 10240"`

	// Canary is how a new release of the HTTP functions takes over calls: off, at once;
	// 10percent5minutes (also 10, 15, 30), a tenth of them first, and all after as many
	// minutes; or linear1minute (also 2minutes, 3minutes, 10minutes), a tenth more each
	// time. Alarms on errors turn it back.
	Canary string `env:"canary" envDefault:"off"`

	// BatchSize is how many records a delivery of the stream has at most, 1 to 10,000;
	// BatchingWindow how long it waits for them, whole seconds up to 5m and up to the
	// detector's window. An accepted write is in its summary within two of them.
	BatchSize      int           `env:"batchSize" envDefault:"1000" between:"1 to 10000"`
	BatchingWindow time.Duration `env:"batchingWindow" envDefault:"1s"`
	// Retries and RecordAge bound how often and how long a delivery that fails is
	// repeated; then its records go to the failure bucket. 0 to 10,000; whole seconds,
	// 1m to 23h: a stream keeps records for a day, and what expires there goes nowhere
	// and is counted nowhere. Of hotkeys an hour at most, since older ones are no
	// evidence. Retries come within seconds of each other, so that by default the age
	// alone counts.
	Retries   int           `env:"retries" envDefault:"10000" between:"0 to 10000"`
	RecordAge time.Duration `env:"recordAge" envDefault:"20h"`
	// Parallelization of a stream shard's deliveries. Only 1: both functions count in
	// tumbling windows, which Lambda does not give to parallel deliveries.
	Parallelization int `env:"parallelization" envDefault:"1"`

	// LogRetention and FailureRetention are days that logs and failed records are kept;
	// of logs one of CloudWatch's numbers, of records 1 to 3,650.
	LogRetention     int `env:"logRetention" envDefault:"30"`
	FailureRetention int `env:"failureRetention" envDefault:"30" between:"1 to 3650"`

	// AccessLog is whether the API logs each call: all or off. Tracing is whether X-Ray
	// traces functions: one call a second and 5 % of the others, which can't be set.
	AccessLog string `env:"accessLog" envDefault:"all" oneOf:"all or off"`
	Tracing   bool   `env:"tracing" envDefault:"false"`

	// Thresholds of alarms: the age of stream records (1m to RecordAge), the slowest of a
	// hundred API calls (100ms to 30s), and changes of shard counts in five minutes
	// (at least 1).
	MaxIteratorAge  time.Duration `env:"maxIteratorAge" envDefault:"2m"`
	MaxLatency      time.Duration `env:"maxLatency" envDefault:"2s"`
	MaxShardChanges int           `env:"maxShardChanges" envDefault:"50"`
	// Runbook is the page that alarms link to, with a section for each.
	Runbook string `env:"runbook" envDefault:"https://github.com/hotshard/hotshard/blob/main/docs/runbook.md"`

	// SourceTable and SourceStreamARN attach the detector, and nothing else, to a table
	// that is already there; Prefix must be given then. SourceKeyARN is the key that the
	// table is encrypted with, if that is a customer managed one.
	SourceTable     string `env:"sourceTable"`
	SourceStreamARN string `env:"sourceStreamArn"`
	SourceKeyARN    string `env:"sourceKeyArn"`
}
