package tabletest

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"maps"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/table"
)

// Checksum computes the checksum of the item of an event, as somebody would who alters events. For texts without odd
// characters, encoding/json writes the canonical form.
func Checksum(item table.Item) string {
	covered := maps.Clone(item)
	for _, name := range []string{table.AttrPK, table.AttrSK, table.AttrSK2, table.AttrPK2, table.AttrChecksum} {
		delete(covered, name)
	}
	var form bytes.Buffer
	out := json.NewEncoder(&form)
	out.SetEscapeHTML(false)
	if err := out.Encode(plain(table.Map(covered))); err != nil {
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
