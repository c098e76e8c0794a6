package tests

import (
	"encoding/json"
	"log/slog"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/projections"
	projectionsdynamo "ledger.example/projections/dynamo"
	"ledger.example/tests/process"
)

// mending is a table on which projections are damaged, past the ledger, and rebuilt.
type mending struct {
	testing.TB
	client    *dynamodb.Client
	table     string
	projector *projections.Projector
}

func newMending(t testing.TB, client *dynamodb.Client, table string) *mending {
	views := projectionsdynamo.NewViews(client, table)
	return &mending{t, client, table, projections.NewProjector(views, nil, slog.New(slog.DiscardHandler))}
}

func (m *mending) put(item wire.Item) {
	m.Helper()
	if _, err := m.client.PutItem(m.Context(), &dynamodb.PutItemInput{TableName: &m.table, Item: item}); err != nil {
		m.Fatal(err)
	}
}

func (m *mending) take(k table.Key) {
	m.Helper()
	if _, err := m.client.DeleteItem(m.Context(), &dynamodb.DeleteItemInput{TableName: &m.table, Key: wire.Key(k)}); err != nil {
		m.Fatal(err)
	}
}

func (m *mending) contents() map[table.Key]wire.Item {
	m.Helper()
	return (&system{t: m.TB, plain: m.client, table: m.table}).contents()
}

// rebuild rebuilds accounts, and returns the keys of what was other than it is to be.
func (m *mending) rebuild(dry bool, accounts ...string) (different []table.Key) {
	m.Helper()
	for _, account := range accounts {
		err := m.projector.RebuildAccount(m.Context(), account, "", dry, func(p projections.Part) {
			if p.Err != nil || len(p.Strays) > 0 {
				m.Errorf("%+v", p)
			}
			for _, d := range p.Differences {
				different = append(different, d.Key)
			}
		})
		if err != nil {
			m.Fatal(err)
		}
	}
	return different
}

func inJSON(item wire.Item) string {
	raw, err := json.Marshal(item)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}

// withoutVersions are projections as they are but for their versions, which only grow.
func withoutVersions(contents map[table.Key]wire.Item) map[table.Key]wire.Item {
	bare := make(map[table.Key]wire.Item, len(contents))
	for k, item := range contents {
		bare[k] = maps.Clone(item)
		delete(bare[k], table.AttrVersion)
	}
	return bare
}

// Each way in which an item of a projection can be wrong in a table is found, told by a dry run that writes nothing, and mended to
// what a projector had made of the events. What hangs on the store's conditions is tried on DynamoDB Local as well.
func TestRebuildMendsItems(t *testing.T) {
	t.Parallel()
	mendItems(t, false, newTableInMemory)
	mendItems(t, true, newTable)
}

