package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// withHolds returns the answers of register with three holds: of a transfer, of a trade, and of a transaction with
// three legs. The answers to writes have little more than the id.
func withHolds() map[string]string {
	answers := register()
	for request, answer := range map[string]string{
		"GET /v1/transactions/stay-7": `{"id":"stay-7","kind":"transfer","status":"held","postings":[{"account":"jane","asset":"USD","quantity":"-40000","cost":"0"},
			{"account":"hotel","asset":"USD","quantity":"40000","cost":"0"}]}`,
		"GET /v1/transactions/t-1": `{"id":"t-1","kind":"trade","status":"held","postings":[{"account":"jane","asset":"AAPL","quantity":"10","cost":"150000"},
			{"account":"market","asset":"AAPL","quantity":"-10","cost":"-150000"}]}`,
		"GET /v1/transactions/pay-9": `{"id":"pay-9","kind":"transaction","status":"held","postings":[{"account":"a","asset":"USD","quantity":"-3000","cost":"0"},
			{"account":"b","asset":"USD","quantity":"1000","cost":"0"},{"account":"c","asset":"AAPL","quantity":"0","cost":"0"}]}`,
		"POST /v1/transactions/stay-7/capture":                `{"id":"stay-7","status":"captured"}`,
		"POST /v1/transactions/stay-7/capture?dry_run=true":   `{"id":"stay-7","status":"captured","dry_run":true}`,
		"POST /v1/transactions/t-1/capture":                   `{"id":"t-1","status":"captured"}`,
		"POST /v1/transactions/pay-9/capture":                 `{"id":"pay-9","status":"captured"}`,
		"POST /v1/transactions/stay-7/release":                `{"id":"stay-7","status":"released"}`,
		"POST /v1/transactions/stay-7/reversals":              `{"id":"ID","kind":"reversal"}`,
		"POST /v1/transactions/stay-7/reversals?dry_run=true": `{"id":"ID","kind":"reversal","dry_run":true}`,
		"POST /v1/transfers?dry_run=true":                     `{"id":"ID","kind":"transfer","dry_run":true}`,
		"POST /v1/transactions?dry_run=true":                  `{"id":"ID","kind":"transaction","dry_run":true}`,
		"PUT /v1/assets/USD":                                  `{"id":"USD","scale":2}`,
		"PUT /v1/assets/AAPL":                                 `{"id":"AAPL","scale":0}`,
		"PATCH /v1/accounts/jane":                             `{"id":"jane"}`,
		"PUT /v1/accounts/jane":                               `{"id":"jane"}`,
	} {
		answers[request] = answer
	}
	return answers
}

