// Package ddbstream reads the payload with which Lambda delivers a batch of
// DynamoDB Streams records, and makes the answer that Lambda wants to it:
//
//	batch, err := ddbstream.Decode(payload)
//	for _, record := range batch.Records {
//		key, _ := record.Keys.String("pk")
//		units, err := record.WriteUnits()
//	}
//	return ddbstream.Answer(batch.State, failed...)
//
// The answer of GetRecords is a payload, too: its records have the same form.
//
// One pass over the payload checks its syntax, finds what a Record has, and adds up
// the sizes of its images. What their attributes hold is looked up when somebody asks
// for it. Keys, sequence numbers and images refer to the payload: what is to outlive
// it must be copied out, as String and Number do. A [Decoder] keeps its memory from
// one payload to the next, so that counting a record allocates nothing.
//
// A fault of the payload is an error that names its byte offset. Values may be nested
// up to 64 documents deep in an image, and up to 500 levels elsewhere.
//
// Strictness: member names are case-exact, duplicate names are an error, unknown
// members are passed over. Escapes are decoded; bytes that are no UTF-8 and lone
// surrogates become U+FFFD, as with encoding/json.
package ddbstream
