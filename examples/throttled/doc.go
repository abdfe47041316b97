// Package throttled shows how SDKs in other languages report the throttles of `hotshard throttle`: each program writes
// to one key until DynamoDB throttles, and prints what its SDK reports.
package throttled
