// Package calls finds out, by static analysis, what a function's code can ask of
// AWS: the operations, and for DynamoDB the tables and indexes. The test of package
// grants compares that with what roles are granted.
//
//	code, err := calls.Load("..", nil)
//	made, err := code.Of("functions/query")
//	// {dynamodb Query HOTSHARD_ITEMS_TABLE by_rank}, ...
//
// It starts at a function's main and goes wherever the module's own code may go: a
// function that is mentioned counts as called, and so does a method of a type that
// was made an interface which is called, or handed to code of others. So it finds
// too much rather than too little. What is called by reflection alone is not found
// (decoders of settings and bodies, which ask nothing of AWS).
//
// Tables have no names in the code: they are followed back, through fields,
// parameters and variables, to the environment variable that gives them.
package calls
