package plan

import (
	"cmp"
	"fmt"
	"math"
)

// maxDemand bounds a demand's numbers so that no result overflows. It is far above DynamoDB's limits.
const maxDemand = 1e12

// withDefaults returns the demand with its defaults, and a DemandError of the first invalid field.
func (d Demand) withDefaults() (Demand, error) {
	d.ItemBytes = cmp.Or(d.ItemBytes, defaultItemBytes)
	d.Safety = cmp.Or(d.Safety, DefaultSafety)
	d.TableWriteUnits = cmp.Or(d.TableWriteUnits, d.WriteUnits)
	for _, f := range []struct {
		field            string
		value, low, high float64
		reason           string
	}{
		{"WriteUnits", d.WriteUnits, math.SmallestNonzeroFloat64, maxDemand, "want more than 0, up to 1e12"},
		{"ItemBytes", float64(d.ItemBytes), 1, maxItemBytes, "want 1 to 409600"},
		{"Safety", d.Safety, 1, 1000, "want 1 to 1000"},
		{"TableWriteUnits", d.TableWriteUnits, d.WriteUnits, maxDemand, fmt.Sprintf("want the key's own peak, %v, or more, up to 1e12", d.WriteUnits)},
		{"TableReadUnits", d.TableReadUnits, 0, maxDemand, "want 0 to 1e12"},
		{"TableGB", d.TableGB, 0, maxDemand, "want 0 to 1e12"},
	} {
		isInRange := f.value >= f.low && f.value <= f.high // false for NaN
		if !isInRange {
			return d, &DemandError{f.field, f.value, f.reason}
		}
	}
	return d, nil
}
