package verify

import (
	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// effectiveDateCorruptions are in transactions with an effective date.
func (b book) effectiveDateCorruptions() []corruption {
	paid := table.Transaction.Key("e-1")
	return []corruption{
		wrong("recorded before its effective date", paid, "RecordedAt", ddb.String(events.FormatTime(events.Epoch())),
			audit.WrongValue),
		{"recorded at another time", set(paid, "RecordedAt", ddb.String("2100-01-01T00:00:00.000000Z")),
			atChecksums(audit.ChecksumDiffers, paid)},
		wrong("effective date that is not in the request", paid, "Fingerprint", ddb.String("1:none"),
			audit.FingerprintDiffers),
		wrong("effective date of a reversal that is not in the request", table.Transaction.Key("e-2"), "Fingerprint",
			ddb.String("1:none"), audit.FingerprintDiffers),
		{"posting that says it is not backdated", unset(b.postingOf(paid, 1), "Backdated"),
			atItems(audit.PostingDiffers, b.postingOf(paid, 1))},
		{"posting that says it is backdated", set(b.postingOf(gold, 0), "Backdated", ddb.Flag(true)),
			atItems(audit.PostingDiffers, b.postingOf(gold, 0))},
	}
}
