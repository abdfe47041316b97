// Package ddbstream decodes the payload of a DynamoDB Streams batch from Lambda, and encodes
// the function's response:
//
//	batch, err := ddbstream.Decode(payload)
//	for _, record := range batch.Records {
//		key, _ := record.Keys.String("pk")
//		units, err := record.WriteUnits()
//	}
//	return ddbstream.Answer(batch.State, failed...)
//
// A response of GetRecords is a payload, too: its records have the same form.
//
// Decoding checks the syntax, finds the fields of each Record, and measures its images, in one pass. Attributes are read on
// demand. Keys, sequence numbers and images refer to the payload: copy them if they must outlive the payload. String and
// Number return copies. A [Decoder] reuses its memory, so that counting a record allocates nothing.
//
// The error of a malformed payload has the byte offset. Documents may be nested 64 levels deep
// in an image, and 500 levels elsewhere.
//
// Member names are case-sensitive, and unknown members are skipped. Names are not checked for duplicates, which DynamoDB
// never sends. Invalid UTF-8 and lone surrogates become U+FFFD, as in encoding/json.
//
// Code that counts records also finds here what a write costs in secondary indexes ([AddIndexWrites]), and the heaviest
// keys in bounded memory ([Sketch]). ParseTask parses the payload of a scheduled invocation.
package ddbstream
