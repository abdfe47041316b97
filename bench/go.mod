module github.com/hotshard/hotshard/bench

go 1.26.0

require (
	github.com/aws/aws-sdk-go-v2 v1.47.6
	github.com/aws/aws-sdk-go-v2/service/dynamodb v1.73.0
	github.com/caarlos0/env/v11 v11.3.1
	github.com/google/go-cmp v0.7.0
	github.com/hotshard/hotshard v0.0.0
	github.com/jedib0t/go-pretty/v6 v6.6.5
	golang.org/x/sync v0.20.0
)

require (
	github.com/aws/aws-sdk-go-v2/feature/dynamodb/attributevalue v1.21.18 // indirect
	github.com/aws/aws-sdk-go-v2/service/cloudwatch v1.75.4 // indirect
	github.com/bytedance/gopkg v0.1.3 // indirect
	github.com/bytedance/sonic/loader v0.5.1 // indirect
	github.com/cloudwego/base64x v0.1.6 // indirect
	github.com/golang/freetype v0.0.0-20170609003504-e2365dfdc4a0 // indirect
	github.com/klauspost/cpuid/v2 v2.2.10 // indirect
	github.com/mattn/go-runewidth v0.0.16 // indirect
	github.com/mitchellh/colorstring v0.0.0-20190213212951-d06e56a500db // indirect
	github.com/rivo/uniseg v0.4.7 // indirect
	github.com/schollz/progressbar/v3 v3.18.0 // indirect
	github.com/twitchyliquid64/golang-asm v0.15.1 // indirect
	golang.org/x/arch v0.17.0 // indirect
	golang.org/x/image v0.18.0 // indirect
	golang.org/x/term v0.32.0 // indirect
)

require (
	github.com/aws/aws-lambda-go v1.55.1
	github.com/aws/aws-sdk-go-v2/credentials v1.20.14
	github.com/aws/aws-sdk-go-v2/internal/configsources v1.5.9 // indirect
	github.com/aws/aws-sdk-go-v2/internal/endpoints/v2 v2.8.9 // indirect
	github.com/aws/aws-sdk-go-v2/service/dynamodbstreams v1.46.5
	github.com/aws/aws-sdk-go-v2/service/internal/accept-encoding v1.13.24 // indirect
	github.com/aws/aws-sdk-go-v2/service/internal/endpoint-discovery v1.13.9 // indirect
	github.com/aws/smithy-go v1.28.8
	github.com/bytedance/sonic v1.15.2
	github.com/cenkalti/backoff/v5 v5.0.3 // indirect
	github.com/danielgtaylor/huma/v2 v2.35.0 // indirect
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3 // indirect
	github.com/maypok86/otter/v2 v2.2.1 // indirect
	github.com/oklog/ulid/v2 v2.1.1
	github.com/swaggest/swgui v1.8.4 // indirect
	github.com/vearutop/statigz v1.4.0 // indirect
	github.com/wcharczuk/go-chart/v2 v2.1.2
	golang.org/x/net v0.40.0 // indirect
	golang.org/x/sys v0.41.0 // indirect
	golang.org/x/text v0.25.0 // indirect
)

replace github.com/hotshard/hotshard => ../
