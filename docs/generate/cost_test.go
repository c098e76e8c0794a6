package main

import (
	"math"
	"os"
	"regexp"
	"strconv"
	"testing"
)

// The dollars of each step in the life of a transaction are those of its units, and bench uses the same prices.
func TestDollarsOfUnits(t *testing.T) {
	t.Chdir("..")
	prices := readPrices()
	write, read := prices.of("DynamoDB write request units"), prices.of("DynamoDB read request units")
	for step, cells := range documentTable("cost.md", "step") {
		usd := million * (write*(number(cells[1])+number(cells[3])) + read*(number(cells[2])+number(cells[4])))
		if got := number(cells[5]); math.Abs(got-usd) > 0.006 {
			t.Errorf("%s: %v dollars a million, but its units cost %v", step, got, usd)
		}
	}
	source, err := os.ReadFile("../cmd/ledger-bench/bench/figures.go")
	if err != nil {
		t.Fatal(err)
	}
	used := regexp.MustCompile(`(write|read)UnitDollars\s+= ([\d.]+) / 1_000_000`).FindAllStringSubmatch(string(source), -1)
	if len(used) != 2 {
		t.Fatalf("bench has %d prices", len(used))
	}
	for _, m := range used {
		want := map[string]float64{"write": write, "read": read}[m[1]]
		if got, err := strconv.ParseFloat(m[2], 64); err != nil || math.Abs(got-want*million) > 1e-9 {
			t.Errorf("bench has %s dollars a million %s units, cost.md %v", m[2], m[1], want*million)
		}
	}
}

// More than the shown rate of trades costs more than a pair of servers, and less costs less: on demand, in the first
// month and after a year, and with provisioned capacity.
func TestBreakEven(t *testing.T) {
	t.Chdir("..")
	b := readBill(readTemplate("../template.yaml"))
	for name, units := range map[string]func(load) float64{"on demand": b.onDemand, "provisioned": b.provisioned} {
		for _, months := range []float64{1, kept} {
			rate := number(b.breakEven(months, units))
			for _, c := range []struct {
				rate    float64
				cheaper bool
			}{{rate - 1, false}, {rate + 1, true}, {10 * rate, true}} {
				l := loadOf(b.kinds[0], c.rate, b.stack)
				if b.database(l, months, units) > b.servers(l, months) != c.cheaper {
					t.Errorf("%s, month %v, %v trades/s: database %.0f, servers %.0f dollars", name, months, c.rate,
						b.database(l, months, units), b.servers(l, months))
				}
			}
		}
	}
}
