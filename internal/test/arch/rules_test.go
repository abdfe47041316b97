package arch

// layers are the repository's layers, the lowest first. A package imports its own layer and
// those below it. Each package belongs to the first layer that has it.
var layers = [][]string{
	{"pkg/shard", "pkg/shard/plan", "pkg/shard/client"},
	{"internal/base/..."},
	{"internal/throttle/..."},
	{"pkg/..."},
	{"internal/httpapi/..."},
	{"internal/ingest", "internal/hotkeys", "internal/fold/...", "internal/query"},
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
		breach: edge{"pkg/shard", "github.com/oklog/ulid/v2"},
	},
	{
		name: "the kernel knows the library's basics only",
		of:   []string{"internal/base/dynamo"}, deny: []string{"pkg/...", "internal/..."}, allow: []string{"std", "pkg/shard", "pkg/shard/client", "internal/base/kind", "internal/base/schema", "internal/base/decimal"}, deep: true,
		breach: edge{"internal/base/dynamo", "pkg/shard/shardmap"},
	},
	{
		name: "the shard map knows no kind of key",
		of:   []string{"pkg/shard/shardmap"}, deny: kinds, deep: true, breach: edge{"pkg/shard/shardmap", "pkg/shard/table"},
	},
	{
		name: "packages of the library don't import each other",
		of:   kinds, deny: kinds, allow: []string{"pkg/shard/table"}, deep: true, breach: edge{"pkg/shard/limits", "pkg/shard/once"},
	},
	{
		name: "only events and counters import tables",
		of:   kinds, but: []string{"pkg/shard/events", "pkg/shard/counters"}, deny: []string{"pkg/shard/table"}, deep: true,
		breach: edge{"pkg/shard/boards", "pkg/shard/table"},
	},
	{
		name: "domain packages don't know each other",
		of:   domain, deny: domain, deep: true, breach: edge{"internal/ingest", "internal/query"},
	},
	{
		name: "deployed functions hold nothing that is for one machine",
		of:   []string{"functions/..."}, deny: machine, deep: true, breach: edge{"functions/query", "internal/aws/dynamolocal"},
	},
	{
		name: "ingest, which starts in storms, has one client, no page to read and no heat",
		of:   []string{"functions/ingest"}, deny: []string{"internal/httpapi/docs", "internal/base/heat/...", "github.com/swaggest/...", sdk + "service/cloudwatch/...", sdk + "service/dynamodbstreams/..."}, deep: true,
		breach: edge{"functions/ingest", "internal/httpapi/docs"},
	},
	{
		name: "the engine knows nothing of what reads its streams",
		of:   []string{"internal/aws/dynamolocal"}, deny: []string{"internal/aws/..."}, allow: []string{"internal/aws/npm"}, deep: true, breach: edge{"internal/aws/dynamolocal", "internal/aws/eventsource"},
	},
	{
		name: "tests that throttle need the SDK, JSON, retries and nothing else",
		of:   []string{"pkg/throttle"}, deny: []string{"github.com/...", "golang.org/...", "go.uber.org/..."}, deep: true,
		allow:  []string{module + "/pkg/throttle", module + "/pkg/shard/...", module + "/pkg/shard", module + "/internal/...", "github.com/aws/...", "github.com/go-json-experiment/json/...", "github.com/cenkalti/backoff/v5", "golang.org/x/sync/errgroup"},
		breach: edge{"pkg/throttle", "github.com/jedib0t/go-pretty/v6/text"},
	},
	{
		name: "the model of partitions is pure",
		of:   []string{"internal/throttle/partitions"}, deny: []string{everything}, allow: []string{"std"}, deep: true,
		breach: edge{"internal/throttle/partitions", "pkg/throttle"},
	},
	{
		name: "the items of requests know JSON and the item model only",
		of:   []string{"internal/throttle/jsonitem"}, deny: []string{everything},
		allow:  []string{"std", "internal/base/decimal", "internal/base/dynamo", sdk + "service/dynamodb/types", "github.com/go-json-experiment/json/..."},
		breach: edge{"internal/throttle/jsonitem", "pkg/throttle"},
	},
	{
		name: "kinds need the standard library only",
		of:   []string{"internal/base/kind"}, deny: []string{everything}, allow: []string{"std"}, deep: true,
		breach: edge{"internal/base/kind", "internal/base/schema"},
	},
	{
		name: "numbers need the standard library only",
		of:   []string{"internal/base/decimal"}, deny: []string{everything}, allow: []string{"std"}, deep: true,
		breach: edge{"internal/base/decimal", "internal/base/dynamo"},
	},
	{
		name: "topk is pure",
		of:   []string{"internal/base/topk"}, deny: []string{everything}, allow: []string{"std", "internal/base/packed"}, deep: true,
		breach: edge{"internal/base/topk", sdk + "aws"},
	},
	{
		name: "what is pure does no input or output",
		of:   []string{"internal/base/topk", "pkg/shard", "internal/throttle/partitions"}, deny: []string{"net/...", "os/exec", "database/..."}, deep: true,
		breach: edge{"internal/base/topk", "net/http"},
	},
	{
		name: "heat knows DynamoDB's types and nothing more of AWS",
		of:   []string{"internal/base/heat", "internal/base/heat/count"}, deny: []string{"github.com/aws/...", "net/http"}, allow: []string{sdk + "service/dynamodb/types", sdk + "aws"},
		breach: edge{"internal/base/heat", sdk + "service/dynamodb"},
	},
	{
		name: "the console knows the API by its answers only",
		of:   []string{"internal/tool/console"}, deny: []string{everything}, allow: []string{"std", "internal/base/jsontime"}, deep: true,
		breach: edge{"internal/tool/console", "internal/query"},
	},
	{
		name: "Lambda's event types stay in handler files",
		of:   []string{everything}, but: []string{"internal/httpapi"}, deny: []string{lambdaModule + "events"},
		breach: edge{"internal/ingest", lambdaModule + "events"},
	},
	{
		name: "only internal/base/function starts Lambda",
		of:   []string{everything}, but: []string{"internal/base/function"}, deny: []string{lambdaModule + "lambda"},
		breach: edge{"internal/fold", lambdaModule + "lambda"},
	},
	{
		name: "the core has no CDK",
		of:   []string{everything}, deny: []string{"github.com/aws/aws-cdk-go/...", "github.com/aws/constructs-go/...", "github.com/aws/jsii-runtime-go/..."}, deep: true,
		breach: edge{"internal/base/schema", "github.com/aws/aws-cdk-go/awscdk/v2"},
	},
	{
		name: "test helpers are for tests",
		of:   []string{everything}, but: []string{"internal/test/..."}, deny: []string{"testing", "internal/test/..."},
		breach: edge{"internal/tool/load", "internal/test/enginetest"},
	},
}

// badNames are package names that describe no content.
var badNames = []string{"util", "utils", "common", "helper", "helpers", "types", "model", "models", "misc", "shared"}
