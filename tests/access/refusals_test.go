package access

import (
	"context"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"ledger.example/events"
	"ledger.example/functions/api"
	"ledger.example/tests/full"
)

// scene is a transaction, and what happens to it before users send requests about it. In its texts, # is its name.
type scene struct {
	name string
	post string
	then []string
}

const (
	transfer = `/v1/transfers {"id":"t_#","from":"a_#","to":"b_#","asset":"OPEN","quantity":"710007"`
	trade    = `/v1/trades {"id":"t_#","buyer":"a_#","seller":"b_#","asset":"SECRET","quantity":"520005",` +
		`"cost":"630006","settle":true`
	// Each account has an asset or an amount that no other one has.
	many = `/v1/transactions {"id":"t_#","postings":[` +
		`{"account":"a_#","asset":"OPEN","quantity":"-710007"},{"account":"b_#","asset":"OPEN","quantity":"300003"},` +
		`{"account":"c_#","asset":"OPEN","quantity":"410004"},` +
		`{"account":"c_#","asset":"SECRET","quantity":"-520005","cost":"-630006"},` +
		`{"account":"d_#","asset":"SECRET","quantity":"520005","cost":"630006"}]`
)

// scenes returns every kind of transaction in every state.
func scenes() (all []scene) {
	for _, of := range [][2]string{{"transfer", transfer}, {"trade", trade}, {"many", many}} {
		kind, post := of[0], of[1]
		capture, reverse := `{"quantity":"200002"}`, `{"id":"r_#","quantity":"100001"}`
		if kind == "trade" {
			capture = `{"quantity":"200002","cost":"210002"}`
			reverse = `{"id":"r_#","quantity":"100001","cost":"110001"}`
		}
		if kind == "many" {
			capture = part("", "-500005", "200002", "300003", "-220002:-230002", "220002:230002")
			reverse = part(`"id":"r_#",`, "-200002", "100001", "100001", "-110001:-120001", "110001:120001")
		}
		captured := "POST /v1/transactions/t_#/capture " + capture
		reversed := "POST /v1/transactions/t_#/reversals "
		state := func(name, hold string, then ...string) {
			all = append(all, scene{kind + "_" + name, post + hold + "}", then})
		}
		const hold = `,"hold":{}`
		state("posted", "")
		state("partly_reversed", "", reversed+reverse)
		state("reversed", "", reversed+`{"id":"r_#"}`)
		state("spent", "", "POST "+`/v1/transfers {"from":"b_#","to":"bank","asset":"OPEN","quantity":"200002"}`)
		state("frozen", "", `PATCH /v1/accounts/b_# {"state":"frozen"}`)
		state("closed", "", `PATCH /v1/accounts/a_# {"state":"closed"}`)
		state("held", hold)
		state("captured", hold, captured)
		state("captured_and_reversed", hold, captured, reversed+reverse)
		state("released", hold, "POST /v1/transactions/t_#/release {}")
		state("expired", `,"hold":{"expires_at":"2026-12-25T00:10:00Z"}`)
	}
	return all
}

// part returns the body of a capture or a reversal that takes amounts of postings: "quantity" or "quantity:cost".
func part(before string, amounts ...string) string {
	for i, a := range amounts {
		quantity, cost, _ := strings.Cut(a+":0", ":")
		cost, _, _ = strings.Cut(cost, ":")
		amounts[i] = `{"quantity":"` + quantity + `","cost":"` + cost + `"}`
	}
	return `{` + before + `"postings":[` + strings.Join(amounts, ",") + `]}`
}

