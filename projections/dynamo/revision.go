package dynamo

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/internal/ddb"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// The revision of a stored item begins with one of these. They describe the attribute that every write changes: the
// version of balances and summaries, the number of memberships.
const (
	revisionNone   = "-" // the attribute is missing
	revisionNumber = "=" // the number follows
	revisionType   = ":" // the attribute has another type, which follows; only a rebuild replaces it with a number
)

// revisionOf returns the revision of an item by the named attribute. item is nil if it is absent.
func revisionOf(item ddb.Item, name string) projections.Revision {
	if item == nil {
		return projections.RevisionAbsent
	}
	switch value := item[name].(type) {
	case nil:
		return revisionNone
	case *types.AttributeValueMemberN:
		return projections.Revision(revisionNumber + value.Value)
	default:
		// The name of the SDK's Go type ends in the type code that attribute_type takes.
		name := strings.TrimPrefix(fmt.Sprintf("%T", value), "*types.AttributeValueMember")
		return projections.Revision(revisionType + name)
	}
}

// revisionRead returns the revision that a write compares: given, or if it is nil the revision of the version that was
// read. Version 0 is an absent item.
func revisionRead(version int64, given *projections.Revision) projections.Revision {
	switch {
	case given != nil:
		return *given
	case version == 0:
		return projections.RevisionAbsent
	}
	return projections.Revision(revisionNumber + strconv.FormatInt(version, 10))
}

// condition is the condition of a write. The zero condition always holds.
type condition struct {
	expression string
	names      map[string]string
	values     ddb.Item
}

// ifRevision is the condition that the item still has revision r by the named attribute.
func ifRevision(r projections.Revision, name string) condition {
	if r == projections.RevisionAbsent {
		return condition{expression: ddb.IfAbsent}
	}
	c := condition{names: map[string]string{"#revision": name}}
	switch kind, value := r[:1], string(r[1:]); kind {
	case revisionNone:
		c.expression = "attribute_exists(" + table.AttrPK + ") AND attribute_not_exists(#revision)"
	case revisionNumber:
		c.expression = "#revision = :revision"
		c.values = ddb.Item{":revision": &types.AttributeValueMemberN{Value: value}}
	default:
		c.expression = "attribute_type(#revision, :type)"
		c.values = ddb.Item{":type": ddb.String(value)}
	}
	return c
}
