package plan

// Prices is the Region and the date of the prices in a [Cost], for the table class Standard. A Cost leaves out reserved
// capacity, the free tier, replicas, backups, transfer, streams and functions. The current prices are on
// https://aws.amazon.com/dynamodb/pricing/on-demand/ and https://aws.amazon.com/dynamodb/pricing/provisioned/
const Prices = "us-east-1, November 2024"

// The prices, in US dollars.
const (
	onDemandWrite    = 0.625   // a million write request units
	onDemandRead     = 0.125   // a million read request units
	provisionedWrite = 0.00065 // a write capacity unit, an hour
	provisionedRead  = 0.00013 // a read capacity unit, an hour
	storage          = 0.25    // a GB, a month
)

// hoursAMonth is the length of a month in AWS's price examples.
const hoursAMonth = 730

// Cost is the cost of a table in US dollars a month, if the load is always at its peak.
type Cost struct {
	Write   float64 `json:"write"`
	Read    float64 `json:"read"`
	Storage float64 `json:"storage"`
	Total   float64 `json:"total"`
}

// newCost returns the cost of a demand's table, whose writes and reads cost this much a month.
func newCost(d Demand, write, read float64) Cost {
	c := Cost{Write: write, Read: read, Storage: d.TableGB * storage}
	c.Total = c.Write + c.Read + c.Storage
	return c
}

// onDemand returns the cost in on-demand mode: each unit used has a price.
func onDemand(d Demand) Cost {
	const millions = hoursAMonth * 3600 / 1e6
	return newCost(d, d.TableWriteUnits*millions*onDemandWrite, d.TableReadUnits*millions*onDemandRead)
}

// provisioned returns the cost in provisioned mode: the capacity for the peak has a price, in whole units, used or not.
func provisioned(d Demand) Cost {
	return newCost(d, roundUp(d.TableWriteUnits)*hoursAMonth*provisionedWrite, roundUp(d.TableReadUnits)*hoursAMonth*provisionedRead)
}
