package verify

import (
	"maps"
	"slices"
	"testing"
	"time"

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
	return table.HoldKey(account, textOf(b.leg(table.TransactionKey(hold), 0), "ID"))
}

// expiry is the key of a hold's entry by expiry.
func (b book) expiry(hold string) table.Key {
	return table.OpenHoldKey(textOf(b[table.TransactionKey(hold)], "ExpiresAt"), hold)
}

// entries are the keys of the entries of a hold of ann's for shop.
func (b book) entries(hold string) []table.Key {
	return []table.Key{b.entry("ann", hold), b.entry("shop", hold), b.expiry(hold)}
}

// counted is what is found of the folds that count a posting which was altered or deleted.
func (b book) counted(k table.Key, ofBalance, ofSegment audit.Code) []want {
	account, asset, id, _ := table.ParsePosting(k)
	wanted := one(ofBalance, table.BalanceKey(account, asset), "")
	for _, s := range b.segments(account, asset) {
		if table.LastID(s.SK) >= id {
			return append(wanted, want{ofSegment, s, ""})
		}
	}
	return wanted
}

func each(code audit.Code, keys ...table.Key) (wanted []want) {
	for _, k := range keys {
		wanted = append(wanted, want{code, k, ""})
	}
	return wanted
}

// expires gives a hold another time of expiry, which its entry by expiry is not under.
func (b book) expires(hold string, at time.Time) []want {
	was := b.expiry(hold)
	b.set(table.TransactionKey(hold), "ExpiresAt", ddb.String(events.FormatTime(at)))
	return append(one(audit.HoldEntryBehind, b.expiry(hold), ""), want{audit.HoldEntryAlone, was, ""})
}

