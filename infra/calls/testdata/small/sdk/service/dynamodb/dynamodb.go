// Package dynamodb has the form of the SDK's.
package dynamodb

// QueryInput names a table, and perhaps an index.
type QueryInput struct{ TableName, IndexName *string }

// Client asks.
type Client struct{}

// Query asks for what its input says.
func (*Client) Query(*QueryInput) {}
