package verify

import (
	"ledger.example/events"
	"ledger.example/internal/audit"
	"ledger.example/internal/store"
)

// effectiveDateCorruptions are in transactions with an effective date.
func (b book) effectiveDateCorruptions() []corruption {
	paid := store.Transaction.Key("e-1")
	return []corruption{
		wrong("recorded before its effective date", paid, "RecordedAt", store.String(events.FormatTime(events.Epoch())),
			audit.WrongValue),
		{"recorded at another time", set(paid, "RecordedAt", store.String("2100-01-01T00:00:00.000000Z")),
			atChecksums(audit.ChecksumDiffers, paid)},
		wrong("effective date that is not in the request", paid, "Fingerprint", store.String("1:none"),
			audit.FingerprintDiffers),
		wrong("effective date of a reversal that is not in the request", store.Transaction.Key("e-2"), "Fingerprint",
			store.String("1:none"), audit.FingerprintDiffers),
		{"posting that says it is not backdated", unset(b.postingOf(paid, 1), "Backdated"),
			atItems(audit.PostingDiffers, b.postingOf(paid, 1))},
		{"posting that says it is backdated", set(b.postingOf(gold, 0), "Backdated", store.Flag(true)),
			atItems(audit.PostingDiffers, b.postingOf(gold, 0))},
	}
}
