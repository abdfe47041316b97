module example.com/small

go 1.26

require github.com/aws/aws-sdk-go-v2 v0.0.0

replace github.com/aws/aws-sdk-go-v2 => ./sdk
