package verify

import (
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/store"
)

// Keys of the book's holds, of their ends, and of balances with holds.
var (
	annUSD, shopUSD = store.Balance.Key("ann", "USD"), store.Balance.Key("shop", "USD")
	openHold        = store.Transaction.Key("h-open")
	wholeEnd        = store.Outcome.Key("h-whole")
	partEnd         = store.Outcome.Key("h-part")
	backEnd         = store.Outcome.Key("h-back")
)

// holdKey returns the key of a hold's entry in the list of an account.
func (b book) holdKey(account, hold string) store.Key {
	return store.Hold.Key(account, b.text(store.Transaction.Key(hold), "Legs[0].ID"))
}

// expiryKey returns the key of a hold's entry in the list by expiry.
func (b book) expiryKey(hold string) store.Key {
	return store.OpenHold.Key(b.text(store.Transaction.Key(hold), "ExpiresAt"), hold)
}

// holdKeys returns the keys of all entries of a hold from ann to shop.
func (b book) holdKeys(hold string) []store.Key {
	return []store.Key{b.holdKey("ann", hold), b.holdKey("shop", hold), b.expiryKey(hold)}
}

// foldFindings returns the findings about the folds that count an altered or deleted posting.
func (b book) foldFindings(k store.Key, ofBalance, ofSegment audit.Code) wants {
	account, asset, id, _ := store.Posting.Parse(k)
	wanted := atItems(ofBalance, store.Balance.Key(account, asset))
	for _, s := range b.segments(account, asset) {
		if store.LastID(s.SK) >= id {
			return append(wanted, want{ofSegment, s, ""})
		}
	}
	return wanted
}

// deletedPostingFindings returns the findings about the folds that count a deleted posting.
func (b book) deletedPostingFindings(k store.Key) wants {
	return b.foldFindings(k, audit.BalanceCountsMore, audit.SegmentCountsMore)
}

// withExpiry returns a corruption that changes the time of expiry of a hold, but not its entry by expiry.
func (b book) withExpiry(name, hold string, at time.Time, more ...want) corruption {
	expires := events.FormatTime(at)
	return corruption{name, set(store.Transaction.Key(hold), "ExpiresAt", store.String(expires)),
		append(wants{{audit.HoldEntryBehind, store.OpenHold.Key(expires, hold), ""},
			{audit.HoldEntryWithoutHold, b.expiryKey(hold), ""}}, more...)}
}

