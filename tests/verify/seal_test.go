package verify

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
)

// event decodes an event and ignores its checksum. ok is false if the item is not an event, or is malformed.
func event(item ddb.Item) (e events.Event, ok bool) {
	if !table.IsEvent(ddb.Read(item).Text(table.AttrSK)) || item[table.AttrChecksum] == nil {
		return nil, false
	}
	item = maps.Clone(item)
	item[table.AttrChecksum] = ddb.String(checksumOf(item))
	e, err := ddb.DecodeEvent(item)
	return e, err == nil
}

// checksumOf computes the checksum of an event's fields.
func checksumOf(item ddb.Item) string {
	fields := maps.Clone(item)
	for _, name := range []string{table.AttrPK, table.AttrSK, table.AttrSK2, table.AttrPK2, table.AttrType,
		table.AttrForm, table.AttrChecksum} {
		delete(fields, name)
	}
	hash := sha256.Sum256([]byte("l" + bencoded(item[table.AttrType]) + bencoded(item[table.AttrForm]) +
		bencoded(ddb.Map(fields)) + "e"))
	return base64.RawURLEncoding.EncodeToString(hash[:16])
}

func bencoded(v types.AttributeValue) string {
	text := func(s string) string { return fmt.Sprintf("%d:%s", len(s), s) }
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return text(v.Value)
	case *types.AttributeValueMemberN:
		return "i" + v.Value + "e"
	case *types.AttributeValueMemberBOOL:
		return "i1e"
	case *types.AttributeValueMemberL:
		all := "l"
		for _, element := range v.Value {
			all += bencoded(element)
		}
		return all + "e"
	case *types.AttributeValueMemberM:
		all := "d"
		for _, name := range slices.Sorted(maps.Keys(v.Value)) {
			all += text(name) + bencoded(v.Value[name])
		}
		return all + "e"
	}
	return ""
}

// recomputeChecksums makes altered events consistent, as a skilled attacker would: it recomputes their checksums, and
// updates the copies of them in entries of holds and in current accounts.
func (b book) recomputeChecksums() {
	before := make(map[table.Key]string) // checksums before
	b.eachEvent(func(k table.Key, e events.Event) {
		before[k] = b.text(k, table.AttrChecksum)
		b[k] = ddb.EventItem(e)
	})
	for k, item := range b {
		if _, _, isEntry := table.ParseHold(k); isEntry {
			for _, name := range []string{table.AttrHeader, table.AttrEnded} {
				m, ok := item[name].(*types.AttributeValueMemberM)
				if !ok {
					continue
				}
				if of, err := ddb.KeyOf(m.Value); err == nil && before[of] == ddb.Read(m.Value).Text(table.AttrChecksum) {
					item[name] = ddb.Map(b[of])
				}
			}
		}
		if account, isCurrent := table.ParseCurrent(k); isCurrent {
			number := ddb.Read(item).Integer(table.AttrNumber)
			of := table.ChangeKey(account, number)
			if e, ok := event(b[of]); ok && before[of] == b.text(k, table.AttrChecksum) {
				b[k] = ddb.NewItemEncoder(1).Current(e.(events.AccountChanged))
			}
		}
	}
}
