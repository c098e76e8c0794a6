package books

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"ledger.example/tests/harness/full"
)

// Each book in testdata/small shows one property of the languages. Its program reads it, and the result is recorded.
func TestSmallBooks(t *testing.T) {
	formatOf := map[string]string{".ledger": "ledger", ".journal": "hledger", ".beancount": "beancount",
		".timeclock": "hledger"}
	files, err := filepath.Glob(filepath.Join("testdata", "small", "*"))
	if err != nil || len(files) == 0 {
		t.Fatal("no books", err)
	}
	here, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		format, ok := formatOf[filepath.Ext(file)]
		if !ok {
			continue
		}
		t.Run(filepath.Base(file), func(t *testing.T) {
			if _, err := exec.LookPath(programs[format].program); err != nil {
				full.Without(t, programs[format].program+" is not installed")
			}
			b, err := Read(t.Context(), format, "", file)
			if err != nil {
				t.Fatal(err)
			}
			o := Options{SkipVirtual: strings.Contains(file, "-skip")}
			got := strings.ReplaceAll(converted(t, b, o), here+string(filepath.Separator), "testdata/")
			golden(t, filepath.Join("small", filepath.Base(file)+".lines"), got)
		})
	}
}

// A book of ledger is refused if its postings do not add up to the balances that ledger prints, because then a posting
// was not read.
func TestLedgerTotals(t *testing.T) {
	posting := func(account, number, commodity string) Posting {
		n, err := ParseNumber(number)
		if err != nil {
			t.Fatal(err)
		}
		return Posting{Account: account, Quantity: Amount{n, commodity}}
	}
	b := bookWith(
		Transaction{Postings: []Posting{posting("a", "1234.50", "$"), posting("a", "3", "ACME 1"), posting("b", "0.333333", "EUR")}},
		Transaction{Postings: []Posting{posting("a", "-0.5", "$"), posting("b", "0.333333", "EUR"), posting("c", "0", "EUR")}},
	)
	for _, c := range []struct{ balances, wrong string }{
		{"a,\"$1,234\n3 \"\"ACME 1\"\"\"\nb,0.666667 EUR\nc,0\n", ""},
		{"a,\"1.234,00$\n\"\"ACME 1\"\" 3\"\nb,\"0,666666 EUR\"\n", ""},
		{"a,\"$1,234\n3 \"\"ACME 1\"\"\"\nb,0.67 EUR\n", `balance of "b" is 0.67 EUR, but its postings add up to 0.666666`},
		{"a,\"$1,234\n3 \"\"ACME 1\"\"\"\nb,0.666667 EUR\nc,-1 EUR", `balance of "c" is -1 EUR, but`},
		{"a,\"$1,234\n3 \"\"ACME 1\"\"\"\nb,0.666667 EUR\nd,-1 EUR", `balance of "d" is -1 EUR, but its postings add up to nothing`},
		{"a,\"$1,234\"\nb,0.666667 EUR\n", `balance of "a" is nothing, but its postings add up to 3`},
		{"a,\"$1,233\n3 \"\"ACME 1\"\"\"\nb,0.666667 EUR\n", `add up to 1234.0`},
	} {
		err := agrees(b.all(), []byte(c.balances))
		if c.wrong == "" && err != nil || c.wrong != "" && (err == nil || !strings.Contains(err.Error(), c.wrong)) {
			t.Errorf("%q: %v", c.balances, err)
		}
	}
}

// Versions of hledger differ in the name of the field that tells whether a posting is virtual. A version whose output is
// not known is refused, because virtual postings could become real. The user's configuration is never read.
func TestHledgerVersions(t *testing.T) {
	if _, err := exec.LookPath("hledger"); err != nil {
		full.Without(t, "hledger is not installed")
	}
	const (
		known   = `s/"ptype"/"preal"/g; s/"RegularPosting"/"RealPosting"/g`
		unknown = `s/"ptype"/"pvirtual"/g`
	)
	for _, c := range []struct{ version, rename, wrong string }{
		{"hledger 1.25, linux-x86_64", "", ""},
		{"hledger 1.99.2-gabcdef, mac-aarch64", known, ""},
		{"hledger 1.99.6, linux-x86_64", unknown, `a posting of unknown kind ""`},
		{"hledger 1.24.1, linux-x86_64", "", "is 1.24, but the import knows the output of hledger 1.25 to 1.99 only"},
		{"hledger 2.0, linux-x86_64", known, "is 2.0, but"},
		{"ledger 3", "", `--version says "ledger 3"`},
	} {
		program := filepath.Join(t.TempDir(), "hledger")
		script := fmt.Sprintf(`#!/bin/sh
version='%s'
case "$1" in
--version) echo "$version"; exit;;
-n) shift;;
*) case "$version" in *1.99*) echo "hledger.conf is read"; exit 1;; esac;;
esac
hledger "$@" | sed '%s'
`, c.version, c.rename)
		if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
			t.Fatal(err)
		}
		b, err := Read(t.Context(), "hledger", program, filepath.Join("testdata", "small", "virtual.journal"))
		if c.wrong != "" {
			if err == nil || !strings.Contains(err.Error(), c.wrong) {
				t.Errorf("%+v: %v", c, err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		if got := converted(t, b, Options{}); !strings.Contains(got, "(Plan:Bread) is an unbalanced virtual posting") {
			t.Errorf("%+v: %s", c, got)
		}
	}
}

// A program reads UTF-8 also where no locale is set, as under cron. A book in another encoding is refused with a way. A
// program that is interrupted did not fail.
func TestEncodingsAndInterruptions(t *testing.T) {
	if _, err := exec.LookPath("hledger"); err != nil {
		full.Without(t, "hledger is not installed")
	}
	for _, name := range []string{"LC_ALL", "LC_CTYPE", "LANG"} {
		t.Setenv(name, "")
	}
	file := filepath.Join(t.TempDir(), "b.journal")
	read := func(ctx context.Context, text string) (*Book, error) {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return Read(ctx, "hledger", "", file)
	}
	const entry = "2024-01-01 обед\n    активы  1 EUR\n    b\n"
	if b, err := read(t.Context(), entry); err != nil || listOf(t, b.all())[0].Postings[0].Account != "активы" {
		t.Errorf("without a locale: %v", err)
	}
	if _, err := read(t.Context(), "2024-01-01 caf\xe9\n    a  1 EUR\n    b\n"); err == nil || !strings.Contains(err.Error(), "iconv -t UTF-8") {
		t.Errorf("another encoding: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := read(ctx, entry); !errors.Is(err, context.Canceled) {
		t.Errorf("interrupted: %v", err)
	}
}
