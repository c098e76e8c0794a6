package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"ledger.example/internal/table"
	"ledger.example/internal/watch/audit"
)

// scanned serves a table that denies DescribeTable and answers every Scan with answer.
func scanned(t *testing.T, answer func() string) (url string) {
	return dynamo(t, func(operation string) string {
		switch operation {
		case "Scan":
			return answer()
		case "DescribeTable":
			return "AccessDeniedException"
		case "GetItem": // for the store's clock
			return "{}"
		}
		t.Errorf("unexpected operation %s", operation)
		return "AccessDeniedException"
	})
}

const noItems = `{"Items":[],"Count":0,"ScannedCount":0}`

func TestVerifyReports(t *testing.T) {
	for _, c := range []struct {
		name, items string
		code        int
		says        []string // on standard output, as text
		found       []string // codes
	}{
		{"sound", noItems, exitDone, []string{"Sound: 0 items"}, []string{}},
		{"unknown", fmt.Sprintf(`{"Items":[{%q:{"S":"X#1"},%q:{"S":"Y\u001b[2J"},%q:{"S":"Note"}}],"Count":1,"ScannedCount":1}`, table.AttrPK, table.AttrSK, table.AttrType),
			exitFailed, []string{"unknown_item", "X#1", "stored:", `"Note"`, "recomputed:", "next:       see docs/audit.md#audit", "NOT SOUND"}, []string{"unknown_item"}},
	} {
		url := scanned(t, func() string { return c.items })
		code, out, problems := ledger(t, "", "verify", "--dynamodb-endpoint", url, "--segments", "1")
		says(t, out, c.says...)
		if code != c.code || (problems != "") != (c.code != exitDone) || strings.Contains(out, "\x1b") {
			t.Errorf("%s: exit %d: %q %s", c.name, code, out, problems)
		}
		code, out, _ = ledger(t, "", "verify", "--dynamodb-endpoint", url, "--segments", "1", "--json", "--max", "1")
		var report struct {
			Sound    bool
			Counts   map[string]int64
			Findings []struct{ Code, PK, SK, Attribute, Stored, Recomputed string }
		}
		if err := json.Unmarshal([]byte(out), &report); err != nil {
			t.Fatalf("%s: %v: %s", c.name, err, out)
		}
		codes := []string{}
		for _, f := range report.Findings {
			codes = append(codes, f.Code)
		}
		if code != c.code || report.Sound != (c.code == exitDone) || report.Counts["findings"] != int64(len(c.found)) ||
			fmt.Sprint(codes) != fmt.Sprint(c.found) {
			t.Errorf("%s: exit %d: %s", c.name, code, out)
		}
		code, out, problems = ledger(t, "", "verify", "--dynamodb-endpoint", url, "--segments", "1", "--format", "csv")
		if found := strings.Join(c.found, ",,X#1,"); code != c.code ||
			!strings.HasPrefix(out, "code,attribute,pk,sk,stored,recomputed,next\n"+found) ||
			!strings.Contains(problems, fmt.Sprintf("%d are printed", len(c.found))) {
			t.Errorf("%s as CSV: exit %d: %s%s", c.name, code, out, problems)
		}
	}
}

// An audit that did not read the whole table gives no verdict. It says how far it came.
func TestIncompleteVerify(t *testing.T) {
	t.Parallel()
	denied := scanned(t, func() string { return "AccessDeniedException" })
	code, out, problems := ledger(t, "", "verify", "--dynamodb-endpoint", denied)
	if code != exitFailed || out != "" || !strings.Contains(problems, "proves nothing") || !strings.Contains(problems, "in words") {
		t.Errorf("exit %d, %q: %s", code, out, problems)
	}

	ctx, interrupt := context.WithCancel(t.Context())
	first, read := make(chan bool, 1), make(chan bool)
	interrupted := scanned(t, func() string {
		select {
		case first <- true: // one part has one item
			time.AfterFunc(time.Second, func() { close(read) })
			return fmt.Sprintf(`{"Items":[{%q:{"S":"X#1"},%q:{"S":"Y"}}],"Count":1,"ScannedCount":1}`, table.AttrPK,
				table.AttrSK)
		default:
			<-read
			interrupt()
			return noItems
		}
	})
	code, out, problems = ledgerIn(ctx, nil, nil, "verify", "--json", "--dynamodb-endpoint", interrupted,
		"--segments", "2")
	if code != exitInterrupted || out != "" || !strings.Contains(problems, "interrupted: the audit is not complete, and "+
		"proves nothing; it read 1 item with 1 finding, and 1 of 2 parts of the table to the end") {
		t.Errorf("exit %d, %q: %s", code, out, problems)
	}
}

func TestVerifySuggestsTheNextStep(t *testing.T) {
	o := operator{table: "books", region: "eu-central-1"}
	look := "see docs/audit.md#audit, and do not rebuild before: events may have been altered, added or deleted"
	for _, c := range []struct {
		code audit.Code
		key  table.Key
		want string
	}{
		{audit.BalanceBehind, table.Balance.Key("jane", "USD"), "ledger rebuild --account jane --asset USD"},
		{audit.SummaryIncomplete, table.Summary.Key("jane"), "ledger rebuild --account jane"},
		{"grouped_behind", table.Grouped.Key("joe", "staff"), "ledger rebuild --account joe"},
		{audit.HoldEntryBehind, table.OpenHold.Key("2026-11-29T09:00:00.000000Z", "h-1"), "ledger rebuild"},
		{audit.ListEntryBehind, table.Listed.Key("0", "ksuid", "t-1"), "ledger rebuild --lists"},
		{audit.ListedAccountBehind, table.Tagged.Key("jane", "tier"), "ledger rebuild --lists"},
		{audit.JournalAltered, table.Journal.Key("0", "page"), "ledger rebuild --lists"},
		{audit.EventUnseen, table.Asset.Key("EUR"),
			"look before you rebuild: see docs/audit.md#audit. Somebody may have added this event"},
		{audit.BalanceCountsMore, table.Balance.Key("jane", "USD"), look},
		{audit.HoldEntryWrong, table.Hold.Key("jane", "ksuid"), look},
	} {
		f := audit.Finding{Code: c.code, Key: c.key}
		report := audit.Report{ByCode: map[audit.Code]int64{c.code: 1}}
		if strings.HasPrefix(c.want, "ledger ") {
			c.want += " --table books --region eu-central-1"
		}
		if c.code == audit.JournalAltered {
			c.want += "; if an auditor keeps a digest, see docs/proof.md#before-a-rebuild first"
		}
		if got := o.nextStep(report, f); got != c.want {
			t.Errorf("%s: %q, want %q", c.code, got, c.want)
		}
		report.ByCode[audit.ChecksumDiffers] = 1
		if got := o.nextStep(report, f); got != look {
			t.Errorf("%s in a table with an altered event: %q", c.code, got)
		}
	}
}