// parts returns the parts that a user can ask for: fitting ones, and those that break each rule for each posting.
func parts() []string {
	all := []string{
		`{#}`, `{#"quantity":"0"}`, `{#"quantity":"1"}`, `{#"quantity":"999999"}`, `{#"quantity":"1","cost":"999999"}`,
		`{#"quantity":"1","postings":[]}`, `{#"postings":[]}`,
	}
	for _, amounts := range [][5]string{
		{"0", "0", "0", "0", "0"},
		{"-2", "1", "1", "0", "0"},
		{"0", "0", "0", "-1:-1", "1:1"},
		{"0", "0", "0", "-1:-650000", "1:650000"},
		{"0", "0", "0", "-540000", "540000"},
		{"-720000", "320000", "400000", "0", "0"},
		{"-720000", "300000", "420000", "0", "0"},
		{"-720000", "310000", "410000", "0", "0"},
	} {
		all = append(all, part("#", amounts[:]...))
	}
	for i := range 5 { // a wrong sign, and a wrong sum
		for _, amount := range []string{"1", "-1", "0:1", "0:-1"} {
			amounts := []string{"0", "0", "0", "0", "0"}
			amounts[i] = amount
			all = append(all, part("#", amounts...))
		}
	}
	return all
}

// player is a user with a role on some of the accounts a to d of every scene.
type player struct {
	name     string
	role     events.Role
	accounts string
	direct   bool // not by a group
}

// players returns a user without roles, one with all, an operator or owner for each set of accounts, and some viewers.
func players() (all []player) {
	sets := []string{"a", "b", "d", "bc"}
	if full.Enabled() {
		sets = []string{"a", "b", "d", "bc", "c", "ab", "ac", "ad", "bd", "cd", "abc", "abd", "acd", "bcd"}
	}
	all = []player{{name: "stranger"}, {"placer", "owner", "abcd", true}}
	for i, accounts := range sets {
		strong := []events.Role{events.RoleOperator, events.RoleOwner}[i%2]
		all = append(all, player{string(strong) + "_" + accounts, strong, accounts, i/2%2 == 0})
		if i < 4 {
			all = append(all, player{"viewer_" + accounts, "viewer", accounts, i%2 == 0})
		}
	}
	return all
}

// cast are the grants of players, by their names. Accounts with the same first letter are in a group.
type cast map[string]player

func (c cast) NewestGrant(_ context.Context, account, user string) (events.Role, int64, error) {
	if p := c[user]; p.direct && p.sees(account) {
		return p.role, 1, nil
	}
	return "", 0, nil
}

func (c cast) NewestGroupGrant(_ context.Context, group, user string) (events.Role, int64, error) {
	if p := c[user]; p.sees(group) {
		return p.role, 1, nil
	}
	return "", 0, nil
}

func (cast) NewestGroups(_ context.Context, account string) ([]string, int64, error) {
	return []string{account[:1]}, 1, nil
}

func (p player) sees(account string) bool {
	return strings.Contains(p.accounts, account[:min(1, len(account))])
}

// Every refusal of a capture, a release or a reversal, to a user with a role on some of the transaction's accounts. It
// has the code and the fields that it has for an administrator, but names no account, asset, amount or sign of a
// posting that the user may not see. Nor does a dry run.
func TestRefusalsNameNothingHidden(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		time.Sleep(27 * 365 * 24 * time.Hour) // a bubble's clock starts in 2000, before the first time of a KSUID
		users, roles := players(), cast{}
		for _, u := range users {
			roles[u.name] = u
		}
		f := newFleet(t, func(c *api.Config) { c.Grants = roles })
		f.must(`PUT /v1/assets/OPEN {"name":"Open","scale":0}`)
		f.must(`PUT /v1/assets/SECRET {"name":"Secret","scale":0,"currency":"OPEN"}`)
		all := scenes()
		for _, s := range all {
			f.stage(s)
		}
		time.Sleep(time.Hour) // some holds expire
		codes := make(map[string]int)
		for i, s := range all {
			var some []string
			for n, body := range parts() {
				if n == 0 || (n+i)%4 == 0 || full.Enabled() {
					some = append(some, body)
				}
			}
			f.requests(s, users, some, codes)
		}
		t.Log(codes)
		for _, code := range []string{
			"invalid_transaction", "unbalanced", "not_a_hold", "hold_ended", "hold_expired", "exceeds_hold", "nothing_captured",
			"nothing_to_reverse", "exceeds_reversible", "insufficient_funds", "account_frozen", "account_closed",
			"transaction_id_reused", "forbidden", "transaction_not_found", "",
		} {
			if codes[code] == 0 {
				t.Errorf("no answer has the code %q", code)
			}
		}
	})
}

