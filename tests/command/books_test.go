package command

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"ledger.example/events"
	"ledger.example/internal/desk/units"
	"ledger.example/tests/harness/caller"
	"ledger.example/tests/harness/full"
	"ledger.example/tests/harness/process"
)

// ends returns the last instants of months.
func ends(first time.Time, months int) (at []string) {
	for n := range months {
		at = append(at, first.AddDate(0, n+1, 0).Add(-time.Microsecond).Format("2006-01-02T15:04:05.000000Z"))
	}
	return at
}

// needs skips a test if a program is not installed.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := exec.LookPath(program); err != nil {
		full.Without(t, program+" is not installed")
	}
}

// wantBalances waits until the ledger has the final balances, and then compares the balances at earlier times.
func wantBalances(t *testing.T, s *caller.Caller, expected [][]string, times []string) {
	t.Helper()
	var last [][]string
	for _, row := range expected {
		last = append(last, []string{row[0], row[1], row[len(row)-1]})
	}
	var wrong []string
	caller.Eventually(t, 2*time.Minute, "the book is projected", func() bool {
		wrong = differences(t, s, last, nil)
		return wrong == nil
	})
	if wrong = differences(t, s, expected, times); wrong != nil {
		t.Errorf("%d balances of the past differ, such as %q", len(wrong), wrong[0])
	}
}

// A book of three years from beancount's generator has the balances of bean-query at the end of every month.
func TestBalancesOfABeancountBook(t *testing.T) {
	full.Only(t, "imports three years of a household's books")
	needs(t, "bean-example")
	needs(t, "bean-query")
	t.Parallel()
	const firstYear, years = 2015, 3
	file := filepath.Join(t.TempDir(), "household.beancount")
	runs(t, "bean-example", "--date-begin", "2015-01-01", "--date-end", "2017-12-31", "--seed", "7", "-o", file)
	s := caller.New(t, process.Start(t, "up", "--memory", "--port", "0").URL)
	takes(t, s, `"failed":0`, file)
	takes(t, s, `"new":0`, file)

	months := ends(time.Date(firstYear, 1, 1, 0, 0, 0, 0, time.UTC), 12*years)
	const scale = 5 // more than any commodity has
	sums := make(map[[2]string][]events.Amount)
	for _, row := range rows(t, runs(t, "bean-query", "-f", "csv", file,
		"SELECT account, currency, year, month, sum(number) GROUP BY account, currency, year, month")) {
		key := [2]string{row[0], row[1]}
		if sums[key] == nil {
			sums[key] = make([]events.Amount, len(months))
		}
		var date [2]int
		for n := range date {
			var err error
			if date[n], err = strconv.Atoi(strings.TrimSpace(row[2+n])); err != nil {
				t.Fatal(err)
			}
		}
		number, err := units.Parse(strings.TrimSpace(row[4]), scale)
		if err != nil {
			t.Fatal(err)
		}
		for n := (date[0]-firstYear)*12 + date[1] - 1; n < len(months); n++ {
			if sums[key][n], err = sums[key][n].Add(number); err != nil {
				t.Fatal(err)
			}
		}
	}
	var expected [][]string
	for key, amounts := range sums {
		row := key[:]
		for _, a := range amounts {
			row = append(row, a.Decimal(scale))
		}
		expected = append(expected, row)
	}
	wantBalances(t, s, expected, months)
}

// hledgerBook generates a journal for hledger and ledger: months of entries with elided amounts, names with spaces,
// prices, and commodities of several scales.
func hledgerBook(t *testing.T, months int) string {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 1415))
	accounts := []string{"assets:cash", "assets:bank account", "assets:broker", "expenses:food", "expenses:rent & heating",
		"income:salary", "equity:opening", "liabilities:card"}
	var b strings.Builder
	for n := range months * 20 {
		day := time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, n/20, random.IntN(31))
		fmt.Fprintf(&b, "%s %s\n", day.Format(time.DateOnly), []string{"* shopping", "(17) rent", "salary ; for:work"}[random.IntN(3)])
		picked := random.Perm(len(accounts))
		sign := 1 - 2*random.IntN(2)
		switch random.IntN(4) {
		case 0:
			fmt.Fprintf(&b, "    %s  %d ACME @ $%d.%02d\n", accounts[picked[0]], sign*(1+random.IntN(50)), random.IntN(90), random.IntN(100))
		case 1:
			fmt.Fprintf(&b, "    %s  %d.%03d EUR @@ $%d.%02d\n", accounts[picked[0]], sign*random.IntN(900), random.IntN(1000), 1+random.IntN(90), random.IntN(100))
		default:
			for _, p := range picked[:1+random.IntN(4)] {
				fmt.Fprintf(&b, "    %s  $%d.%02d\n", accounts[p], sign*random.IntN(900), random.IntN(100))
			}
		}
		fmt.Fprintf(&b, "    %s\n\n", accounts[picked[7]])
	}
	file := filepath.Join(t.TempDir(), "made-up.journal")
	if err := os.WriteFile(file, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// A journal, imported by hledger and by ledger, has the balances of hledger at the end of every month.
func TestBalancesOfAJournal(t *testing.T) {
	full.Only(t, "imports three years of made-up books")
	needs(t, "hledger")
	needs(t, "ledger")
	t.Parallel()
	const length = 36
	file := hledgerBook(t, length)
	expected := rows(t, runs(t, "hledger", "-f", file, "balance", "--monthly", "--historical", "--flat", "--no-total",
		"--layout=bare", "-O", "csv"))
	ids := strings.NewReplacer(" ", "_", "&", "@26", "$", "x@24")
	for _, row := range expected {
		row[0], row[1] = ids.Replace(row[0]), ids.Replace(row[1])
	}
	months := ends(time.Date(2021, 1, 1, 0, 0, 0, 0, time.UTC), len(expected[0])-2)
	for _, format := range []string{"hledger", "ledger"} {
		s := caller.New(t, process.Start(t, "up", "--memory", "--port", "0").URL)
		takes(t, s, `"failed":0`, file, "--format", format, "--scale", "$=2", "--scale", "EUR=3")
		wantBalances(t, s, expected, months)
	}
}