func mendItems(t *testing.T, unversioned bool, open func(testing.TB) (*dynamodb.Client, string)) {
	client, name := open(t)
	m := newMending(t, client, name)
	n := 700
	if unversioned {
		n = 3
	}
	for _, fact := range old("bank", "USD", n) {
		m.put(wire.EventItem(fact))
	}
	err := eventSeed{client, name}.Grant(t.Context(), projections.Membership{Account: "bank", User: "u-17", Role: events.RoleViewer, Number: 1})
	if err != nil {
		t.Fatal(err)
	}
	if missing := m.rebuild(false, "bank"); len(missing) < 2 {
		t.Fatalf("nothing was projected: %v", missing)
	}
	if wrong := m.rebuild(true, "bank"); len(wrong) > 0 {
		t.Fatalf("what a rebuild made is wrong: %v", wrong)
	}
	sound := m.contents()
	balance, summary, member := table.BalanceKey("bank", "USD"), table.SummaryKey("bank"), table.MembershipKey("bank", "u-17")
	var segments []table.Key
	for k := range sound {
		if _, _, _, ok := table.ParseSegment(k); ok {
			segments = append(segments, k)
		}
	}
	slices.SortFunc(segments, func(a, b table.Key) int { return strings.Compare(a.SK, b.SK) })
	if unversioned {
		segments = make([]table.Key, 2) // none is damaged
	} else if len(segments) != 2 {
		t.Fatalf("segments %v", segments)
	}
	text, wrong := wire.String("nonsense"), wire.Integer(77)
	change := func(k table.Key, name string, value types.AttributeValue) func() {
		return func() {
			item := maps.Clone(sound[k])
			if item[name] = value; value == nil {
				delete(item, name)
			}
			m.put(item)
		}
	}
	figure := func(fold string) func() {
		return func() {
			head := maps.Clone(wire.Read(sound[balance]).Map(fold))
			head[table.AttrCredits] = wrong
			change(balance, fold, wire.Map(head))()
		}
	}
	for _, c := range []struct {
		name   string
		key    table.Key // told of by a dry run
		damage func()
	}{
		{"a lost balance", balance, func() { m.take(balance) }},
		{"a wrong head", balance, figure(table.AttrHead)},
		{"a wrong seal", balance, figure(table.AttrSeal)},
		{"a wrong base", balance, figure(table.AttrBase)},
		{"an unreadable head", balance, change(balance, table.AttrHead, text)},
		{"a version that is a text", balance, change(balance, table.AttrVersion, text)},
		{"a version that is a list", balance, change(balance, table.AttrVersion, &types.AttributeValueMemberL{})},
		{"no version", balance, change(balance, table.AttrVersion, nil)},
		{"version 0", balance, change(balance, table.AttrVersion, wire.Integer(0))},
		{"a wrong first posting", balance, change(balance, table.AttrFirst, text)},
		{"a balance of another kind", balance, change(balance, table.AttrType, text)},
		{"a balance that is not in its index", balance, change(balance, table.AttrPK2, nil)},
		{"a balance with one attribute more", balance, change(balance, "Nonsense", wrong)},
		{"a balance that is left unfinished", balance, change(balance, table.AttrUnfinished, wire.Flag(true))},
		{"a first and lost segment", segments[0], func() { m.take(segments[0]) }},
		{"a last and lost segment", balance, func() { m.take(segments[1]) }},
		{"a wrong count in a segment", segments[0], change(segments[0], table.AttrCount, wrong)},
		{"a wrong sum in a segment", segments[1], change(segments[1], table.AttrCredits, wrong)},
		{"an unreadable segment", segments[0], change(segments[0], table.AttrDebits, text)},
		{"a segment that begins elsewhere", segments[1], change(segments[1], table.AttrAfter, nil)},
		{"a lost summary", summary, func() { m.take(summary) }},
		{"a wrong summary", summary, change(summary, table.AttrAssets, wrong)},
		{"an unreadable summary", summary, change(summary, table.AttrHoldings, text)},
		{"a summary without a version", summary, change(summary, table.AttrVersion, nil)},
		{"a lost membership", member, func() { m.take(member) }},
		{"a membership of another role", member, change(member, table.AttrRole, wire.String(string(events.RoleOwner)))},
		{"a membership of a grant to come", member, change(member, table.AttrNumber, wrong)},
		{"a membership with a text for a number", member, change(member, table.AttrNumber, text)},
		{"a membership that is not in its index", member, change(member, table.AttrPK2, nil)},
	} {
		if unversioned && !strings.Contains(c.name, "version") && !strings.Contains(c.name, "lost balance") && !strings.Contains(c.name, "number") {
			continue
		}
		c.damage()
		damaged := m.contents()
		if would := m.rebuild(true, "bank"); !slices.Contains(would, c.key) {
			t.Errorf("%s: a dry run told of %v", c.name, would)
		}
		if !reflect.DeepEqual(m.contents(), damaged) {
			t.Errorf("%s: a dry run wrote", c.name)
		}
		m.rebuild(false, "bank")
		if again := m.rebuild(true, "bank"); len(again) > 0 {
			t.Errorf("%s: still wrong: %v", c.name, again)
		}
		mended := m.contents()
		got, want := withoutVersions(mended), withoutVersions(sound)
		if strings.Contains(c.name, "lost segment") { // the next stretch, or the open one, has its postings
			got[balance], want[balance] = wire.Read(got[balance]).Map(table.AttrHead), wire.Read(want[balance]).Map(table.AttrHead)
			for _, k := range segments {
				delete(got, k)
				delete(want, k)
			}
		}
		if !reflect.DeepEqual(got, want) {
			for k := range want {
				if !reflect.DeepEqual(got[k], want[k]) {
					t.Errorf("%s: %v became\n%v, wanted\n%v", c.name, k, inJSON(got[k]), inJSON(want[k]))
				}
			}
			t.Fatalf("%s: %d items, wanted %d", c.name, len(got), len(want))
		}
		for k, item := range sound { // for the next
			if !reflect.DeepEqual(mended[k], item) {
				m.put(item)
			}
		}
	}
}

