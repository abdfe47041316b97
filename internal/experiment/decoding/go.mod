module github.com/hotshard/hotshard/internal/experiment/decoding

go 1.26.0

require (
	github.com/aws/aws-lambda-go v1.55.1
	github.com/bytedance/sonic v1.15.2
	github.com/go-json-experiment/json v0.0.0-20260820222146-c27c302e5fc3
	github.com/hotshard/hotshard v0.0.0
)

require (
	github.com/bytedance/gopkg v0.1.3 // indirect
	github.com/bytedance/sonic/loader v0.5.1 // indirect
	github.com/cloudwego/base64x v0.1.6 // indirect
	github.com/klauspost/cpuid/v2 v2.2.9 // indirect
	github.com/twitchyliquid64/golang-asm v0.15.1 // indirect
	golang.org/x/arch v0.0.0-20210923205945-b76863e36670 // indirect
	golang.org/x/sys v0.34.0 // indirect
)

replace github.com/hotshard/hotshard => ../../..
