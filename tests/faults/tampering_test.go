package faults

import (
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/tests/harness/system"
)

// logged returns the log entries that have a member.
func logged(s *system.System, member string) (lines []map[string]any) {
	for line := range strings.Lines(s.Log.String()) {
		var fields map[string]any
		if json.Unmarshal([]byte(line), &fields) == nil && fields[member] != nil {
			lines = append(lines, fields)
		}
	}
	return lines
}

// counts returns the sums of a metric in the projector's log, by the key of the record.
func counts(s *system.System, metric string) map[table.Key]int {
	s.T.Helper()
	all := make(map[table.Key]int)
	for _, fields := range logged(s, metric) {
		pk, _ := fields["pk"].(string)
		sk, _ := fields["sk"].(string)
		if fields["level"] != "ERROR" {
			s.T.Errorf("not logged as an error: %v", fields)
		}
		all[table.Key{PK: pk, SK: sk}] += int(fields[metric].(float64))
	}
	return all
}

// tampered starts a ledger with some accounts and transactions on a store that allows changes of events.
func tampered(t *testing.T, options ...system.Option) *system.System {
	t.Helper()
	s := system.New(t, append(options, system.On(system.Memory(system.Tampered)), system.Direct)...)
	s.OpenBooks()
	return s
}

// The projector reports each event that somebody changes, and each item that somebody deletes, although the event
// source mapping filters records. No balance changes by that. In normal use, the filters pass only postings and grants.
func TestTamperingIsReported(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := tampered(t, system.Pumped)
		s.Must(201, "PUT", "/v1/accounts/jane/members/ann", `{"role":"viewer"}`)
		project(s)
		all := s.Contents()
		delivered := 0
		for _, batch := range logged(s, "groups") { // logged by the projector only
			delivered += int(batch["records"].(float64))
		}
		if want := len(s.Projected()); delivered != want {
			t.Errorf("the projector got %d records of %d postings and grants", delivered, want)
		}
		wanted := map[string]map[table.Key]int{"EventsAltered": {}, "EventsDeleted": {}, "ItemsDeleted": {}}
		check := func() {
			t.Helper()
			for metric, want := range wanted {
				if got := counts(s, metric); !maps.Equal(got, want) {
					t.Errorf("%s: %v, wanted %v", metric, got, want)
				}
			}
		}
		check()
		done := map[string]bool{}
		for k, item := range all {
			kind, _, _ := strings.Cut(k.SK, "#")
			if !table.IsEvent(k.SK) || done[kind] {
				continue
			}
			done[kind] = true
			changed := maps.Clone(item)
			changed["Actor"] = table.String("somebody")
			if table.Posting.Is(k.SK) {
				changed["Quantity"] = &types.AttributeValueMemberN{Value: "77"}
			}
			s.Put(changed)
			wanted["EventsAltered"][k] = 1
		}
		project(s)
		check()
		for k, item := range all {
			if _, _, ok := table.Balance.Parse(k); ok && !reflect.DeepEqual(s.Contents()[k], item) {
				t.Errorf("%v moved from %v to %v", k, item, s.Contents()[k])
			}
		}
		for k := range wanted["EventsAltered"] {
			s.Delete(k)
			wanted["EventsDeleted"][k] = 1
		}
		for _, k := range []table.Key{table.Spend.Key("jane", "USD"), table.Balance.Key("market", "USD"),
			table.Summary.Key("jane"), table.Membership.Key("jane", "ann")} {
			s.Delete(k)
			wanted["ItemsDeleted"][k] = 1
		}
		project(s)
		if check(); len(wanted["EventsDeleted"]) != 5 {
			t.Errorf("altered %v", wanted["EventsDeleted"])
		}
	})
}

// The projector compares each copy of an account's newest change with the change. A forged one, with a checksum or
// without, that shows other values, a change that does not exist, or an older change, raises the alarm of altered events
// once. Changes through the API raise none, in whatever order their records come.
func TestForgedCopiesOfAccountsAreReported(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := tampered(t, system.Pumped)
		s.Must(201, "PUT", "/v1/accounts/joe", `{"overdraft":{"USD":"900"}}`)
		k, older := table.Current.Key("joe"), table.Item(nil)
		for i, state := range []string{"frozen", "open", "frozen"} {
			s.Must(200, "PATCH", "/v1/accounts/joe", fmt.Sprintf(`{"state":%q,"name":"Joe %d"}`, state, i))
			if state == "open" {
				older = s.Contents()[k]
			}
		}
		project(s)
		wanted := map[table.Key]int{}
		check := func(what string) {
			t.Helper()
			project(s)
			if got := counts(s, "EventsAltered"); !maps.Equal(got, wanted) {
				t.Errorf("%s: %v, wanted %v", what, got, wanted)
			}
		}
		check("changes of the account")
		right := s.Contents()[k]
		genuine, err := table.DecodeCurrent(right)
		if err != nil {
			t.Fatal(err)
		}
		for what, forge := range map[string]func(*events.AccountChanged){
			"a thawed account": func(c *events.AccountChanged) { c.State = events.StateOpen },
			"an overdraft of more": func(c *events.AccountChanged) {
				c.Overdraft = events.Overdraft{Limits: map[string]events.Amount{"USD": events.NewAmount(99_999_999)}}
			},
			"a change that is not":   func(c *events.AccountChanged) { c.Number++ },
			"another name, no state": func(c *events.AccountChanged) { c.Name, c.State = "Jim", events.StateClosed },
		} {
			forged := genuine
			forge(&forged)
			s.Put(table.NewItemEncoder(1).Current(forged))
			wanted[k]++
			check(what)
		}
		altered := maps.Clone(right)
		altered["State"] = table.String("open") // its checksum is wrong
		s.Put(altered)
		wanted[k]++
		check("a copy without its checksum")
		s.Put(older)
		wanted[k]++
		check("an older change")
		s.Put(right)
		check("the right copy again")
		s.Must(200, "PATCH", "/v1/accounts/joe", `{"state":"open"}`)
		check("a later change")
	})
}

