package audit

import (
	"time"

	"ledger.example/internal/table"
)

// header is a transaction. It has all legs, and what was asked for.
type header struct {
	event
	id, kind, description string
	metadata              map[string]string
	legs                  []leg // at least two; of a hold as they were planned
	fingerprint, checksum string
	expires               string // of a hold: the time from when on it may expire; else ""
	reverses              string // of a reversal: the id of the transaction that it reverses; else ""
	effective             string // of one with an effective date: that time, which its legs have; else ""
}

// isHold reports whether the transaction is a hold.
func (h header) isHold() bool { return h.expires != "" }

// header reads the attributes of a header. Its time is in the KSUIDs of its legs unless it has an effective date.
func (r *reader) header(id string) header {
	h := header{event: r.event("", ""), id: id, kind: r.kind(), description: r.description()}
	r.same(fieldID, id)
	h.metadata, h.legs = r.metadata("Metadata"), r.legs()
	h.fingerprint, _ = r.string(fieldFingerprint)
	h.checksum = textOf(r.item[table.AttrChecksum])
	if textOf(r.item[table.AttrType]) == kindHeld {
		h.expires = r.valid("ExpiresAt", "a time in UTC with six decimals", isInstant)
	}
	if h.kind == reversal {
		h.reverses = r.id("Reverses")
	}
	r.actor()
	if len(h.legs) > 0 {
		h.at, _ = instantOf(h.legs[0].ksuid)
	}
	if r.has(fieldRecorded) {
		effective := h.at
		h.at, h.effective = r.instant(fieldRecorded), effective.Format(instantForm)
		if !r.broken && (h.isHold() || !h.at.After(effective)) {
			r.fault(WrongValue, fieldRecorded, "a time after that of the legs, and no hold")
		}
	}
	return h
}

// metadata reads an optional map of texts.
func (r *reader) metadata(name string) map[string]string {
	m, ok := r.optional().nested(name)
	if !ok {
		return nil
	}
	metadata, bytes := make(map[string]string, len(m.item)), 0
	for key := range m.item {
		metadata[key] = m.text(key, 0, 256)
		if !isText(key, 1, 40) {
			m.fault(WrongValue, key, "a key of 1 to 40 characters")
		}
		bytes += len(key) + len(metadata[key])
	}
	if len(metadata) == 0 || len(metadata) > 20 || bytes > 4096 {
		r.fault(WrongValue, name, "1 to 20 pairs of at most 4096 bytes in all")
	}
	return metadata
}

// legs returns a header's legs, whose KSUIDs must increase and be of one instant.
func (r *reader) legs() (legs []leg) {
	var instant time.Time
	before := ""
	r.maps(fieldLegs, "legs", 2, 48, func(one *reader) {
		l := leg{ksuid: one.ksuid(fieldID), account: one.id(table.AttrAccount), asset: one.id(table.AttrAsset)}
		one.amounts(&l)
		at, ok := instantOf(l.ksuid)
		switch {
		case !ok: // a fault by itself
		case len(legs) == 0:
			instant = at
		case l.ksuid <= before, !at.Equal(instant):
			one.fault(WrongValue, fieldID, "a KSUID after the one before, of the instant of the first")
		}
		before, legs = l.ksuid, append(legs, l)
	})
	return legs
}
