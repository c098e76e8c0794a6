package verify

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// Keys of the holds of the book, and of what is about them.
var (
	annUSD, shopUSD = table.BalanceKey("ann", "USD"), table.BalanceKey("shop", "USD")
	openHold        = table.TransactionKey("h-open")
	wholeEnd        = table.OutcomeKey("h-whole")
	partEnd         = table.OutcomeKey("h-part")
	backEnd         = table.OutcomeKey("h-back")
)

// entry is the key of an account's entry of a hold.
func (b book) entry(account, hold string) table.Key {
	return table.HoldKey(account, b.text(table.TransactionKey(hold), "Legs[0].ID"))
}

// expiry is the key of a hold's entry by expiry.
func (b book) expiry(hold string) table.Key {
	return table.OpenHoldKey(b.text(table.TransactionKey(hold), "ExpiresAt"), hold)
}

// entries are the keys of the entries of a hold of ann's for shop.
func (b book) entries(hold string) []table.Key {
	return []table.Key{b.entry("ann", hold), b.entry("shop", hold), b.expiry(hold)}
}

// counted is what is found of the folds that count a posting which was altered or deleted.
func (b book) counted(k table.Key, ofBalance, ofSegment audit.Code) wants {
	account, asset, id, _ := table.ParsePosting(k)
	wanted := each(ofBalance, table.BalanceKey(account, asset))
	for _, s := range b.segments(account, asset) {
		if table.LastID(s.SK) >= id {
			return append(wanted, want{ofSegment, s, ""})
		}
	}
	return wanted
}

// uncounted is what is found of a posting that was deleted and counted.
func (b book) uncounted(k table.Key) wants {
	return b.counted(k, audit.BalanceCountsMore, audit.SegmentCountsMore)
}

// expires is a hold with another time of expiry, which its entry by expiry is not under.
func (b book) expires(name, hold string, at time.Time, more ...want) corruption {
	expires := events.FormatTime(at)
	return corruption{name, set(table.TransactionKey(hold), "ExpiresAt", ddb.String(expires)),
		append(wants{{audit.HoldEntryBehind, table.OpenHoldKey(expires, hold), ""},
			{audit.HoldEntryWithoutHold, b.expiry(hold), ""}}, more...)}
}

