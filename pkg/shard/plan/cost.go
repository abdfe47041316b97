package plan

// Prices are a Region's prices in US dollars.
type Prices struct {
	Region string `json:"region"`
	AsOf   string `json:"as_of,omitempty"` // the date of the prices, as 2006-01-02

	OnDemandWrite float64 `json:"on_demand_write_million"` // a million write request units
	OnDemandRead  float64 `json:"on_demand_read_million"`  // a million read request units

	ProvisionedWrite float64 `json:"provisioned_write_hour"` // a write capacity unit, an hour
	ProvisionedRead  float64 `json:"provisioned_read_hour"`  // a read capacity unit, an hour

	Storage float64 `json:"storage_gb_month"` // a GB, a month
}

// DefaultPrices returns an assumption for plans: the prices of the table class Standard in
// us-east-1 as of November 2024, when AWS halved the on-demand ones. Reserved capacity, the
// free tier, replicas, backups, transfer, streams and functions are left out. Look up the
// current prices: https://aws.amazon.com/dynamodb/pricing/on-demand/ and
// https://aws.amazon.com/dynamodb/pricing/provisioned/
func DefaultPrices() Prices {
	return Prices{
		Region: "us-east-1", AsOf: "2024-11-01",
		OnDemandWrite: 0.625, OnDemandRead: 0.125,
		ProvisionedWrite: 0.00065, ProvisionedRead: 0.00013,
		Storage: 0.25,
	}
}

// HoursAMonth is the length of a month in AWS's price examples.
const HoursAMonth = 730

const secondsAMonth = HoursAMonth * 3600

// Cost is the cost of a table a month, in the currency of the prices.
type Cost struct {
	Write   float64 `json:"write"`
	Read    float64 `json:"read"`
	Storage float64 `json:"storage"`
	Total   float64 `json:"total"`
}

func (p Prices) cost(d Demand, write, read float64) Cost {
	c := Cost{Write: write, Read: read, Storage: d.TableGB * p.Storage}
	c.Total = c.Write + c.Read + c.Storage
	return c
}

// onDemand returns the cost of the units used: the peak times the load factor.
func (p Prices) onDemand(d Demand) Cost {
	millions := secondsAMonth * d.LoadFactor / 1e6
	return p.cost(d, d.TableWriteUnits*millions*p.OnDemandWrite, d.TableReadUnits*millions*p.OnDemandRead)
}

// provisioned returns the cost of capacity for the peak, in whole units, used or not.
func (p Prices) provisioned(d Demand) Cost {
	return p.cost(d,
		roundUp(d.TableWriteUnits)*HoursAMonth*p.ProvisionedWrite,
		roundUp(d.TableReadUnits)*HoursAMonth*p.ProvisionedRead)
}

func (p Prices) check() error {
	for _, f := range []struct {
		field string
		value float64
	}{
		{"OnDemandWrite", p.OnDemandWrite}, {"OnDemandRead", p.OnDemandRead},
		{"ProvisionedWrite", p.ProvisionedWrite}, {"ProvisionedRead", p.ProvisionedRead}, {"Storage", p.Storage},
	} {
		if !(f.value >= 0 && f.value <= maxDemand) {
			return &DemandError{f.field, f.value, "want 0 or more"}
		}
	}
	return nil
}
