// Package throttled has tests' first steps with `hotshard throttle` in other languages: each program writes to one key
// until DynamoDB throttles, and prints what its SDK reports.
package throttled