// ofHolds are seen between a hold, its end and their postings.
func (b book) ofHolds() []corruption {
	opened, part, back := b.postingsOf(openHold), b.postingsOf(partEnd), b.postingsOf(backEnd)
	wrongEnd := want{audit.EndWrong, partEnd, "Legs"}
	// captured is an end of h-part, of which other quantities were captured than are in the postings.
	captured := func(name string, from, to int64, wanted ...want) corruption {
		for i, isOther := range []bool{from != -40, to != 40} {
			if isOther {
				wanted = append(wanted, want{audit.PostingDiffers, part[i], ""})
			}
		}
		return corruption{name, all(set(partEnd, "Legs[0].Quantity", ddb.Integer(from)),
			set(partEnd, "Legs[1].Quantity", ddb.Integer(to))), wanted}
	}
	endOf := func(name, id string) corruption {
		k := table.OutcomeKey(id)
		return corruption{name, all(put(k, backEnd), set(k, "Transaction", ddb.String(id))),
			each(audit.EndWithoutHold, k)}
	}
	early, _, err := events.NewMinter(long, nil).Mint(2)
	if err != nil {
		panic(err)
	}
	trade, late, claiming := table.OutcomeKey("h-trade"), table.TransactionKey("h-late"), table.OutcomeKey("h-open")
	segment, guard := b.segments("shop", "USD")[0], table.SpendKey("ann", "USD")
	return []corruption{
		{"placing posting gone", drop(opened[1]), append(b.uncounted(opened[1]),
			want{audit.PostingMissing, opened[1], ""}, want{audit.AssetUnbalanced, usd, ""})},
		{"placing posting of less", add(opened[0], "Pending", 10),
			append(b.counted(opened[0], audit.BalanceWrong, audit.SegmentWrong),
				want{audit.PostingDiffers, opened[0], ""}, want{audit.AssetUnbalanced, usd, ""},
				want{audit.GuardWrong, guard, table.AttrSpent})},
		{"ending posting gone", drop(part[1]), append(b.uncounted(part[1]),
			want{audit.PostingMissing, part[1], ""}, want{audit.AssetUnbalanced, usd, ""})},
		{"ending posting of more than was held", set(part[1], "Quantity", ddb.Integer(101)),
			wants{{audit.WrongValue, part[1], "Pending"}}},
		{"ending posting of another end", set(back[0], "Phase", ddb.String("expired")),
			each(audit.PostingDiffers, back[0])},
		wrong("posting of a hold with the version of others", opened[0], table.AttrEventVersion, ddb.Integer(2),
			audit.WrongValue),
		{"end gone", drop(backEnd), append(each(audit.PostingWithoutEnd, back...),
			each(audit.HoldEntryWithoutHold, b.entries("h-back")...)...)},
		{"end that cannot be read", unset(backEnd, "Actor"), wants{{audit.MissingAttribute, backEnd, "Actor"}}},
		{"end and its postings gone", drop(append(back, backEnd)...), slices.Concat(b.uncounted(back[0]),
			b.uncounted(back[1]), each(audit.HoldEntryWithoutHold, b.entries("h-back")...))},
		captured("end of more than was held", -140, 140, wrongEnd),
		captured("end of another sign", 40, -40, wrongEnd),
		captured("end of nothing captured", 0, 0, wrongEnd),
		captured("end that doesn't balance", -41, 40, want{audit.TransactionUnbalanced, partEnd, "Legs"}),
		{"end before its hold", all(set(partEnd, "Legs[0].ID", ddb.String(string(early[0]))),
			set(partEnd, "Legs[1].ID", ddb.String(string(early[1])))),
			slices.Concat(wants{wrongEnd}, each(audit.PostingWithoutTransaction, part...), each(audit.PostingMissing,
				table.PostingKey("ann", "USD", string(early[0])), table.PostingKey("shop", "USD", string(early[1]))))},
		{"end of other accounts", set(partEnd, "Legs[1].Account", ddb.String("bank")),
			wants{wrongEnd, {audit.PostingWithoutTransaction, part[1], ""}, {audit.PostingMissing, moved(part[1], "bank"), ""}}},
		b.expires("captured after it expired", "h-part", time.Now().Add(-3*time.Hour), wrongEnd),
		b.expires("expired before its time", "h-late", time.Now().Add(time.Hour),
			want{audit.EndWrong, table.OutcomeKey("h-late"), "Legs"},
			want{audit.FingerprintDiffers, late, "Fingerprint"}),
		{"cash that is not the cost", all(add(trade, "Legs[2].Quantity", 1), add(trade, "Legs[3].Quantity", -1)),
			append(each(audit.PostingDiffers, b.postingsOf(trade)[2:]...), want{audit.EndWrong, trade, "Legs"})},
		endOf("end of a transaction that is no hold", "d-0"),
		endOf("end of a transaction that there isn't", "nothing"),
		{"second claim on the end of another hold", all(put(claiming, wholeEnd),
			set(claiming, "Transaction", ddb.String("h-open"))),
			append(each(audit.HoldEntryBehind, b.entries("h-open")...), want{audit.TransactionClaimsOthers, claiming, "Legs"})},
		b.expires("hold for too long", "h-open", time.Now().Add(40*24*time.Hour),
			want{audit.TransactionShape, openHold, "ExpiresAt"}),
		{"hold that was asked for otherwise", all(
			set(openHold, "Fingerprint", b.value(table.TransactionKey("h-back"), "Fingerprint")),
			set(openHold, "Description", ddb.String("Dinner"))),
			append(each(audit.PostingDiffers, opened...), want{audit.FingerprintDiffers, openHold, "Fingerprint"})},
		{"pending debits of a balance", add(annUSD, "Head.PendingDebits", 1), each(audit.BalanceWrong, annUSD)},
		{"pending credits of a balance", add(shopUSD, "Seal.PendingCredits", -1), each(audit.BalanceWrong, shopUSD)},
		{"what a balance was given back", add(annUSD, "Head.Returned", -60), each(audit.BalanceWrong, annUSD)},
		{"pending credits of a segment", add(segment, table.AttrPendingCredits, 1), each(audit.SegmentWrong, segment)},
		wrong("balance that doesn't say it counts holds", annUSD, table.AttrType, ddb.String(table.KindBalance),
			audit.WrongValue),
		wrong("balance that says it counts holds", bankUSD, table.AttrType, ddb.String(table.KindBalanceWithHolds),
			audit.WrongValue),
		wrong("segment that doesn't say it counts holds", segment, table.AttrType, ddb.String(table.KindSegment),
			audit.WrongValue),
		wrong("sum of nothing that should be absent", shopUSD, "Head.Returned", ddb.Integer(0), audit.WrongValue),
		{"guard lowered by what was given back", add(guard, table.AttrSpent, -60),
			wants{{audit.GuardWrong, guard, table.AttrSpent}}},
	}
}

// sealed gives a copy of an event, in an entry of a hold, the checksum of what it is now.
func sealed(k table.Key, name string) change {
	return func(b book) {
		b.set(k, name+"."+table.AttrChecksum, ddb.String(checksumOf(b[k][name].(*types.AttributeValueMemberM).Value)))
	}
}