// ofHolds are seen between a hold, its end and their postings.
func ofHolds() []corruption {
	// ended is an end of h-part, of which other quantities were captured than are in the postings.
	ended := func(name string, from, to int64, wanted ...want) corruption {
		return corruption{name, func(b book) []want {
			b.leg(partEnd, 0)["Quantity"], b.leg(partEnd, 1)["Quantity"] = ddb.Integer(from), ddb.Integer(to)
			found := slices.Clone(wanted)
			for i, n := range []int64{from, to} {
				if n != []int64{-40, 40}[i] {
					found = append(found, want{audit.PostingDiffers, b.postingOf(partEnd, i), ""})
				}
			}
			return found
		}}
	}
	wrong := want{audit.EndWrong, partEnd, "Legs"}
	endOf := func(name, id string) corruption {
		return corruption{name, func(b book) []want {
			k := table.OutcomeKey(id)
			b.put(k, b[backEnd])
			b.set(k, "Transaction", ddb.String(id))
			return one(audit.EndWithoutHold, k, "")
		}}
	}
	return []corruption{
		{"placing posting gone", func(b book) []want {
			k := b.postingOf(openHold, 1)
			b.drop(k)
			return append(b.counted(k, audit.BalanceCountsMore, audit.SegmentCountsMore),
				want{audit.PostingMissing, k, ""}, want{audit.AssetUnbalanced, usd, ""})
		}},
		{"placing posting of less", func(b book) []want {
			k := b.postingOf(openHold, 0)
			more(b[k], "Pending", 10)
			return append(b.counted(k, audit.BalanceWrong, audit.SegmentWrong), want{audit.PostingDiffers, k, ""},
				want{audit.AssetUnbalanced, usd, ""}, want{audit.GuardWrong, table.SpendKey("ann", "USD"), table.AttrSpent})
		}},
		{"ending posting gone", func(b book) []want {
			k := b.postingOf(partEnd, 1)
			b.drop(k)
			return append(b.counted(k, audit.BalanceCountsMore, audit.SegmentCountsMore),
				want{audit.PostingMissing, k, ""}, want{audit.AssetUnbalanced, usd, ""})
		}},
		{"ending posting of more than was held", func(b book) []want {
			k := b.postingOf(partEnd, 1)
			b.set(k, "Quantity", ddb.Integer(101))
			return one(audit.WrongValue, k, "Pending")
		}},
		{"ending posting of another end", func(b book) []want {
			k := b.postingOf(backEnd, 0)
			b.set(k, "Phase", ddb.String("expired"))
			return one(audit.PostingDiffers, k, "")
		}},
		{"posting of a hold with the version of others", func(b book) []want {
			k := b.postingOf(openHold, 0)
			b.set(k, table.AttrEventVersion, ddb.Integer(2))
			return one(audit.WrongValue, k, table.AttrEventVersion)
		}},
		{"end gone", func(b book) []want {
			postings := []table.Key{b.postingOf(backEnd, 0), b.postingOf(backEnd, 1)}
			b.drop(backEnd)
			return append(each(audit.PostingNoEnd, postings...), each(audit.HoldEntryAlone, b.entries("h-back")...)...)
		}},
		{"end and its postings gone", func(b book) []want {
			var wanted []want
			for i := range 2 {
				k := b.postingOf(backEnd, i)
				b.drop(k)
				wanted = append(wanted, b.counted(k, audit.BalanceCountsMore, audit.SegmentCountsMore)...)
			}
			b.drop(backEnd)
			return append(wanted, each(audit.HoldEntryAlone, b.entries("h-back")...)...)
		}},
		ended("end of more than was held", -140, 140, wrong),
		ended("end of another sign", 40, -40, wrong),
		ended("end of nothing captured", 0, 0, wrong),
		ended("end that doesn't balance", -41, 40, want{audit.TransactionUnbalanced, partEnd, "Legs"}),
		{"end before its hold", func(b book) []want {
			wanted := one(audit.EndWrong, partEnd, "Legs")
			ids, _, err := events.NewMinter(long, nil).Mint(2)
			if err != nil {
				panic(err)
			}
			for i, id := range ids {
				wanted = append(wanted, want{audit.PostingAlone, b.postingOf(partEnd, i), ""})
				b.leg(partEnd, i)["ID"] = ddb.String(string(id))
				wanted = append(wanted, want{audit.PostingMissing, b.postingOf(partEnd, i), ""})
			}
			return wanted
		}},
		{"end of other accounts", func(b book) []want {
			wanted := one(audit.EndWrong, partEnd, "Legs")
			was := b.postingOf(partEnd, 1)
			b.leg(partEnd, 1)["Account"] = ddb.String("bank")
			return append(wanted, want{audit.PostingAlone, was, ""}, want{audit.PostingMissing, b.postingOf(partEnd, 1), ""})
		}},
		{"captured after it expired", func(b book) []want {
			return append(b.expires("h-part", time.Now().Add(-3*time.Hour)), wrong)
		}},
		{"expired before its time", func(b book) []want {
			return append(b.expires("h-late", time.Now().Add(time.Hour)), want{audit.EndWrong, table.OutcomeKey("h-late"), "Legs"},
				want{audit.FingerprintDiffers, table.TransactionKey("h-late"), "Fingerprint"})
		}},
		{"cash that is not the cost", func(b book) []want {
			k := table.OutcomeKey("h-trade")
			more(b.leg(k, 2), "Quantity", 1)
			more(b.leg(k, 3), "Quantity", -1)
			return append(each(audit.PostingDiffers, b.postingOf(k, 2), b.postingOf(k, 3)), want{audit.EndWrong, k, "Legs"})
		}},
		endOf("end of a transaction that is no hold", "d-0"),
		endOf("end of a transaction that there isn't", "nothing"),
		{"second claim on the end of another hold", func(b book) []want {
			k := table.OutcomeKey("h-open")
			b.put(k, b[wholeEnd])
			b.set(k, "Transaction", ddb.String("h-open"))
			return append(each(audit.HoldEntryBehind, b.entries("h-open")...), want{audit.TransactionClaims, k, "Legs"})
		}},
		{"hold for too long", func(b book) []want {
			return append(b.expires("h-open", time.Now().Add(40*24*time.Hour)), want{audit.TransactionShape, openHold, "ExpiresAt"})
		}},
		{"hold that was asked for otherwise", func(b book) []want {
			b.set(openHold, "Fingerprint", b[table.TransactionKey("h-back")]["Fingerprint"])
			b.set(openHold, "Description", ddb.String("Dinner"))
			var wanted []want
			for i := range 2 {
				wanted = append(wanted, want{audit.PostingDiffers, b.postingOf(openHold, i), ""})
			}
			return append(wanted, want{audit.FingerprintDiffers, openHold, "Fingerprint"})
		}},
		{"pending debits of a balance", func(b book) []want {
			more(b.within(annUSD, table.AttrHead), table.AttrPendingDebits, 1)
			return one(audit.BalanceWrong, annUSD, "")
		}},
		{"pending credits of a balance", func(b book) []want {
			more(b.within(shopUSD, table.AttrSeal), table.AttrPendingCredits, -1)
			return one(audit.BalanceWrong, shopUSD, "")
		}},
		{"what a balance was given back", func(b book) []want {
			more(b.within(annUSD, table.AttrHead), table.AttrReturned, -60)
			return one(audit.BalanceWrong, annUSD, "")
		}},
		{"pending credits of a segment", func(b book) []want {
			k := b.segments("shop", "USD")[0]
			more(b[k], table.AttrPendingCredits, 1)
			return one(audit.SegmentWrong, k, "")
		}},
		set("balance that doesn't say it counts holds", annUSD, table.AttrType, ddb.String(table.KindBalance), audit.WrongValue, table.AttrType),
		set("balance that says it counts holds", bankUSD, table.AttrType, ddb.String(table.KindBalanceWithHolds), audit.WrongValue, table.AttrType),
		{"segment that doesn't say it counts holds", func(b book) []want {
			k := b.segments("shop", "USD")[0]
			b.set(k, table.AttrType, ddb.String(table.KindSegment))
			return one(audit.WrongValue, k, table.AttrType)
		}},
		inner("sum of nothing that should be absent", shopUSD, table.AttrHead, table.AttrReturned, ddb.Integer(0), want{audit.WrongValue, shopUSD, "Head.Returned"}),
		add("guard lowered by what was given back", table.SpendKey("ann", "USD"), table.AttrSpent, -60, audit.GuardWrong, table.AttrSpent),
	}
}

