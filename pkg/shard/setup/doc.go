// Package setup says how hotshard's tables are made:
//
//	for _, input := range setup.Tables("hotshard-") {
//		_, err := client.CreateTable(ctx, input)
//	}
package setup