// ofHoldEntries are seen between holds and their lists.
func (b book) ofHoldEntries() []corruption {
	ofOpen, ofPart := b.entry("ann", "h-open"), b.entry("ann", "h-part")
	openAtShop, partAtShop := b.entry("shop", "h-open"), b.entry("shop", "h-part")
	openByExpiry, partByExpiry := b.expiry("h-open"), b.expiry("h-part")
	openID, partID := table.FirstID(ofOpen.SK), table.FirstID(ofPart.SK)
	inIndex := ddb.String(table.OpenHoldsPK2(table.OpenHoldsShard("h-part")))
	elsewhere := table.HoldKey("bank", openID)
	expiring := table.OpenHoldKey(events.FormatTime(long()), "h-open")
	ofNothing := table.OpenHoldKey(events.FormatTime(long()), "nothing")
	return []corruption{
		{"entry of an open hold gone", drop(openAtShop), each(audit.HoldEntryBehind, openAtShop)},
		{"entry of an ended hold gone", drop(ofPart), each(audit.HoldEntryBehind, ofPart)},
		{"entry by expiry gone", drop(openByExpiry), each(audit.HoldEntryBehind, openByExpiry)},
		{"entry that is still open", all(unset(ofPart, table.AttrEnded), set(ofPart, table.AttrVersion, ddb.Integer(1)),
			set(ofPart, table.AttrSK2, ddb.String(table.HoldSK2("held", partID)))), each(audit.HoldEntryBehind, ofPart)},
		{"entry by expiry that is still open", all(set(partByExpiry, table.AttrVersion, ddb.Integer(1)),
			set(partByExpiry, table.AttrPK2, inIndex)), each(audit.HoldEntryBehind, partByExpiry)},
		wrong("entry by expiry of an ended hold in the index", partByExpiry, table.AttrPK2, inIndex, audit.WrongKey),
		{"entry by expiry of an open hold outside the index", unset(openByExpiry, table.AttrPK2),
			wants{{audit.WrongKey, openByExpiry, table.AttrPK2}}},
		wrong("status of an entry", ofPart, table.AttrSK2, ddb.String(table.HoldSK2("released", partID)), audit.WrongKey),
		{"copy of a header", set(ofOpen, "Header.Description", ddb.String("Dinner")),
			wants{{audit.HoldEntryWrong, ofOpen, table.AttrHeader}}},
		{"copy of a header, with its checksum", all(set(ofOpen, "Header.Description", ddb.String("Dinner")),
			sealed(ofOpen, table.AttrHeader)), each(audit.HoldEntryWrong, ofOpen)},
		{"copy of an end", set(partAtShop, "Ended.Actor", ddb.String("nobody")),
			wants{{audit.HoldEntryWrong, partAtShop, table.AttrEnded}}},
		{"copy of an end, with its checksum", all(set(partAtShop, "Ended.Actor", ddb.String("nobody")),
			sealed(partAtShop, table.AttrEnded)), each(audit.HoldEntryWrong, partAtShop)},
		wrong("entry with the end of another hold", partAtShop, table.AttrEnded, ddb.Map(b[wholeEnd]),
			audit.HoldEntryWrong),
		{"entry of an end that there isn't", all(set(openAtShop, table.AttrEnded, ddb.Map(b[wholeEnd])),
			set(openAtShop, "Ended.PK", ddb.String(openHold.PK)), set(openAtShop, "Ended.Transaction", ddb.String("h-open")),
			sealed(openAtShop, table.AttrEnded), set(openAtShop, table.AttrVersion, ddb.Integer(2)),
			set(openAtShop, table.AttrSK2, ddb.String(table.HoldSK2("captured", openID)))),
			each(audit.HoldEntryWithoutHold, openAtShop)},
		{"entry in an account that isn't of the hold", put(elsewhere, ofOpen), each(audit.HoldEntryWithoutHold, elsewhere)},
		{"second entry by expiry", put(expiring, openByExpiry), each(audit.HoldEntryWithoutHold, expiring)},
		{"entry by expiry of a hold that there isn't", all(put(ofNothing, openByExpiry),
			set(ofNothing, table.AttrPK2, ddb.String(table.OpenHoldsPK2(table.OpenHoldsShard("nothing"))))),
			each(audit.HoldEntryWithoutHold, ofNothing)},
		{"entry of another hold", set(ofOpen, table.AttrHeader, ddb.Map(b[table.TransactionKey("h-back")])),
			wants{{audit.HoldEntryWrong, ofOpen, ""}, {audit.HoldEntryWithoutHold, ofOpen, ""}}},
	}
}

// Open holds that are long due are counted, and so are guards of before accounts could change. Neither is a defect.
func TestNotes(t *testing.T) {
	b := copyOfBook(t)
	client := b.client(t)
	at := func(now time.Time) audit.Report {
		report, err := audit.New(audit.Options{Store: client, Table: books, Pause: noPause,
			Now: func() time.Time { return now }}).Run(t.Context())
		if err != nil || !report.Sound() {
			t.Fatalf("%+v, %v", report, err)
		}
		return report
	}
	expires, err := events.ParseTime(b.text(openHold, "ExpiresAt"))
	if err != nil {
		t.Fatal(err)
	}
	for after, overdue := range map[time.Duration]int64{0: 0, 14 * time.Minute: 0, 16 * time.Minute: 1} {
		if report := at(expires.Add(after)); report.Overdue != overdue || report.GuardsWithoutVersion != 0 {
			t.Errorf("%v after its expiry: %+v", after, report)
		}
	}
	b.unset(table.SpendKey("ann", "USD"), table.AttrChange)
	b.unset(table.SpendKey("margin", "USD"), table.AttrChange)
	client = b.client(t)
	if report := at(time.Now()); report.GuardsWithoutVersion != 2 {
		t.Errorf("%+v", report)
	}
}
