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
// Decode looks at the envelope of each record and only checks the syntax of its
// images, which are read when somebody asks for an attribute or for a size. The
// images refer to the payload: what is to outlive it must be copied out, as
// String and its siblings do.
//
// Strictness: member names are case-exact, duplicate names are an error, unknown
// members are passed over. Escapes are decoded; bytes that are no UTF-8 and lone
// surrogates become U+FFFD, as with encoding/json.
package ddbstream
