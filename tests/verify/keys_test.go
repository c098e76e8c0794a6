package verify

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/internal/watch/audit"
	"ledger.example/projections"
)

// postingOf returns the key of the i-th posting of a header.
func (b book) postingOf(header table.Key, i int) table.Key {
	leg := fmt.Sprintf("Legs[%d].", i)
	return table.Posting.Key(b.text(header, leg+"Account"), b.text(header, leg+"Asset"), b.text(header, leg+"ID"))
}

// postingsOf returns the keys of all postings of a header.
func (b book) postingsOf(header table.Key) (keys []table.Key) {
	for i := range b[header]["Legs"].(*types.AttributeValueMemberL).Value {
		keys = append(keys, b.postingOf(header, i))
	}
	return keys
}

// holdKey returns the key of a hold's entry in the list of an account.
func (b book) holdKey(account, hold string) table.Key {
	return table.Hold.Key(account, b.text(table.Transaction.Key(hold), "Legs[0].ID"))
}

// expiryKey returns the key of a hold's entry in the list by expiry.
func (b book) expiryKey(hold string) table.Key {
	return table.OpenHold.Key(b.text(table.Transaction.Key(hold), "ExpiresAt"), hold)
}

// listKey returns the key of a transaction's entry in the list by time.
func (b book) listKey(transaction string) table.Key {
	return table.Listed.Key(b.lane(transaction), b.text(table.Transaction.Key(transaction), "Legs[0].ID"), transaction)
}

// lane returns the lane of a transaction's entries in lists; 0 if there is no such transaction.
func (b book) lane(transaction string) string {
	header, err := table.Only[events.TransactionPosted](table.DecodeEvent(b[table.Transaction.Key(transaction)]))
	if err != nil {
		return "0"
	}
	return b.lanes().Of(transaction, header.Recorded())
}

// nextLane returns the lane after that of a transaction.
func (b book) nextLane(transaction string) string {
	return strconv.Itoa(int(number(b.lane(transaction))+1) % b.lanes().Largest())
}

// lanes returns the log of growths.
func (b book) lanes() table.Lanes {
	var grown []events.LanesGrown
	for n := int64(1); ; n++ {
		g, err := table.Only[events.LanesGrown](table.DecodeEvent(b[table.LanesGrown.Key(table.Number(n))]))
		if err != nil {
			return table.LanesOf(grown...)
		}
		grown = append(grown, g)
	}
}

// journalPages returns the keys of the pages of the journal, in order.
func (b book) journalPages() (keys []table.Key) {
	for k := range b {
		if table.Journal.Is(k.SK) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(k, l table.Key) int { return strings.Compare(k.SK, l.SK) })
	return keys
}

// entriesIn returns the entries of a page of the journal.
func (b book) entriesIn(page table.Key) []types.AttributeValue {
	return b[page][table.AttrEntries].(*types.AttributeValueMemberL).Value
}

// findEntry returns the page of the journal with an event, and the index of the entry in the page.
func (b book) findEntry(event table.Key) (page table.Key, at int) {
	for _, k := range b.journalPages() {
		for i, e := range b.entriesIn(k) {
			if eventOf(e) == event {
				return k, i
			}
		}
	}
	panic("the journal does not have " + event.ID())
}

// missingPageFindings returns the findings that a deleted page of the journal causes.
func (b book) missingPageFindings(page table.Key) (wanted wants) {
	for _, e := range b.entriesIn(page) {
		wanted = append(wanted, want{audit.JournalBehind, eventOf(e), ""})
	}
	return wanted
}

// eventOf returns the key of the event of an entry.
func eventOf(entry types.AttributeValue) table.Key {
	k, _ := table.ParseKey(table.Read(entry.(*types.AttributeValueMemberM).Value).Text(table.AttrEvent))
	return k
}

// in returns the keys of an account's items whose sort keys have a prefix, in order.
func (b book) in(account, prefix string) []table.Key {
	var keys []table.Key
	for k := range b {
		if k.PK == table.Account.PK(account) && strings.HasPrefix(k.SK, prefix) {
			keys = append(keys, k)
		}
	}
	slices.SortFunc(keys, func(k, l table.Key) int { return strings.Compare(k.SK, l.SK) })
	return keys
}

func (b book) postings(account, asset string) []table.Key {
	return b.in(account, table.Posting.All(asset).From)
}

func (b book) segments(account, asset string) []table.Key {
	return b.in(account, table.Segment.All(asset).From)
}

// page decodes a page of the journal without checking its checksum.
func (b book) page(k table.Key) projections.JournalPage {
	p := projections.JournalPage{ID: events.KSUID(table.FirstID(k.SK))}
	for _, element := range b.entriesIn(k) {
		entry := table.Read(element.(*types.AttributeValueMemberM).Value)
		at, _ := events.ParseTime(entry.Text(table.AttrAt))
		p.Entries = append(p.Entries, projections.JournalEntry{Event: eventOf(element), At: at})
	}
	return p
}

// listed returns the entries of the journal's pages that are neither void nor altered.
func (b book) listed() map[projections.JournalEntry]bool {
	found := make(map[projections.JournalEntry]bool)
	for _, k := range b.journalPages() {
		p := b.page(k)
		isWhole := b.text(k, table.AttrChecksum) == p.Checksum()
		if b[k][table.AttrVoid] == nil && isWhole && !p.Misplaced(time.Now(), b.lanes()) {
			for _, e := range p.Entries {
				found[e] = true
			}
		}
	}
	return found
}
