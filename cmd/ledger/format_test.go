package main

import (
	"encoding/csv"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"ledger.example/client"
)

// Commands that print data have --format, and each value of it that is offered is completed by the shell. Commands
// whose data has no table have --json alone.
func TestFormats(t *testing.T) {
	noTable := []string{"import", "export", "up", "pump", "forward"}
	noCSV := []string{"show", "tail", "rebuild", "redrive", "digest", "restore"}
	each(t, func(cmd *cobra.Command) {
		name := strings.TrimPrefix(cmd.CommandPath(), "ledger ")
		f := cmd.Flags().Lookup(flagFormat)
		switch isData := f != nil && f.DefValue == formatTable; {
		case isData == slices.Contains(noTable, name) && cmd.Flags().Lookup("json") != nil,
			isData && cmd.Flags().Lookup("json") == nil:
			t.Errorf("%s: --format %t", name, isData)
		case isData:
			if want := !slices.Contains(noCSV, name); f.Value.Set(formatCSV) == nil != want ||
				(cmd.Flags().Lookup(flagRaw) != nil) != want {
				t.Errorf("%s: --format csv, want %t", name, want)
			}
			if _, completed := cmd.GetFlagCompletionFunc(flagFormat); !completed {
				t.Errorf("%s: --format is not completed", name)
			}
		}
	})
}

// Lists and reports print CSV with a heading, on the first page only. A record of names and values is one row.
func TestLists(t *testing.T) {
	s := newLedger(t)
	for _, line := range []string{
		"group register desk --name =Desk", "group add desk jane", "member grant ann owner --account jane",
		"transfer jane shop 1 USD --id h-1 --hold", "account freeze shop", "account change jane --name Jane --rate USD:5000/day",
	} {
		if code, _, problems := ledger(t, s.URL, strings.Split(line, " ")...); code != exitDone {
			t.Fatalf("%s: %s", line, problems)
		}
	}
	s.Project()
	for line, want := range map[string]string{
		"account list --prefix shop":                "account,name,state,overdraft,opened\nshop,",
		"account list --state frozen":               "account,name,state,overdraft,opened\nshop,",
		"account list --state closed":               "account,name,state,overdraft,opened\n",
		"account changes jane":                      "version,at,by,set\n2,20",
		"account rates jane":                        "asset,per,zone,limit,used,available,opens_at\nUSD,day,UTC,5000.00,0.00,5000.00,20",
		"account show shop":                         "account,name,overdraft,state,version,opened\nshop,",
		"asset list --prefix USD":                   "asset,name,scale,currency,description\nUSD,US dollar,2,,\n",
		"balance jane USD":                          "account,asset,quantity,net_expenditure,currency,credits,debits,pending_debits,pending_credits,available,postings,as_of\njane,USD,3500.00,0,,",
		"close-books":                               "number,closed_before,",
		"find --limit 1":                            "posted_at,transaction,kind,posting,account,asset,",
		"group accounts desk":                       "",
		"group balances desk":                       "asset,quantity,net_expenditure,currency,credits,debits,accounts,pending_debits,pending_credits\n",
		"group list":                                "group,name,",
		"group list --raw":                          "",
		"group members desk":                        "",
		"history jane --asset USD":                  "posted_at,transaction,kind,posting,account,asset,",
		"hold":                                      "posted_at,transaction,kind,posting,account,asset,quantity,cost,currency,description,pending,status,expires_at,ended_at\n",
		"hold jane":                                 "posted_at,transaction,kind,",
		"member list --account jane":                "",
		"statement jane USD":                        "line,posted_at,",
		"transaction h-1":                           "posted_at,transaction,kind,posting,account,asset,",
		"transfer jane shop 1 USD --dry-run --hold": "posted_at,transaction,kind,posting,account,asset,",
		"trial-balance --no-wait":                   "account,asset,debits,credits,balance\n",
	} {
		_, out, problems := ledger(t, s.URL, append(strings.Split(line, " "), "--format", "csv")...)
		rows, err := csv.NewReader(strings.NewReader(out)).ReadAll()
		if err != nil || len(rows) == 0 || !strings.HasPrefix(out, want) ||
			slices.ContainsFunc(rows[0], func(name string) bool { return strings.ContainsAny(name, " (") || name == "" }) {
			t.Errorf("ledger %s: %v\n%s%s", line, err, out, problems)
		}
		if strings.Contains(line, "--raw") {
			continue
		}
		_, out, problems = ledger(t, s.URL, append(strings.Split(line, " "), "--format", "json")...)
		if !strings.HasPrefix(out, "{") {
			t.Errorf("ledger %s as JSON: %s%s", line, out, problems)
		}
	}
	// A page of a part of a list ends behind the last item that it has.
	_, all, _ := ledger(t, s.URL, "account", "list", "--state", "open", "--format", "csv")
	_, one, problems := ledger(t, s.URL, "account", "list", "--state", "open", "--limit", "1", "--json")
	var page client.List[client.Account]
	if err := json.Unmarshal([]byte(one), &page); err != nil || len(page.Data) != 1 || page.NextCursor == nil ||
		strings.Count(all, "\n") != 4 || !strings.Contains(problems, "There are more.") {
		t.Fatalf("%v: %s%s\n%s", err, one, problems, all)
	}
	api, err := client.New(client.Config{URL: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	next, err := api.Accounts("").Page(t.Context(), *page.NextCursor, 1)
	if err != nil || next.Value.Data[0].ID != "jane" || page.Data[0].ID != "bank" {
		t.Errorf("%v: after %v comes %v", err, page.Data[0].ID, next.Value.Data)
	}
	if _, out, _ := ledger(t, s.URL, "group", "list", "--format", "csv", "--raw"); !strings.Contains(out, ",=Desk") {
		t.Errorf("raw: %s", out)
	}
	if _, out, _ := ledger(t, s.URL, "group", "list", "--format", "csv"); !strings.Contains(out, ",'=Desk") {
		t.Errorf("a formula: %s", out)
	}
}
