package arch

// layers are the repository's layers, the lowest first. A package imports its own layer and
// those below it. Each package belongs to the first layer that has it.
var layers = [][]string{
	{"pkg/shard", "pkg/shard/plan", "pkg/shard/client"},
	{"internal/base/..."},
	{"internal/throttle/..."},
	{"pkg/..."},
	{"internal/httpapi/..."},
	{"internal/ingest", "internal/hotkeys", "internal/fold/...", "internal/rebuild", "internal/query"},
	{"internal/reader"},
	{"internal/aws/..."},
	{"internal/tool/..."},
	{"cmd/...", "functions/...", "examples/..."},
	{"internal/test/..."},
}

// Groups of packages. A pattern is a path in this module or a full import path; /... at its end
// includes the packages below; std is the standard library.
var (
	kinds   = []string{"pkg/shard/table", "pkg/shard/counters", "pkg/shard/events", "pkg/shard/boards", "pkg/shard/sessions", "pkg/shard/limits", "pkg/shard/once", "pkg/shard/spread"}
	domain  = []string{"internal/ingest", "internal/query", "internal/hotkeys", "internal/fold"}
	machine = []string{"internal/aws/...", "internal/tool/..."}
)

const (
	lambdaModule = "github.com/aws/aws-lambda-go/"
	sdk          = "github.com/aws/aws-sdk-go-v2/"
	everything   = "..."
)

// rules restrict imports.
var rules = []rule{
	{
		name: "pkg/shard needs the standard library only",
		of:   []string{"pkg/shard"}, deny: []string{everything}, allow: []string{"std"}, deep: true,
	},
	{
		name: "the kernel knows the library's basics only",
		of:   []string{"internal/base/dynamo"}, deny: []string{"pkg/...", "internal/..."}, allow: []string{"std", "pkg/shard", "pkg/shard/client", "internal/base/schema", "internal/base/decimal"}, deep: true,
	},
	{
		name: "the shard map knows no kind of key",
		of:   []string{"pkg/shard/shardmap"}, deny: kinds, deep: true,
	},
	{
		name: "packages of the library don't import each other",
		of:   kinds, deny: kinds, allow: []string{"pkg/shard/table"}, deep: true,
	},
	{
		name: "only events and counters import tables",
		of:   kinds, but: []string{"pkg/shard/events", "pkg/shard/counters"}, deny: []string{"pkg/shard/table"}, deep: true,
	},
	{
		name: "domain packages don't know each other",
		of:   domain, deny: domain, deep: true,
	},
	{
		name: "deployed functions hold nothing that is for one machine",
		of:   []string{"functions/..."}, deny: machine, deep: true,
	},
	{
		name: "ingest, which starts in storms, has one client, no page to read and no heat",
		of:   []string{"functions/ingest"}, deny: []string{"internal/query", "internal/base/heat/...", "github.com/swaggest/...", sdk + "service/cloudwatch/...", sdk + "service/dynamodbstreams/..."}, deep: true,
	},
	{
		name: "the engine knows nothing of what reads its streams",
		of:   []string{"internal/aws/dynamolocal"}, deny: []string{"internal/aws/..."}, deep: true,
	},
	{
		name: "tests that throttle need the SDK, JSON, retries, caches and nothing else",
		of:   []string{"pkg/throttle"}, deny: []string{"github.com/...", "golang.org/...", "go.uber.org/..."}, deep: true,
		allow: []string{module + "/pkg/throttle", module + "/pkg/shard/...", module + "/pkg/shard", module + "/internal/...", "github.com/aws/...", "github.com/go-json-experiment/json/...", "github.com/cenkalti/backoff/v5", "github.com/maypok86/otter/v2/...", "golang.org/x/sync/errgroup"},
	},
	{
		name: "most test programs have package require, so it is light",
		of:   []string{"internal/test/require"}, deny: []string{everything}, allow: []string{"std"}, deep: true,
	},
	{
		name: "the model of partitions is pure",
		of:   []string{"internal/throttle/partitions"}, deny: []string{everything}, allow: []string{"std"}, deep: true,
	},
	{
		name: "numbers need the standard library only",
		of:   []string{"internal/base/decimal"}, deny: []string{everything}, allow: []string{"std"}, deep: true,
	},
	{
		name: "the decoder and the sketch know DynamoDB's types and nothing more of AWS",
		of:   []string{"internal/base/ddbstream"}, deny: []string{"github.com/aws/..."}, allow: []string{sdk + "service/dynamodb/types", sdk + "aws"},
	},
	{
		name: "what is pure does no input or output",
		of:   []string{"pkg/shard", "internal/throttle/partitions"}, deny: []string{"net/...", "os/exec", "database/..."}, deep: true,
	},
	{
		name: "heat reads DynamoDB and knows nothing more of AWS",
		of:   []string{"internal/base/heat"}, deny: []string{"github.com/aws/...", "net/http"}, allow: []string{sdk + "service/dynamodb", sdk + "service/dynamodb/types", sdk + "aws"},
	},
	{
		name: "the console knows the API by its answers only",
		of:   []string{"internal/tool/console"}, deny: []string{everything}, allow: []string{"std", "internal/base/display"}, deep: true,
	},
	{
		name: "Lambda's event types stay in handler files",
		of:   []string{everything}, but: []string{"internal/httpapi", "examples/streamfunction"}, deny: []string{lambdaModule + "events"},
	},
	{
		name: "only internal/base/function starts Lambda",
		of:   []string{everything}, but: []string{"internal/base/function", "examples/streamfunction"}, deny: []string{lambdaModule + "lambda"},
	},
	{
		name: "the core has no CDK",
		of:   []string{everything}, deny: []string{"github.com/aws/aws-cdk-go/...", "github.com/aws/constructs-go/...", "github.com/aws/jsii-runtime-go/..."}, deep: true,
	},
	{
		name: "test helpers are for tests",
		of:   []string{everything}, but: []string{"internal/test/..."}, deny: []string{"testing", "internal/test/..."},
	},
}

// badNames are package names that describe no content.
var badNames = []string{"util", "utils", "common", "helper", "helpers", "types", "model", "models", "misc", "shared"}