// holdCorruptions are differences between a hold, its end and their postings.
func (b book) holdCorruptions() []corruption {
	opened, part, back := b.postingsOf(openHold), b.postingsOf(partEnd), b.postingsOf(backEnd)
	wrongEnd := want{audit.EndWrong, partEnd, "Legs"}
	// captured changes the captured quantities in the end of h-part, but not in its postings.
	captured := func(name string, from, to int64, wanted ...want) corruption {
		for i, isOther := range []bool{from != -40, to != 40} {
			if isOther {
				wanted = append(wanted, want{audit.PostingDiffers, part[i], ""})
			}
		}
		return corruption{name, all(set(partEnd, "Legs[0].Quantity", store.Integer(from)),
			set(partEnd, "Legs[1].Quantity", store.Integer(to))), wanted}
	}
	endOf := func(name, id string) corruption {
		k := store.Outcome.Key(id)
		return corruption{name, all(put(k, backEnd), set(k, "Transaction", store.String(id))),
			atItems(audit.EndWithoutHold, k)}
	}
	early, _, err := events.NewMinter(longAgo, nil).Mint(2)
	if err != nil {
		panic(err)
	}
	trade, late, claiming := store.Outcome.Key("h-trade"), store.Transaction.Key("h-late"), store.Outcome.Key("h-open")
	segment, guard := b.segments("shop", "USD")[0], store.Spend.Key("ann", "USD")
	return []corruption{
		{"placing posting gone", drop(opened[1]), append(b.deletedPostingFindings(opened[1]),
			want{audit.PostingMissing, opened[1], ""}, want{audit.AssetUnbalanced, usd, ""})},
		{"placing posting of less", add(opened[0], "Pending", 10),
			append(b.foldFindings(opened[0], audit.BalanceWrong, audit.SegmentWrong),
				want{audit.PostingDiffers, opened[0], ""}, want{audit.AssetUnbalanced, usd, ""},
				want{audit.GuardWrong, guard, store.AttrSpent})},
		{"ending posting gone", drop(part[1]), append(b.deletedPostingFindings(part[1]),
			want{audit.PostingMissing, part[1], ""}, want{audit.AssetUnbalanced, usd, ""})},
		{"ending posting of more than was held", set(part[1], "Quantity", store.Integer(101)),
			wants{{audit.WrongValue, part[1], "Pending"}}},
		{"ending posting of another end", set(back[0], "Phase", store.String("expired")),
			atItems(audit.PostingDiffers, back[0])},
		wrong("backdated posting of a hold", opened[0], "Backdated", store.Flag(true), audit.WrongValue),
		{"end gone", drop(backEnd), append(atItems(audit.PostingWithoutEnd, back...),
			atItems(audit.HoldEntryWithoutHold, b.holdKeys("h-back")...)...)},
		{"end that cannot be read", unset(backEnd, "Actor"), wants{{audit.MissingAttribute, backEnd, "Actor"}}},
		{"end and its postings gone", drop(append(back, backEnd)...), slices.Concat(b.deletedPostingFindings(back[0]),
			b.deletedPostingFindings(back[1]), atItems(audit.HoldEntryWithoutHold, b.holdKeys("h-back")...))},
		captured("end of more than was held", -140, 140, wrongEnd),
		captured("end of another sign", 40, -40, wrongEnd),
		captured("end of nothing captured", 0, 0, wrongEnd),
		captured("end that doesn't balance", -41, 40, want{audit.TransactionUnbalanced, partEnd, "Legs"}),
		{"end before its hold", all(set(partEnd, "Legs[0].ID", store.String(string(early[0]))),
			set(partEnd, "Legs[1].ID", store.String(string(early[1])))),
			slices.Concat(wants{wrongEnd}, atItems(audit.PostingWithoutTransaction, part...), atItems(audit.PostingMissing,
				store.Posting.Key("ann", "USD", string(early[0])), store.Posting.Key("shop", "USD", string(early[1]))))},
		{"end of other accounts", set(partEnd, "Legs[1].Account", store.String("bank")),
			wants{wrongEnd, {audit.PostingWithoutTransaction, part[1], ""}, {audit.PostingMissing, moved(part[1], "bank"), ""}}},
		b.withExpiry("captured after it expired", "h-part", time.Now().Add(-3*time.Hour), wrongEnd),
		b.withExpiry("expired before its time", "h-late", time.Now().Add(time.Hour),
			want{audit.EndWrong, store.Outcome.Key("h-late"), "Legs"},
			want{audit.FingerprintDiffers, late, "Fingerprint"}),
		{"cash that is not the cost", all(add(trade, "Legs[2].Quantity", 1), add(trade, "Legs[3].Quantity", -1)),
			append(atItems(audit.PostingDiffers, b.postingsOf(trade)[2:]...), want{audit.EndWrong, trade, "Legs"})},
		endOf("end of a transaction that is not a hold", "d-0"),
		endOf("end of an unknown transaction", "nothing"),
		{"second claim on the end of another hold", all(put(claiming, wholeEnd),
			set(claiming, "Transaction", store.String("h-open"))),
			append(atItems(audit.HoldEntryBehind, b.holdKeys("h-open")...), want{audit.TransactionClaimsOthers, claiming, "Legs"})},
		b.withExpiry("hold for too long", "h-open", time.Now().Add(40*24*time.Hour),
			want{audit.TransactionShape, openHold, "ExpiresAt"}),
		{"hold with the fingerprint of another request", all(
			set(openHold, "Fingerprint", b.value(store.Transaction.Key("h-back"), "Fingerprint")),
			set(openHold, "Description", store.String("Dinner"))),
			append(atItems(audit.PostingDiffers, opened...), want{audit.FingerprintDiffers, openHold, "Fingerprint"})},
		{"pending debits of a balance", add(annUSD, "Head.PendingDebits", 1), atItems(audit.BalanceWrong, annUSD)},
		{"pending credits of a balance", add(shopUSD, "Seal.PendingCredits", -1), atItems(audit.BalanceWrong, shopUSD)},
		{"returned amount of a balance", add(annUSD, "Head.Returned", -60), atItems(audit.BalanceWrong, annUSD)},
		{"pending credits of a segment", add(segment, store.AttrPendingCredits, 1), atItems(audit.SegmentWrong, segment)},
		wrong("zero sum that should be absent", shopUSD, "Head.Returned", store.Integer(0), audit.WrongValue),
		{"guard lowered by a returned amount", add(guard, store.AttrSpent, -60),
			wants{{audit.GuardWrong, guard, store.AttrSpent}}},
	}
}

// copyWithChecksum recomputes the checksum of an altered copy of an event in an entry of a hold.
func copyWithChecksum(k store.Key, name string) change {
	return func(b book) {
		b.set(k, name+"."+store.AttrChecksum, store.String(checksumOf(b[k][name].(*types.AttributeValueMemberM).Value)))
	}
}