// ofHoldEntries are seen between holds and their lists.
func ofHoldEntries() []corruption {
	entry := func(name, account, hold string, code audit.Code, found string, do func(b book, k table.Key)) corruption {
		return corruption{name, func(b book) []want {
			k := b.expiry(hold)
			if account != "" {
				k = b.entry(account, hold)
			}
			do(b, k)
			return one(code, k, found)
		}}
	}
	drop := func(b book, k table.Key) { b.drop(k) }
	return []corruption{
		entry("entry of an open hold gone", "shop", "h-open", audit.HoldEntryBehind, "", drop),
		entry("entry of an ended hold gone", "ann", "h-part", audit.HoldEntryBehind, "", drop),
		entry("entry by expiry gone", "", "h-open", audit.HoldEntryBehind, "", drop),
		entry("entry that is still open", "ann", "h-part", audit.HoldEntryBehind, "", func(b book, k table.Key) {
			b.unset(k, table.AttrEnded)
			b.set(k, table.AttrVersion, ddb.Integer(1))
			b.set(k, table.AttrSK2, ddb.String(table.HoldSK2("held", table.FirstID(k.SK))))
		}),
		entry("entry by expiry that is still open", "", "h-part", audit.HoldEntryBehind, "", func(b book, k table.Key) {
			b.set(k, table.AttrVersion, ddb.Integer(1))
			b.set(k, table.AttrPK2, ddb.String(table.OpenHoldsPK2(table.OpenHoldsShard("h-part"))))
		}),
		entry("entry by expiry of an ended hold in the index", "", "h-part", audit.WrongKey, table.AttrPK2, func(b book, k table.Key) {
			b.set(k, table.AttrPK2, ddb.String(table.OpenHoldsPK2(table.OpenHoldsShard("h-part"))))
		}),
		entry("entry by expiry of an open hold outside the index", "", "h-open", audit.WrongKey, table.AttrPK2, func(b book, k table.Key) {
			b.unset(k, table.AttrPK2)
		}),
		entry("status of an entry", "ann", "h-part", audit.WrongKey, table.AttrSK2, func(b book, k table.Key) {
			b.set(k, table.AttrSK2, ddb.String(table.HoldSK2("released", table.FirstID(k.SK))))
		}),
		entry("copy of a header", "ann", "h-open", audit.HoldEntryWrong, table.AttrHeader, func(b book, k table.Key) {
			b.within(k, table.AttrHeader)["Description"] = ddb.String("Dinner")
		}),
		entry("copy of a header, with its checksum", "ann", "h-open", audit.HoldEntryWrong, "", func(b book, k table.Key) {
			header := b.within(k, table.AttrHeader)
			header["Description"] = ddb.String("Dinner")
			header[table.AttrChecksum] = ddb.String(checksumOf(header))
		}),
		entry("copy of an end", "shop", "h-part", audit.HoldEntryWrong, table.AttrEnded, func(b book, k table.Key) {
			b.within(k, table.AttrEnded)["Actor"] = ddb.String("nobody")
		}),
		entry("copy of an end, with its checksum", "shop", "h-part", audit.HoldEntryWrong, "", func(b book, k table.Key) {
			end := b.within(k, table.AttrEnded)
			end["Actor"] = ddb.String("nobody")
			end[table.AttrChecksum] = ddb.String(checksumOf(end))
		}),
		entry("entry with the end of another hold", "shop", "h-part", audit.HoldEntryWrong, table.AttrEnded, func(b book, k table.Key) {
			b.set(k, table.AttrEnded, ddb.Map(b[wholeEnd]))
		}),
		entry("entry of an end that there isn't", "shop", "h-open", audit.HoldEntryAlone, "", func(b book, k table.Key) {
			end := maps.Clone(b[wholeEnd])
			end[table.AttrPK], end["Transaction"] = ddb.String(openHold.PK), ddb.String("h-open")
			end[table.AttrChecksum] = ddb.String(checksumOf(end))
			b.set(k, table.AttrEnded, ddb.Map(end))
			b.set(k, table.AttrVersion, ddb.Integer(2))
			b.set(k, table.AttrSK2, ddb.String(table.HoldSK2("captured", table.FirstID(k.SK))))
		}),
		{"entry in an account that isn't of the hold", func(b book) []want {
			k := table.HoldKey("bank", table.FirstID(b.entry("ann", "h-open").SK))
			b.put(k, b[b.entry("ann", "h-open")])
			return one(audit.HoldEntryAlone, k, "")
		}},
		{"second entry by expiry", func(b book) []want {
			k := table.OpenHoldKey(events.FormatTime(long()), "h-open")
			b.put(k, b[b.expiry("h-open")])
			return one(audit.HoldEntryAlone, k, "")
		}},
		{"entry by expiry of a hold that there isn't", func(b book) []want {
			k := table.OpenHoldKey(events.FormatTime(long()), "nothing")
			b.put(k, b[b.expiry("h-open")])
			b.set(k, table.AttrPK2, ddb.String(table.OpenHoldsPK2(table.OpenHoldsShard("nothing"))))
			return one(audit.HoldEntryAlone, k, "")
		}},
		{"entry of another hold", func(b book) []want {
			k := b.entry("ann", "h-open")
			b.set(k, table.AttrHeader, ddb.Map(b[table.TransactionKey("h-back")]))
			return []want{{audit.HoldEntryWrong, k, ""}, {audit.HoldEntryAlone, k, ""}}
		}},
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
	expires, err := events.ParseTime(textOf(b[openHold], "ExpiresAt"))
	if err != nil {
		t.Fatal(err)
	}
	for after, overdue := range map[time.Duration]int64{0: 0, 14 * time.Minute: 0, 16 * time.Minute: 1} {
		if report := at(expires.Add(after)); report.Overdue != overdue || report.Untold != 0 {
			t.Errorf("%v after its expiry: %+v", after, report)
		}
	}
	b.unset(table.SpendKey("ann", "USD"), table.AttrChange)
	b.unset(table.SpendKey("margin", "USD"), table.AttrChange)
	client = b.client(t)
	if report := at(time.Now()); report.Untold != 2 {
		t.Errorf("%+v", report)
	}
}
