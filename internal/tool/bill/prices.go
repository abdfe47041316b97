package bill

import "github.com/hotshard/hotshard/pkg/shard/plan"

// Prices are in USD.
type Prices struct {
	Tables plan.Prices

	Requests    []Step  // the HTTP API's price of a million requests, by requests a month
	Invocations float64 // of functions, a million
	GBSecond    float64 // of a function's memory, arm64
	LogGB       float64 // ingested
	Metric      float64 // a custom metric, a month
	Alarm       float64 // on one metric, a month
	Composite   float64 // a composite alarm, a month
	Dashboard   float64 // a month
	PutMetrics  float64 // a thousand calls of PutMetricData
	Recovery    float64 // point-in-time recovery, a GB and month
	TransferGB  float64 // from the API to the internet
}

// Step is the price of a million up to a number of millions a month; 0 is unlimited.
type Step struct{ Millions, Price float64 }

// Default returns the prices of us-east-1 without free tiers: [plan.DefaultPrices] for tables, and the others as of 2025.
// They are from memory; check them on aws.amazon.com/api-gateway/pricing, /lambda/pricing, /cloudwatch/pricing,
// /dynamodb/pricing and /ec2/pricing/on-demand (transfer).
func Default() Prices {
	return Prices{
		Tables:   plan.DefaultPrices(),
		Requests: []Step{{300, 1}, {0, 0.9}}, Invocations: 0.2, GBSecond: 0.0000133334,
		LogGB: 0.5, Metric: 0.3, Alarm: 0.1, Composite: 0.5, Dashboard: 3, PutMetrics: 0.01, Recovery: 0.2, TransferGB: 0.09,
	}
}

// requests returns the day's cost of HTTP API requests, by the monthly price steps.
func (w work) requests(p Prices) (usd float64) {
	left, below := w.calls*daysAMonth/million, 0.0
	for _, s := range p.Requests {
		n := left
		if s.Millions > 0 {
			n = min(left, s.Millions-below)
		}
		usd, left, below = usd+n*s.Price, left-n, s.Millions
	}
	return usd / daysAMonth
}