// A table is mended by the command while callers post, readers read strongly and the pump runs; a dry run first. In the end all that
// is projected is what strong reads say.
func TestRebuildWhileServing(t *testing.T) {
	t.Parallel()
	s := newSystem(t, withoutPump)
	s.OpenBooks()
	putEvents(t, s, old("bank", "USD", 600))
	m := newMending(t, s.plain, s.table)
	m.rebuild(false, "bank", "jane", "market")
	s.startPump()
	s.project()
	hurt := table.BalanceKey("bank", "USD")
	for k, item := range s.contents() {
		if _, _, _, ok := table.ParseSegment(k); ok {
			item[table.AttrCount] = wire.Integer(7)
			m.put(item)
		}
		if k == hurt {
			wire.Read(item).Map(table.AttrHead)[table.AttrCredits] = wire.Integer(7)
			m.put(item)
		}
		if k == table.SummaryKey("jane") {
			m.take(k)
		}
	}
	at := []string{"--dynamodb-endpoint", store.Endpoint, "--table", s.table, "--json"}
	before := s.contents()
	out, problems, status := process.Run(t, "", append([]string{"rebuild", "--dry-run"}, at...)...)
	if status != 1 || !strings.Contains(out, hurt.SK) || !strings.Contains(out, `"mended":false`) || !strings.Contains(problems, "items are wrong") {
		t.Errorf("dry run: status %d: %s%s", status, out, problems)
	}
	if !reflect.DeepEqual(s.contents(), before) {
		t.Error("a dry run wrote")
	}

	stop, posted := make(chan struct{}), make(chan int)
	go func() {
		n := 0
		for {
			select {
			case <-stop:
				posted <- n
				return
			default:
				if r, err := s.Try("POST", "/v1/transfers", `{"from":"bank","to":"jane","asset":"USD","quantity":"1"}`); err == nil && r.Status == 201 {
					n++
				}
				_, _ = s.Try("GET", "/v1/accounts/bank/balances/USD?consistency=strong", "")
				// About what a busy account has: the store of this machine answers ten times slower than the real one, so without
				// a pause no rebuild finds the time between two of the projector's writes.
				time.Sleep(time.Second / 2)
			}
		}
	}()
	out, problems, status = process.Run(t, "", append([]string{"rebuild"}, at...)...)
	close(stop)
	if n := <-posted; n == 0 {
		t.Error("nothing was posted meanwhile")
	}
	var last struct{ Failed, Strays, Items int }
	lines := strings.Split(strings.TrimSpace(out), "\n")
	if err := json.Unmarshal([]byte(lines[len(lines)-1]), &last); err != nil || status != 0 || last.Failed+last.Strays > 0 || last.Items < 2 {
		t.Errorf("status %d: %s%s (%v)", status, out, problems, err)
	}
	s.project()
	if wrong := m.rebuild(true, "bank", "jane", "market"); len(wrong) > 0 {
		t.Errorf("still wrong: %v", wrong)
	}
	s.wantProjected("bank USD", "jane USD")
}
