package plan

import (
	"cmp"
	"fmt"
	"math"
)

// maxDemand bounds a demand so that no figure overflows. It is far above DynamoDB's limits.
const maxDemand = 1e12

// withDefaults returns the demand with its defaults, or the first invalid field.
func (d Demand) withDefaults() (Demand, error) {
	d.ItemBytes = cmp.Or(d.ItemBytes, defaultItemBytes)
	d.ReadItems = cmp.Or(d.ReadItems, defaultReadItems)
	d.Safety = cmp.Or(d.Safety, DefaultSafety)
	d.LoadFactor = cmp.Or(d.LoadFactor, 1)
	if err := d.check(); err != nil {
		return d, err
	}
	if d.WriteUnits == 0 {
		d.WriteUnits = d.Rate * float64(WriteUnits(d.ItemBytes))
	}
	d.TableWriteUnits = cmp.Or(d.TableWriteUnits, d.WriteUnits)
	if d.TableWriteUnits < d.WriteUnits {
		return d, &DemandError{"TableWriteUnits", d.TableWriteUnits, fmt.Sprintf("want the key's own peak, %v, or more", d.WriteUnits)}
	}
	return d, nil
}

func (d Demand) check() error {
	for _, f := range []struct {
		field  string
		value  float64
		low    float64
		high   float64
		reason string
	}{
		{"WriteUnits", d.WriteUnits, 0, maxDemand, "want more than 0"},
		{"Rate", d.Rate, 0, maxDemand, "want more than 0"},
		{"ItemBytes", float64(d.ItemBytes), 1, maxItemBytes, "want 1 to 409600"},
		{"Safety", d.Safety, 1, 1000, "want 1 to 1000"},
		{"TableWriteUnits", d.TableWriteUnits, 0, maxDemand, "want 0 or more"},
		{"TableReadUnits", d.TableReadUnits, 0, maxDemand, "want 0 or more"},
		{"TableGB", d.TableGB, 0, maxDemand, "want 0 or more"},
		{"LoadFactor", d.LoadFactor, math.SmallestNonzeroFloat64, 1, "want more than 0 and up to 1"},
		{"ReadItems", float64(d.ReadItems), 1, 1e9, "want 1 or more"},
	} {
		if !(f.value >= f.low && f.value <= f.high) { // NaN is in no range
			return &DemandError{f.field, f.value, f.reason}
		}
	}
	if (d.WriteUnits > 0) == (d.Rate > 0) {
		return &DemandError{"WriteUnits", d.WriteUnits, "want one of it and Rate"}
	}
	return nil
}
