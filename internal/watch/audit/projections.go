package audit

import (
	"fmt"
	"math/big"
	"reflect"
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// listEntry is an entry in a list of transactions.
type listEntry struct {
	KSUID       string `is:"-text"` // of the first leg
	Transaction string `is:"-text"`
	Name        string `is:"-text"` // the metadata key of the list; "" in the list by time
	Held        bool   `is:"flag?"` // the transaction is a hold
	Void        bool   `is:"flag?"` // a rebuild found the entry wrong; it lists nothing
}

func (v *listEntry) check(r *reader) {
	if v.Void {
		return
	}
	for _, part := range []struct{ text, rule string }{{v.KSUID, "ksuid"}, {v.Transaction, "id"}} {
		if is := rules[part.rule]; !is.fits(part.text) {
			r.fault(WrongKey, table.AttrSK, is.wanted+" instead of "+strconv.Quote(part.text))
		}
	}
}

// entriesMax is the maximum number of entries in a page of the journal.
const entriesMax = 100

// journalEntry is an entry of the journal.
type journalEntry struct {
	Event table.Key `is:"event"`   // of the event's item
	At    time.Time `is:"instant"` // when the event was recorded
}

func (e journalEntry) String() string {
	return strconv.Quote(e.Event.ID()) + " at " + e.At.Format(instantForm)
}

// subject returns the id of the transaction that the event belongs to. Other events stand for themselves.
func (e journalEntry) subject() string {
	if id, ok := table.Transaction.Parse(e.Event); ok {
		return id
	}
	if hold, ok := table.Outcome.Parse(e.Event); ok {
		return hold
	}
	return e.Event.ID()
}

// entryOf returns the entry that the journal must have for an item. ok is false for items that are no events, and for
// events that follow from others.
func entryOf(value any, key table.Key) (e journalEntry, ok bool) {
	if v, ok := value.(interface{ when() time.Time }); ok {
		return journalEntry{key, v.when()}, true
	}
	return e, false
}

// journalPage is a page of the journal. A void page has no entries.
type journalPage struct {
	Lane     string    `is:"-id"`
	KSUID    string    `is:"-ksuid"`
	Checksum string    `is:"text?"` // "": none is stored
	Void     bool      `is:"flag?"`
	Entries  entries   `is:"list"`
	at       time.Time // when it was written, by its KSUID
}

func (p *journalPage) check(*reader) { p.at, _ = instantOf(p.KSUID) }

// entries are those of a page. Those of a void page may be the ones that were altered.
type entries []journalEntry

func (all *entries) read(r *reader, name string, v types.AttributeValue) (ok bool) {
	if _, ok = v.(*types.AttributeValueMemberL); r.has(table.AttrVoid) {
		return ok
	}
	return r.list(name, v, "entries", 1, entriesMax, func(one *reader) {
		var e journalEntry
		one.fill(&e)
		*all = append(*all, e)
	})
}

// cursor is how far a target got in the journal. Nothing depends on it: an event is delivered again, or not yet.
type cursor struct {
	After   string    `is:"position"`
	At      time.Time `is:"instant?"`
	Version int64     `is:"writes"`
}

// balance is the projection of one asset of one account. The seal counts all postings of the base, the head all
// postings of the seal.
type balance struct {
	Account    string `is:"id"`
	Asset      string `is:"id"`
	Version    int64  `is:"version"` // 0: no balance is stored
	Base       fold   `is:"map?"`
	Seal       fold   `is:"map?"`
	Head       fold   `is:"map?"`
	First      string `is:"ksuid?"`
	Unfinished bool   `is:"flag?"`
}

func (b *balance) index(*reader) (sk2, pk2 string) { return "", table.Balance.PK2(b.Asset) }

func (b *balance) check(r *reader) {
	for name, f := range map[string]*fold{table.AttrBase: &b.Base, table.AttrSeal: &b.Seal, table.AttrHead: &b.Head} {
		if !r.has(name) {
			*f = noFold()
		}
	}
}

// segment is a fold of the postings after one KSUID and through another. It is below the base of its balance. Its key
// ends with the KSUID of its last posting.
type segment struct {
	Account string `is:"-id"`
	Asset   string `is:"-id"`
	After   string `is:"ksuid?"`
	fold
}

func (s *segment) check(r *reader) { s.readSums(r) }

// read reads the sums of at least one posting.
func (f *fold) read(r *reader, name string, v types.AttributeValue) bool {
	m, ok := v.(*types.AttributeValueMemberM)
	if ok {
		r.inner(name, m.Value, func(inner *reader) {
			inner.fill(f)
			f.readSums(inner)
		})
	}
	return ok
}

func (f *fold) readSums(r *reader) {
	for i, figure := range foldSums {
		is := rules["sum"]
		if figure.isSigned {
			is = rules["signed sum"]
		}
		f.sums[i] = new(big.Int)
		r.read(column{name: figure.name, rule: is, isOptional: figure.ofHolds}, reflect.ValueOf(&f.sums[i]).Elem())
		if figure.ofHolds && r.has(figure.name) && !r.broken && f.sums[i].Sign() == 0 {
			r.fault(WrongValue, figure.name, "a number that is not 0, or no such attribute")
		}
	}
}

// summary counts the balances of an account (assets), and its balances with a quantity (holdings).
type summary struct {
	Version  int64  `is:"version"`
	Assets   int64  `is:"count"`
	Holdings int64  `is:"count"`
	First    string `is:"ksuid?"`
}

func (s summary) String() string {
	return fmt.Sprintf("assets %d, holdings %d, first %q", s.Assets, s.Holdings, s.First)
}

// guard limits the debits of an asset on an account with a limit. Commands write it together with the postings.
type guard struct {
	Account string   `is:"-id"`
	Asset   string   `is:"-id"`
	Spent   *big.Int `is:"sum"`     // the sum of all debits, holds included
	Change  int64    `is:"number?"` // the newest version of the account that was written to the guard; 0: none

	rates map[string]guardRate // by name
}

func (g *guard) check(r *reader) { g.rates = readGuardRates(r) }
