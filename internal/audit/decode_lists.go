package audit

import (
	"strconv"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// listed is an entry in a list of transactions. It points to a header.
type listed struct {
	ksuid, transaction string
	name               string // the metadata key by which it is listed; none in the list by time
	held               bool   // it is of a hold
	void               bool   // it was wrong, and lists nothing
}

// readListed is the kind of such entries. The partition may be any of the lists by time: an entry in the wrong one is
// no unknown item.
func readListed(r *reader) (any, bool) {
	v := listed{ksuid: table.FirstID(r.key.SK), transaction: table.LastID(r.key.SK)}
	var ok bool
	if v.name, _, _, _, ok = table.ParseListedMetadata(r.key); !ok {
		for shard := range table.ListShards {
			ok = ok || r.key.PK == table.TransactionsPK(shard)
		}
	}
	if !ok || r.key.SK != table.ListedSK(v.ksuid, v.transaction) {
		return nil, false
	}
	r.keys("", "")
	v.held, v.void = r.flag(table.AttrHeld), r.flag(table.AttrVoid)
	if _, isKSUID := instantOf(v.ksuid); !isKSUID && !v.void {
		r.fault(WrongKey, table.AttrSK, "a KSUID where "+strconv.Quote(v.ksuid)+" stands")
	}
	if !v.void {
		r.checkIDs(v.transaction)
	}
	return v, true
}

// posted is the journal's name for what is no hold. The others are those of holds.
const posted = "posted"

// entriesMax is the most entries of a page of the journal.
const entriesMax = 100

// entryOf is an entry of the journal: that a transaction was posted or held, or how it ended, and when that was
// recorded.
type entryOf struct {
	event       string
	at          time.Time
	transaction string
}

func (e entryOf) String() string {
	return e.event + " at " + e.at.Format(instantForm) + ": " + strconv.Quote(e.transaction)
}

// page is a page of the journal. A void one has no entries.
type page struct{ entries []entryOf }

// page reads the attributes of such a page. Its KSUID says when it was written.
func (r *reader) page(ksuid string) (p page) {
	r.keys("", "")
	if _, ok := instantOf(ksuid); !ok {
		r.fault(WrongKey, table.AttrSK, "a KSUID at its end")
	}
	if r.flag(table.AttrVoid) {
		take[*types.AttributeValueMemberL](r, table.AttrEntries, "a list")
		return p
	}
	r.maps(table.AttrEntries, "entries", 1, entriesMax, func(one *reader) {
		p.entries = append(p.entries, entryOf{
			event: one.oneOf(table.AttrEvent, posted, held, captured, released, expired),
			at:    one.instant(table.AttrAt), transaction: one.id(table.AttrTransaction),
		})
	})
	return p
}
