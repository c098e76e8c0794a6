package verify

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/store"
)

// event decodes an event and ignores its checksum. ok is false if the item is not an event, or is malformed.
func event(item store.Item) (e events.Event, ok bool) {
	if !store.IsEvent(store.Read(item).Text(store.AttrSK)) || item[store.AttrChecksum] == nil {
		return nil, false
	}
	item = maps.Clone(item)
	item[store.AttrChecksum] = store.String(checksumOf(item))
	e, err := store.DecodeEvent(item)
	return e, err == nil
}

// checksumOf computes the checksum of an event's fields. For the texts of the book, encoding/json writes the canonical
// form.
func checksumOf(item store.Item) string {
	covered := maps.Clone(item)
	for _, name := range []string{store.AttrPK, store.AttrSK, store.AttrSK2, store.AttrPK2, store.AttrChecksum} {
		delete(covered, name)
	}
	var form bytes.Buffer
	out := json.NewEncoder(&form)
	out.SetEscapeHTML(false)
	if err := out.Encode(plain(store.Map(covered))); err != nil {
		panic(err)
	}
	hash := sha256.Sum256(bytes.TrimSuffix(form.Bytes(), []byte("\n")))
	return base64.RawURLEncoding.EncodeToString(hash[:16])
}

// plain returns a value as encoding/json takes it, with the digits of a number as a string.
func plain(v types.AttributeValue) any {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return v.Value
	case *types.AttributeValueMemberN:
		return v.Value
	case *types.AttributeValueMemberBOOL:
		return v.Value
	case *types.AttributeValueMemberL:
		all := make([]any, len(v.Value))
		for i, element := range v.Value {
			all[i] = plain(element)
		}
		return all
	case *types.AttributeValueMemberM:
		all := make(map[string]any, len(v.Value))
		for name, value := range v.Value {
			all[name] = plain(value)
		}
		return all
	}
	return nil
}

// recomputeChecksums makes altered events consistent, as a skilled attacker would: it recomputes their checksums, and
// updates the copies of them in entries of holds and in current accounts.
func (b book) recomputeChecksums() {
	before := make(map[store.Key]string) // checksums before
	b.eachEvent(func(k store.Key, e events.Event) {
		before[k] = b.text(k, store.AttrChecksum)
		b[k] = store.EventItem(e)
	})
	for k, item := range b {
		if _, _, isEntry := store.Hold.Parse(k); isEntry {
			for _, name := range []string{store.AttrHeader, store.AttrEnded} {
				m, ok := item[name].(*types.AttributeValueMemberM)
				if !ok {
					continue
				}
				if of, err := store.KeyOf(m.Value); err == nil && before[of] == store.Read(m.Value).Text(store.AttrChecksum) {
					item[name] = store.Map(b[of])
				}
			}
		}
		if account, isCurrent := store.Current.Parse(k); isCurrent {
			number := store.Read(item).Integer(store.AttrNumber)
			of := store.Change.Key(account, number)
			if e, ok := event(b[of]); ok && before[of] == b.text(k, store.AttrChecksum) {
				b[k] = store.NewItemEncoder(1).Current(e.(events.AccountChanged))
			}
		}
	}
}
