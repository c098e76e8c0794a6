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

// sumBytes is the length of a checksum: a prefix of the hash.
const sumBytes = 16

// nonFields are the attributes of an event's item that are not fields of the event.
var nonFields = []string{
	table.AttrPK, table.AttrSK, table.AttrSK2, table.AttrPK2, table.AttrType, table.AttrForm,
	table.AttrChecksum,
}

// checksumOf computes an event's checksum from its item: the first 16 bytes of SHA-256 over the bencoded name, version
// and all fields, including unknown ones.
func checksumOf(item attributes) string {
	var buffer [1024]byte
	b := append(buffer[:0], 'l')
	b = bencode(bencode(b, item[table.AttrType]), item[table.AttrForm])
	b = append(bencodeMap(b, item, nonFields), 'e')
	hash := sha256.Sum256(b)
	return base64.RawURLEncoding.EncodeToString(hash[:sumBytes])
}

// bencode appends a value to b.
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
	case *types.AttributeValueMemberBOOL:
		if v.Value { // false is never stored
			return append(b, "i1e"...)
		}
	}
	return fmt.Appendf(b, "%T", v) // events have no values of other types
}

// bencodeMap appends a map, sorted by key, without some keys.
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

// finishEvent is finish for an event. It compares the checksum only if the item has no other fault: another fault says
// more.
func (r *reader) finishEvent() {
	sum, _ := r.string(table.AttrChecksum)
	if r.finish(); len(r.found) > 0 {
		return
	}
	if right := checksumOf(r.item); sum != right {
		r.found = append(r.found,
			Finding{ChecksumDiffers, r.key, table.AttrChecksum, strconv.Quote(sum), strconv.Quote(right)})
	}
}