// holdEntryCorruptions are differences between holds and their lists.
func (b book) holdEntryCorruptions() []corruption {
	ofOpen, ofPart := b.holdKey("ann", "h-open"), b.holdKey("ann", "h-part")
	openAtShop, partAtShop := b.holdKey("shop", "h-open"), b.holdKey("shop", "h-part")
	openByExpiry, partByExpiry := b.expiryKey("h-open"), b.expiryKey("h-part")
	openID, partID := store.FirstID(ofOpen.SK), store.FirstID(ofPart.SK)
	inIndex := store.String(store.OpenHoldsPK2(store.Shard("h-part")))
	elsewhere := store.Hold.Key("bank", openID)
	expiring := store.OpenHold.Key(events.FormatTime(longAgo()), "h-open")
	ofNothing := store.OpenHold.Key(events.FormatTime(longAgo()), "nothing")
	return []corruption{
		{"entry of an open hold gone", drop(openAtShop), atItems(audit.HoldEntryBehind, openAtShop)},
		{"entry of an ended hold gone", drop(ofPart), atItems(audit.HoldEntryBehind, ofPart)},
		{"entry by expiry gone", drop(openByExpiry), atItems(audit.HoldEntryBehind, openByExpiry)},
		{"entry that is still open", all(unset(ofPart, store.AttrEnded), set(ofPart, store.AttrVersion, store.Integer(1)),
			set(ofPart, store.AttrSK2, store.String(store.Hold.SK2("held", partID)))), atItems(audit.HoldEntryBehind, ofPart)},
		{"entry by expiry that is still open", all(set(partByExpiry, store.AttrVersion, store.Integer(1)),
			set(partByExpiry, store.AttrPK2, inIndex)), atItems(audit.HoldEntryBehind, partByExpiry)},
		wrong("entry by expiry of an ended hold in the index", partByExpiry, store.AttrPK2, inIndex, audit.WrongKey),
		{"entry by expiry of an open hold outside the index", unset(openByExpiry, store.AttrPK2),
			wants{{audit.WrongKey, openByExpiry, store.AttrPK2}}},
		wrong("status of an entry", ofPart, store.AttrSK2, store.String(store.Hold.SK2("released", partID)), audit.WrongKey),
		{"copy of a header", set(ofOpen, "Header.Description", store.String("Dinner")),
			wants{{audit.HoldEntryWrong, ofOpen, store.AttrHeader}}},
		{"copy of a header, with its checksum", all(set(ofOpen, "Header.Description", store.String("Dinner")),
			copyWithChecksum(ofOpen, store.AttrHeader)), atItems(audit.HoldEntryWrong, ofOpen)},
		{"copy of an end", set(partAtShop, "Ended.Actor", store.String("nobody")),
			wants{{audit.HoldEntryWrong, partAtShop, store.AttrEnded}}},
		{"copy of an end, with its checksum", all(set(partAtShop, "Ended.Actor", store.String("nobody")),
			copyWithChecksum(partAtShop, store.AttrEnded)), atItems(audit.HoldEntryWrong, partAtShop)},
		wrong("entry with the end of another hold", partAtShop, store.AttrEnded, store.Map(b[wholeEnd]),
			audit.HoldEntryWrong),
		{"entry with an end that is not stored", all(set(openAtShop, store.AttrEnded, store.Map(b[wholeEnd])),
			set(openAtShop, "Ended.PK", store.String(openHold.PK)), set(openAtShop, "Ended.Transaction", store.String("h-open")),
			copyWithChecksum(openAtShop, store.AttrEnded), set(openAtShop, store.AttrVersion, store.Integer(2)),
			set(openAtShop, store.AttrSK2, store.String(store.Hold.SK2("captured", openID)))),
			atItems(audit.HoldEntryWithoutHold, openAtShop)},
		{"entry in an account that isn't of the hold", put(elsewhere, ofOpen), atItems(audit.HoldEntryWithoutHold, elsewhere)},
		{"second entry by expiry", put(expiring, openByExpiry), atItems(audit.HoldEntryWithoutHold, expiring)},
		{"entry by expiry of an unknown hold", all(put(ofNothing, openByExpiry),
			set(ofNothing, store.AttrPK2, store.String(store.OpenHoldsPK2(store.Shard("nothing"))))),
			atItems(audit.HoldEntryWithoutHold, ofNothing)},
		{"entry of another hold", set(ofOpen, store.AttrHeader, store.Map(b[store.Transaction.Key("h-back")])),
			wants{{audit.HoldEntryWrong, ofOpen, ""}, {audit.HoldEntryWithoutHold, ofOpen, ""}}},
	}
}

// Overdue holds are counted but are not findings.
func TestOverdueHoldsAreOnlyCounted(t *testing.T) {
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
		if report := at(expires.Add(after)); report.Overdue != overdue {
			t.Errorf("%v after its expiry: %+v", after, report)
		}
	}
}
