package dynamo

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/ledger/table"
	"ledger.example/ledger/wire"
	"ledger.example/projections"
)

// foundBalance reads the item of k's balance, nil when it is absent, whatever is in it.
func foundBalance(k projections.Key, item wire.Item) projections.Found[projections.Balance] {
	f := projections.Found[projections.Balance]{Value: projections.Balance{Key: k}, Mark: markOf(item, table.AttrVersion)}
	if item == nil {
		return f
	}
	f.There = true
	version, versioned := versionOf(item)
	b, err := decodeBalance(item)
	if err == nil {
		f.Value, err = b, differs(item, balanceItem(b))
	}
	if err == nil && !versioned {
		err = errNoVersion
	}
	f.Fault, f.Versioned = err, versioned
	f.Value.Key, f.Value.Version = k, version
	return f
}

func foundSegment(k projections.Key, through events.KSUID, item wire.Item) projections.Found[projections.Segment] {
	f := projections.Found[projections.Segment]{Value: projections.Segment{Key: k, Fold: projections.Fold{Through: through}}}
	if item == nil {
		return f
	}
	f.There = true
	s, err := decodeSegment(item)
	if err == nil {
		f.Value, err = s, differs(item, segmentItem(s))
	}
	f.Fault = err
	f.Value.Key, f.Value.Through = k, through
	return f
}

func foundSummary(account string, item wire.Item) projections.Found[projections.Summary] {
	f := projections.Found[projections.Summary]{Value: projections.Summary{Account: account}, Mark: markOf(item, table.AttrVersion)}
	if item == nil {
		return f
	}
	f.There = true
	version, versioned := versionOf(item)
	s, err := decodeSummary(item)
	if err == nil {
		f.Value, err = s, differs(item, summaryItem(s))
	}
	if err == nil && !versioned {
		err = errNoVersion
	}
	f.Fault, f.Versioned = err, versioned
	f.Value.Account, f.Value.Version = account, version
	return f
}

func foundMembership(account, user string, item wire.Item) projections.Found[projections.Membership] {
	f := projections.Found[projections.Membership]{
		Value: projections.Membership{Account: account, User: user}, Mark: markOf(item, table.AttrNumber),
	}
	if item == nil {
		return f
	}
	f.There = true
	m, err := decodeMembership(item)
	if err == nil {
		f.Value, err = m, differs(item, membershipItem(m))
	}
	f.Fault = err
	f.Value.Account, f.Value.User = account, user
	return f
}

// errNoVersion is the fault of an item that was written, and has the version of one that never was.
var errNoVersion = fmt.Errorf("%w: its version is 0", wire.ErrMalformedItem)

// versionOf returns the version of an item that a write can count on from, 0 when there is none.
func versionOf(item wire.Item) (version int64, ok bool) {
	r := wire.Read(item)
	version = r.Integer(table.AttrVersion)
	if r.Err() != nil || version == 0 {
		return 0, false
	}
	return version, true
}

// differs names the attributes of an item that are not as they would be stored.
func differs(item, wanted wire.Item) error {
	if reflect.DeepEqual(item, wanted) {
		return nil
	}
	var names []string
	for name := range item {
		if !reflect.DeepEqual(item[name], wanted[name]) {
			names = append(names, name)
		}
	}
	for name := range wanted {
		if _, there := item[name]; !there {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return fmt.Errorf("%w: it would not be stored with these attributes: %s", wire.ErrMalformedItem, strings.Join(names, ", "))
}

// What a mark begins with, of an item that is there; that of an absent one is empty.
const (
	markNone   = "-" // it has no such attribute
	markNumber = "=" // a number, which follows
	markType   = ":" // something else, whose type follows
)

// markOf names the state of an item by one of its attributes, in a way that a condition can compare. Of one that isn't a
// number the type says enough: nobody but a rebuild can write over it, and the first that does makes it a number.
func markOf(item wire.Item, name string) projections.Mark {
	if item == nil {
		return ""
	}
	switch value := item[name].(type) {
	case nil:
		return markNone
	case *types.AttributeValueMemberN:
		return projections.Mark(markNumber + value.Value)
	default:
		return projections.Mark(markType + typeOf(value))
	}
}

// typeOf is the type of a value as attribute_type has it.
func typeOf(value types.AttributeValue) string {
	switch value.(type) {
	case *types.AttributeValueMemberS:
		return "S"
	case *types.AttributeValueMemberSS:
		return "SS"
	case *types.AttributeValueMemberNS:
		return "NS"
	case *types.AttributeValueMemberB:
		return "B"
	case *types.AttributeValueMemberBS:
		return "BS"
	case *types.AttributeValueMemberBOOL:
		return "BOOL"
	case *types.AttributeValueMemberNULL:
		return "NULL"
	case *types.AttributeValueMemberL:
		return "L"
	default:
		return "M"
	}
}

// ifMark is the condition that the item still has that mark by the named attribute.
func ifMark(mark projections.Mark, name string) condition {
	names := map[string]string{"#mark": name}
	kind, rest := mark[:min(1, len(mark))], string(mark[min(1, len(mark)):])
	switch kind {
	case "":
		return condition{expression: wire.IfAbsent}
	case markNone:
		return condition{expression: "attribute_exists(" + table.AttrPK + ") AND attribute_not_exists(#mark)", names: names}
	case markNumber:
		return condition{
			expression: "#mark = :mark", names: names,
			values: wire.Item{":mark": &types.AttributeValueMemberN{Value: rest}},
		}
	default:
		return condition{
			expression: "attribute_type(#mark, :type)", names: names,
			values: wire.Item{":type": wire.String(rest)},
		}
	}
}