// stage posts the transaction of a scene. A user places the holds, so that users may end them.
func (f *fleet) stage(s scene) {
	f.t.Helper()
	fill := func(text string) string { return strings.ReplaceAll(text, "#", s.name) }
	for _, letter := range []string{"a", "b", "c", "d"} {
		account := letter + "_" + s.name
		f.must("PUT /v1/accounts/" + account + " {}")
	}
	for _, to := range []string{"a OPEN 710007", "b SECRET 520005", "c SECRET 520005"} {
		var letter, asset, quantity string
		_, _ = fmt.Sscan(to, &letter, &asset, &quantity)
		f.must(fill(`POST /v1/transfers {"from":"bank","to":"` + letter + `_#","asset":"` + asset + `","quantity":"` +
			quantity + `"}`))
	}
	if w := send(f.all[0], fill("POST "+s.post), "placer"); w.Code != 201 {
		f.t.Errorf("%s: %d %s", s.name, w.Code, w.Body)
	}
	for _, then := range s.then {
		if strings.Contains(then, "closed") { // it needs empty balances
			if strings.HasPrefix(s.name, "trade") {
				f.must(fill(`POST /v1/transfers {"from":"a_#","to":"bank","asset":"SECRET","quantity":"520005"}`))
				f.must(fill(`POST /v1/transfers {"from":"a_#","to":"bank","asset":"OPEN","quantity":"80001"}`))
			}
			for _, asset := range []string{"OPEN", "SECRET"} {
				_ = f.projector.Refold(f.t.Context(), events.Pair{Account: fill("a_#"), Asset: asset}, nil)
			}
		}
		f.must(fill(then))
	}
}

// requests sends every request about a scene with each of the parts, as every user. It counts the codes of the answers.
func (f *fleet) requests(s scene, users []player, parts []string, codes map[string]int) {
	f.t.Helper()
	all := read(send(f.admin, "GET /v1/transactions/t_"+s.name, ""))
	try := func(action, body string) {
		line := "POST /v1/transactions/t_" + s.name + "/" + action + "?dry_run=true " + body
		admins := send(f.admin, line, "")
		want := read(admins)
		for n, u := range users {
			if action != "release" && !slices.ContainsFunc(all.Postings, func(l shownLeg) bool { return u.sees(l.Account) }) {
				continue
			}
			w := send(f.all[n%len(f.all)], line, u.name)
			got := read(w)
			codes[got.Code]++
			wrong := leak(w, all, want, u.sees)
			if wrong == "" && w.Code != 403 && w.Code != 404 {
				wrong = lacks(got, want, w.Code == admins.Code, all, u.sees)
			}
			if wrong != "" {
				f.t.Errorf("%s by %s: %s:\n%s", line, u.name, wrong, w.Body)
			}
			if w.Code >= 300 {
				real := send(f.all[0], strings.Replace(line, "?dry_run=true", "", 1), u.name)
				if a, b := withoutID(w), withoutID(real); a != b {
					f.t.Errorf("%s by %s: a dry run answers otherwise:\n%s\n%s", line, u.name, a, b)
				}
			}
		}
	}
	for _, body := range parts {
		try("capture", strings.Replace(body, "#", "", 1))
		try("reversals", strings.Replace(strings.Replace(body, "#", `"id":"new",`, 1), ",}", "}", 1))
	}
	try("release", "{}")
	try("reversals", `{"id":"d"}`) // the id of another transaction
}

// withoutID formats an answer without its request id.
func withoutID(w *httptest.ResponseRecorder) string {
	return fmt.Sprint(w.Code, requestID.ReplaceAllString(w.Body.String(), ""))
}
