package arch

// Groups of packages. A pattern is a path in this module, or a full import path
// elsewhere; /... at its end takes in what is below; std is the standard library.
var (
	leaves  = []string{"pkg/...", "internal/topk", "internal/heat", "internal/heat/count", "internal/report", "internal/ddbstream", "internal/workload", "internal/schema/...", "internal/document", "internal/dynamo/record", "internal/metrics", "internal/keyname", "internal/packed", "internal/memo", "internal/awshttp", "internal/rollup/measures", "internal/rollup/board", "internal/schedule", "internal/terminal", "internal/awscall", "internal/apicall"}
	wings   = []string{"pkg/shard/table", "pkg/shard/migrate", "pkg/shard/counters", "pkg/shard/events", "pkg/shard/boards", "pkg/shard/sessions", "pkg/shard/limits", "pkg/shard/once", "pkg/shard/spread"}
	domain  = []string{"internal/ingest", "internal/query", "internal/hotkey", "internal/rollup"}
	mains   = []string{"cmd/...", "functions/..."}
	machine = []string{"internal/local/...", "internal/load/...", "internal/runtimeapi/..."}
)

const (
	lambdaModule = "github.com/aws/aws-lambda-go/"
	sdk          = "github.com/aws/aws-sdk-go-v2/"
	everything   = "..."
)

// rules say who may import whom.
var rules = []rule{
	{
		name: "pkg/shard needs the standard library only",
		of:   []string{"pkg/shard"}, deny: []string{everything}, allow: []string{"std"}, deep: true,
		breach: edge{"pkg/shard", "github.com/oklog/ulid/v2"},
	},
	{
		name: "the kernel knows the library's basics only",
		of:   []string{"internal/dynamo"}, deny: []string{"pkg/...", "internal/..."}, allow: []string{"std", "pkg/shard", "internal/schema"}, deep: true,
		breach: edge{"internal/dynamo", "pkg/shard/shardmap"},
	},
	{
		name: "the shard map knows no wing",
		of:   []string{"pkg/shard/shardmap"}, deny: wings, deep: true, breach: edge{"pkg/shard/shardmap", "pkg/shard/table"},
	},
	{
		name: "wings don't know each other",
		of:   wings, deny: wings, allow: []string{"pkg/shard/table"}, deep: true, breach: edge{"pkg/shard/limits", "pkg/shard/once"},
	},
	{
		name: "of the wings only migrations, events and counters may stand on tables",
		of:   wings, but: []string{"pkg/shard/migrate", "pkg/shard/events", "pkg/shard/counters"}, deny: []string{"pkg/shard/table"}, deep: true,
		breach: edge{"pkg/shard/boards", "pkg/shard/table"},
	},
	{
		name: "leaves know nothing of the domain",
		of:   leaves, deny: join(domain, mains, machine, []string{"internal/httpapi", "internal/function"}), deep: true,
		breach: edge{"internal/ddbstream", "internal/rollup"},
	},
	{
		name: "domain packages don't know each other",
		of:   domain, deny: domain, deep: true, breach: edge{"internal/ingest", "internal/query"},
	},
	{
		name: "domain packages don't know where they run",
		of:   domain, deny: join(mains, machine, []string{"internal/function/..."}), deep: true,
		breach: edge{"internal/hotkey", "internal/local"},
	},
	{
		name: "nothing imports a command or a function",
		of:   []string{everything}, deny: mains, breach: edge{"internal/load", "functions"},
	},
	{
		name: "deployed functions hold nothing that is for one machine",
		of:   []string{"functions/..."}, deny: machine, deep: true, breach: edge{"functions/query", "internal/local"},
	},
	{
		name: "ingest, which starts in storms, has one client, no page to read and no heat",
		of:   []string{"functions/ingest"}, deny: []string{"internal/httpapi/docs", "internal/heat/...", "github.com/swaggest/...", sdk + "service/cloudwatch/...", sdk + "service/dynamodbstreams/..."}, deep: true,
		breach: edge{"functions/ingest", "internal/httpapi/docs"},
	},
	{
		name: "the engine and the event source mapping know no handler",
		of:   []string{"internal/local", "internal/local/eventsource"}, deny: domain, deep: true, breach: edge{"internal/local/eventsource", "internal/rollup"},
	},
	{
		name: "the engine knows nothing of what reads its streams",
		of:   []string{"internal/local"}, deny: []string{"internal/local/..."}, deep: true, breach: edge{"internal/local", "internal/local/eventsource"},
	},
	{
		name: "the model of partitions and the items of requests are pure",
		of:   []string{"internal/local/partitions", "internal/local/jsonitem"}, deny: []string{everything}, allow: []string{"std"}, deep: true,
		breach: edge{"internal/local/partitions", "internal/local/limiter"},
	},
	{
		name: "topk is pure",
		of:   []string{"internal/topk"}, deny: []string{everything}, allow: []string{"std", "internal/packed"}, deep: true,
		breach: edge{"internal/topk", sdk + "aws"},
	},
	{
		name: "what is pure does no input or output",
		of:   []string{"internal/topk", "pkg/shard", "internal/local/partitions", "internal/local/jsonitem"}, deny: []string{"net/...", "os/exec", "database/..."}, deep: true,
		breach: edge{"internal/topk", "net/http"},
	},
	{
		name: "heat knows DynamoDB's types and nothing more of AWS",
		of:   []string{"internal/heat", "internal/heat/count"}, deny: []string{"github.com/aws/...", "net/http"}, allow: []string{sdk + "service/dynamodb/types", sdk + "aws"},
		breach: edge{"internal/heat", sdk + "service/dynamodb"},
	},
	{
		name: "the console knows the API by its answers only",
		of:   []string{"internal/console"}, deny: []string{everything}, allow: []string{"std"}, deep: true,
		breach: edge{"internal/console", "internal/query"},
	},
	{
		name: "Lambda's event types stay in handler files",
		of:   []string{everything}, but: []string{"internal/httpapi"}, deny: []string{lambdaModule + "events"},
		breach: edge{"internal/ingest", lambdaModule + "events"},
	},
	{
		name: "only internal/function starts Lambda",
		of:   []string{everything}, but: []string{"internal/function"}, deny: []string{lambdaModule + "lambda"},
		breach: edge{"internal/rollup", lambdaModule + "lambda"},
	},
	{
		name: "the core has no CDK",
		of:   []string{everything}, deny: []string{"github.com/aws/aws-cdk-go/...", "github.com/aws/constructs-go/...", "github.com/aws/jsii-runtime-go/..."}, deep: true,
		breach: edge{"internal/schema", "github.com/aws/aws-cdk-go/awscdk/v2"},
	},
	{
		name: "test helpers are for tests",
		of:   []string{everything}, but: []string{"internal/local/enginetest", "internal/local/systemtest", "internal/lane", "internal/wingtest"}, deny: []string{"testing", "internal/local/enginetest", "internal/local/systemtest", "internal/lane", "internal/wingtest", "internal/mapfake", "internal/local/lambda/process", "internal/local/virtualstream"},
		breach: edge{"internal/load", "internal/local/enginetest"},
	},
}

// badNames say nothing about what is in a package.
var badNames = []string{"util", "utils", "common", "helper", "helpers", "types", "model", "models", "misc", "shared"}

func join(lists ...[]string) []string {
	var all []string
	for _, l := range lists {
		all = append(all, l...)
	}
	return all
}