// granted returns the first grant to ann on an account.
func granted(account string) events.MemberGranted {
	at := time.Now().UTC().Truncate(time.Microsecond)
	return events.MemberGranted{Account: account, User: "ann", Role: events.RoleViewer, Number: 1, Actor: "local",
		At: at}
}

// Malformed records are counted in a metric. They must not block postings of other accounts behind them in the shard.
func TestAMalformedRecordDoesNotBlockOthers(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := tampered(t, system.Pumped)
		project(s)
		bad := table.Key{PK: "ACCOUNT#jane", SK: "POSTING#bad"}
		s.Put(table.KeyItem(bad))
		undecodable := system.OldPostings("shop", "USD", 1)[0]
		item := table.EventItem(undecodable)
		item["Quantity"] = table.String("much")
		s.Put(item)
		number := func(n string) types.AttributeValue { return &types.AttributeValueMemberN{Value: n} }
		another := table.EventItem(system.OldPostings("odd", "USD", 1)[0])
		another[table.AttrType], another[table.AttrForm] = table.String("TransactionPosted"), number("9")
		s.Put(another)
		broken := 2
		for i, change := range []table.Item{
			{table.AttrType: nil},
			{table.AttrType: table.String("Oops")},
			{table.AttrType: table.String("Oops"), table.AttrForm: number("9")},
			{table.AttrForm: nil},
			{table.AttrForm: number("0")},
			{table.AttrForm: number("-1")},
			{table.AttrForm: number("2.5")},
			{table.AttrForm: table.String("2")},
		} {
			account := fmt.Sprintf("odd-%d", i)
			posting := table.EventItem(system.OldPostings(account, "USD", 1)[0])
			grant := table.EventItem(granted(account))
			for _, item := range []table.Item{posting, grant} {
				for name, value := range change {
					item[name] = value
					if value == nil {
						delete(item, name)
					}
				}
				s.Put(item)
				broken++
			}
		}
		s.Must(201, "POST", "/v1/transfers", `{"id":"d-2","from":"bank","to":"market","asset":"USD","quantity":"5"}`)
		project(s)
		if got := s.Must(200, "GET", "/v1/accounts/bank/balances/USD", "").Value("quantity"); got != "-500005" {
			t.Errorf("the bank has %v", got)
		}
		// A malformed posting is logged with its account and asset instead of a key.
		if counts := counts(s, "RecordsMalformed"); counts[bad] != 1 || counts[table.Key{}] != broken {
			t.Errorf("malformed: %v, not %d", counts, broken)
		}
		// A malformed key does not block reads of its account either.
		answer := s.Must(200, "GET", "/v1/accounts/jane/balances?consistency=strong", "")
		if balances, _ := answer.Value("data").([]any); len(balances) != 2 {
			t.Errorf("jane has %s", answer.Body)
		}
		if strings.Contains(s.Log.String(), "projection failed") {
			t.Error(s.Log.String())
		}

		// After a repair by hand, the posting is counted together with the next one.
		s.Put(table.EventItem(undecodable))
		s.Must(201, "POST", "/v1/transfers", `{"id":"d-3","from":"bank","to":"shop","asset":"USD","quantity":"5"}`)
		project(s)
		if got := s.Must(200, "GET", "/v1/accounts/shop/balances/USD", "").Value("quantity"); got != "6" {
			t.Errorf("the shop has %v", got)
		}
	})
}

// A new process that cannot decode a balance must add up the postings before it refuses a debit.
func TestAMalformedBalanceDoesNotBlockDebits(t *testing.T) {
	inBubble(t, func(t *testing.T) {
		s := tampered(t)
		s.DeliverAll()
		item := s.Contents()[table.Balance.Key("jane", "USD")]
		item[table.AttrHead] = &types.AttributeValueMemberS{Value: "?"}
		s.Put(item)
		restarted := s.NewProcess(system.Direct)
		restarted.Must(201, "POST", "/v1/transfers",
			`{"id":"covered","from":"jane","to":"bank","asset":"USD","quantity":"350000"}`)
		restarted.Must(422, "POST", "/v1/transfers",
			`{"id":"uncovered","from":"jane","to":"bank","asset":"USD","quantity":"1"}`)
	})
}