func TestRequestsOfCommands(t *testing.T) {
	s := newStub(t, withHolds())
	file := filepath.Join(t.TempDir(), "transaction.json")
	if err := os.WriteFile(file, []byte(`{"id":"f-1","postings":[{"account":"a","asset":"USD","quantity":"-5"},`+
		`{"account":"b","asset":"USD","quantity":"5"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"transfer jane shop 25.5 USD --id t-1 --description d --metadata a=b=c":                              `POST /v1/transfers {"id":"t-1","description":"d","metadata":{"a":"b=c"},"from":"jane","to":"shop","asset":"USD","quantity":"2550"}`,
		"transfer jane shop 25 USD --id t-1 --minor":                                                         `POST /v1/transfers {"id":"t-1","from":"jane","to":"shop","asset":"USD","quantity":"25"}`,
		"trade --asset AAPL --buyer jane --seller m --quantity 10 --cost 1500 --settle --id t-1":             `POST /v1/trades {"id":"t-1","asset":"AAPL","buyer":"jane","seller":"m","quantity":"10","cost":"150000","settle":true}`,
		"trade --asset USD --buyer jane --seller m --quantity 10 --cost 0 --id t-1":                          `POST /v1/trades {"id":"t-1","asset":"USD","buyer":"jane","seller":"m","quantity":"1000","cost":"0","settle":false}`,
		"transfer jane shop 25.5 USD --id t-1 --hold":                                                        `POST /v1/transfers {"id":"t-1","from":"jane","to":"shop","asset":"USD","quantity":"2550","hold":{}}`,
		"transfer jane shop 25 USD --id t-1 --hold --expires 2026-12-24T18:00:00+01:00":                      `POST /v1/transfers {"id":"t-1","from":"jane","to":"shop","asset":"USD","quantity":"2500","hold":{"expires_at":"2026-12-24T17:00:00Z"}}`,
		"transfer jane shop 25 USD --id t-1 --dry-run":                                                       `POST /v1/transfers?dry_run=true {"id":"t-1","from":"jane","to":"shop","asset":"USD","quantity":"2500"}`,
		"trade --asset AAPL --buyer a --seller b --quantity 1 --cost 0 --id t-1 --hold --expires 2026-12-24": `POST /v1/trades {"id":"t-1","asset":"AAPL","buyer":"a","seller":"b","quantity":"1","cost":"0","settle":false,"hold":{"expires_at":"2026-12-24T00:00:00Z"}}`,
		"capture stay-7":                                             `POST /v1/transactions/stay-7/capture {}`,
		"capture stay-7 --dry-run":                                   `POST /v1/transactions/stay-7/capture?dry_run=true {}`,
		"capture stay-7 312.5":                                       `POST /v1/transactions/stay-7/capture {"quantity":"31250"}`,
		"capture stay-7 31250 --minor":                               `POST /v1/transactions/stay-7/capture {"quantity":"31250"}`,
		"capture t-1 8 --cost 1200.00":                               `POST /v1/transactions/t-1/capture {"quantity":"8","cost":"120000"}`,
		"capture t-1 0 --cost 0":                                     `POST /v1/transactions/t-1/capture {"quantity":"0","cost":"0"}`,
		"capture pay-9 --posting -1.5 --posting 1.5 --posting 2,3.5": `POST /v1/transactions/pay-9/capture {"postings":[{"quantity":"-150","cost":"0"},{"quantity":"150","cost":"0"},{"quantity":"2","cost":"350"}]}`,
		"capture pay-9 --minor --posting -3 --posting 3":             `POST /v1/transactions/pay-9/capture {"postings":[{"quantity":"-3","cost":"0"},{"quantity":"3","cost":"0"}]}`,
		"release stay-7":                                             `POST /v1/transactions/stay-7/release {}`,
		"release stay-7 --description d":                             `POST /v1/transactions/stay-7/release {"description":"d"}`,
		"reverse stay-7 --id r-1":                                    `POST /v1/transactions/stay-7/reversals {"id":"r-1"}`,
		"reverse stay-7 5 --id r-1 --metadata a=b --dry-run":         `POST /v1/transactions/stay-7/reversals?dry_run=true {"id":"r-1","metadata":{"a":"b"},"quantity":"500"}`,
		"account freeze jane":                                        `PATCH /v1/accounts/jane {"state":"frozen"}`,
		"account unfreeze jane":                                      `PATCH /v1/accounts/jane {"state":"open"}`,
		"account close jane --if-version 3":                          `PATCH /v1/accounts/jane {"state":"closed"}`,
		"account change jane --name Jane --overdraft none":           `PATCH /v1/accounts/jane {"name":"Jane","overdraft":{}}`,
		"account change jane --overdraft USD:25 --overdraft AAPL:3":  `PATCH /v1/accounts/jane {"overdraft":{"AAPL":"3","USD":"2500"}}`,
		"account open jane":                                          `PUT /v1/accounts/jane {}`,
		"post --debit users:jane:USD:25 --credit a:USD:24 --credit b:USD:1.00 --id t-1 --dry-run": `POST /v1/transactions?dry_run=true {"id":"t-1","postings":[` +
			`{"account":"users:jane","asset":"USD","quantity":"-2500","cost":"0"},{"account":"a","asset":"USD","quantity":"2400","cost":"0"},{"account":"b","asset":"USD","quantity":"100","cost":"0"}]}`,
		"post " + file + " --dry-run": `POST /v1/transactions?dry_run=true {"id":"f-1","postings":[` +
			`{"account":"a","asset":"USD","quantity":"-5","cost":"0"},{"account":"b","asset":"USD","quantity":"5","cost":"0"}]}`,
		"asset add USD --name Dollar --scale 2":                     `PUT /v1/assets/USD {"name":"Dollar","scale":2}`,
		"asset add AAPL --name Apple --scale 0 --currency USD":      `PUT /v1/assets/AAPL {"name":"Apple","scale":0,"currency":"USD"}`,
		`account open jane --profile {"a":1} --overdraft unlimited`: `PUT /v1/accounts/jane {"profile":{"a":1},"overdraft":"unlimited"}`,
	} {
		s.sent = nil
		code, out, problems := ledger(t, s.URL, strings.Fields(args)...)
		if code != exitDone || out == "" || !slices.Equal(s.sent, []string{want}) {
			t.Errorf("%s: exit %d, %s\n got %q\nwant %q", args, code, problems, s.sent, want)
		}
		if strings.Contains(problems, "nothing was written") != strings.Contains(args, "--dry-run") {
			t.Errorf("%s: %s", args, problems)
		}
	}
}

func TestUsageErrorsOfCommands(t *testing.T) {
	s := newStub(t, withHolds())
	for args, c := range map[string]struct {
		code int
		says string
	}{
		"transfer jane shop 1 USD --expires 2h":          {2, "--expires needs --hold"},
		"transfer jane shop 1 USD --hold --expires 0h":   {2, "36h or 7d"},
		"transfer jane shop 1 USD --hold --expires -3d":  {2, "36h or 7d"},
		"transfer jane shop 1 USD --hold --expires=":     {2, "--expires"},
		"transfer jane shop 1 USD --hold --expires soon": {2, "36h or 7d"},
		"capture":                                {2, "expected ID [QUANTITY], but got 0 arguments"},
		"capture a b c":                          {2, "expected ID [QUANTITY], but got 3 arguments"},
		"capture a/b":                            {2, `ID: "a/b" is not an id`},
		"capture stay-7 1.005":                   {2, "3 decimal places, and there are at most 2"},
		"capture stay-7 --cost 1":                {2, "--cost needs QUANTITY"},
		"capture stay-7 1 --posting 1":           {2, "--posting and QUANTITY cannot be used together"},
		"capture stay-7 --posting 1":             {2, "--posting is given 1 time, but stay-7 has 2 postings"},
		"capture stay-7 --posting 1 --posting x": {2, `"x" is not a decimal number`},
		"capture t-1 1.5":                        {2, "there are at most 0"},
		"capture unknown":                        {1, "not_found"},
		"capture unknown 1":                      {1, "not_found"},
		"release":                                {2, "expected ID, but got 0"},
		"release unknown":                        {1, "not_found"},
		"reverse unknown --id r-1":               {1, "not_found"},
		"reverse stay-7 --id a/b":                {2, "--id"},
		"hold jane --id stay-7":                  {2, "--id and ACCOUNT cannot be used together"},
		"hold --status held":                     {2, "--status needs ACCOUNT"},
		"hold jane --status open":                {2, "held, captured, released, expired"},
		"hold jane --limit 1 --all":              {2, "[all limit] were all set"},
		"hold nobody":                            {1, "not_found"},
		"account nonsense":                       {2, `unknown command "nonsense"`},
		"account list jane":                      {2, "unknown command"},
		"account change jane":                    {2, "at least one of the flags"},
		"account change jane --name=":            {2, "--name must not be empty"},
		"account change jane --profile []":       {2, "must be a JSON object"},
		"account change jane --profile null":     {2, "must be a JSON object"},
		"account change jane --overdraft 5":      {2, "is not asset:amount"},
		"account change jane --overdraft none --overdraft USD:1":  {2, "is not asset:amount"},
		"account change jane --overdraft USD:1.005":               {2, "at most 2"},
		"account change jane --overdraft USD:1 --overdraft USD:2": {2, "given twice"},
		"account freeze": {2, "expected ACCOUNT"},
	} {
		code, out, problems := ledger(t, s.URL, strings.Fields(args)...)
		if code != c.code || out != "" || !strings.Contains(problems, c.says) {
			t.Errorf("%s: exit %d, want %d\n%s\n%s", args, code, c.code, out, problems)
		}
	}
}

// A duration in --expires counts from now. The advice after an unknown outcome has the time instead, because the
// duration would give another time in the next run.
func TestExpiresAfterADuration(t *testing.T) {
	s := newStub(t, withHolds())
	for text, in := range map[string]time.Duration{"36h": 36 * time.Hour, "7d": 7 * 24 * time.Hour, "1.5d": 36 * time.Hour} {
		s.sent = nil
		began := time.Now()
		if code, _, problems := ledger(t, s.URL, "transfer", "jane", "shop", "1", "USD", "--hold", "--expires", text); code != exitDone {
			t.Fatalf("exit %d, %s", code, problems)
		}
		var body struct {
			Hold struct {
				ExpiresAt time.Time `json:"expires_at"`
			}
		}
		sent := s.sent[0]
		if err := json.Unmarshal([]byte(sent[strings.Index(sent, "{"):]), &body); err != nil {
			t.Fatal(err)
		}
		if at := body.Hold.ExpiresAt; at.Before(began.Add(in)) || at.After(time.Now().Add(in+time.Second)) || at.Nanosecond() != 0 {
			t.Errorf("%s: it expires at %s", text, at)
		}
	}
	p := postFlags{id: "t-1", isHold: true, expires: expiry{in: time.Hour}}
	if err := p.complete(); err != nil || !strings.HasSuffix(p.retryAdvice(), " --id t-1 --expires "+p.hold.ExpiresAt.Format(time.RFC3339)) {
		t.Errorf("%+v, %v: advice %s", p.hold, err, p.retryAdvice())
	}
}

// Invalid and contradictory flags are usage errors, and nothing is written.
func TestPostUsageErrors(t *testing.T) {
	s := newStub(t, withHolds())
	for args, want := range map[string]string{
		"post":                               "either a FILE",
		"post file --debit a:USD:1":          "either a FILE",
		"post file --id t-1":                 "--id cannot be used with FILE",
		"post --debit a:USD":                 "account:asset:quantity",
		"post --debit a:USD:-1":              "above zero",
		"post --debit a:USD:1.001 --id t-1":  "decimal places",
		"post --credit a:-x:1":               "begins with a letter",
		"asset add USD --scale 2":            "name",
		"asset add USD --name n --scale 19":  "scale",
		"asset add USD --name n --scale 1.5": "scale",
	} {
		code, out, problems := ledger(t, s.URL, strings.Fields(args)...)
		if code != exitUsage || out != "" || !strings.Contains(problems, want) {
			t.Errorf("%s: exit %d, %s%s", args, code, out, problems)
		}
	}
	for _, request := range s.sent {
		if !strings.HasPrefix(request, "GET ") {
			t.Error(request)
		}
	}
}
