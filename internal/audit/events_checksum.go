package audit

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// sumBytes is the length of the hash's prefix that is the checksum.
const sumBytes = 16

// beside are the attributes of an event's item that are not fields of the event.
var beside = []string{
	table.AttrPK, table.AttrSK, table.AttrSK2, table.AttrPK2, table.AttrType, table.AttrEventVersion,
	table.AttrChecksum,
}

// checksumOf computes an event's checksum from its item: SHA-256, cut to 16 bytes, over the bencoding of the name, the
// version and all fields, known or not.
func checksumOf(item attributes) string {
	var room [1024]byte
	b := append(room[:0], 'l')
	b = bencode(bencode(b, item[table.AttrType]), item[table.AttrEventVersion])
	b = append(bencodeMap(b, item, beside), 'e')
	hash := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(hash[:sumBytes])
}

// bencode appends a value to b: a text with its length, a number between "i" and "e".
func bencode(b []byte, v types.AttributeValue) []byte {
	switch v := v.(type) {
	case *types.AttributeValueMemberS:
		return bencodeText(b, v.Value)
	case *types.AttributeValueMemberN:
		return append(append(append(b, 'i'), v.Value...), 'e')
	case *types.AttributeValueMemberM:
		return bencodeMap(b, v.Value, nil)
	case *types.AttributeValueMemberL:
		b = append(b, 'l')
		for _, element := range v.Value {
			b = bencode(b, element)
		}
		return append(b, 'e')
	}
	return fmt.Appendf(b, "%T", v) // no event has such a value
}

// bencodeMap appends a map, sorted by its keys, without some of them.
func bencodeMap(b []byte, m attributes, without []string) []byte {
	b = append(b, 'd')
	for _, name := range slices.Sorted(maps.Keys(m)) {
		if !slices.Contains(without, name) {
			b = bencode(bencodeText(b, name), m[name])
		}
	}
	return append(b, 'e')
}

func bencodeText(b []byte, s string) []byte {
	return append(append(strconv.AppendInt(b, int64(len(s)), 10), ':'), s...)
}

// finishEvent is finish for an event. It compares the checksum only if the item has no other fault, as that says more.
func (r *reader) finishEvent() {
	sum, version := "", r.version
	if version >= checksumVersion || version == 0 && r.has(table.AttrChecksum) {
		sum, _ = r.string(table.AttrChecksum)
	}
	if r.finish(); len(r.found) > 0 || version < checksumVersion {
		return
	}
	if right := checksumOf(r.item); sum != right {
		r.found = append(r.found,
			Finding{ChecksumDiffers, r.key, table.AttrChecksum, strconv.Quote(sum), strconv.Quote(right)})
	}
}

// lacksChecksum reports whether an item is an event of the version that had no checksum.
func lacksChecksum(item attributes) bool {
	v, ok := item[table.AttrEventVersion].(*types.AttributeValueMemberN)
	return ok && v.Value == strconv.Itoa(checksumVersion-1)
}
