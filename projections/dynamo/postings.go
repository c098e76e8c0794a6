package dynamo

import (
	"context"
	"fmt"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/events"
	"ledger.example/internal/ddb"
	"ledger.example/internal/store"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// postingsPage is the most postings of one page: a megabyte and a half of memory, and of ordinary postings still less
// than the 1 MB at which the store cuts a page by itself.
const postingsPage = 1000

// figures asks for what a fold reads of a posting: its figures, and what the checksum over them takes that is not in
// its keys.
const figures = "#sk, #type, #version, #checksum, #quantity, #cost, #transaction, #kind, #description, #pending, #phase"

// figureNames are the names behind figures. Several are words that DynamoDB reserves.
func figureNames() map[string]string {
	return map[string]string{
		"#sk": table.AttrSK, "#type": table.AttrType,
		"#version": table.AttrEventVersion, "#checksum": table.AttrChecksum,
		"#quantity": events.FigureQuantity, "#cost": events.FigureCost,
		"#transaction": events.FigureTransaction, "#kind": events.FigureKind, "#description": events.FigureDescription,
		"#pending": events.FigurePending, "#phase": events.FigurePhase,
	}
}

// Postings implements projections.Balances.
func (v *Views) Postings(ctx context.Context, k events.Pair, after, through events.KSUID) (
	[]projections.Posting, bool, error,
) {
	q := &dynamodb.QueryInput{
		Limit:                    aws.Int32(postingsPage),
		ProjectionExpression:     aws.String(figures),
		ExpressionAttributeNames: figureNames(),
	}
	within := table.PostingsAfter(k.Asset, string(after), string(through))
	decode := func(item ddb.Item) (projections.Posting, error) { return decodePosting(k, item) }
	found, more, _, err := decodePage(ctx, v, k.Account, within, q, decode)
	return found, more, err
}

// decodePosting reads what a fold needs of a posting of k. The checksum is verified.
func decodePosting(k events.Pair, item ddb.Item) (p projections.Posting, err error) {
	key := table.Key{PK: table.AccountKey(k.Account).PK, SK: text(item[table.AttrSK])}
	_, asset, id, ok := table.ParsePosting(key)
	if p.ID, err = events.ParseKSUID(id); !ok || asset != k.Asset || err != nil {
		return p, fmt.Errorf("%w: %s %s is no posting of %s", store.ErrMalformedItem, key.PK, key.SK, k.Asset)
	}
	r := ddb.Read(item)
	version := r.Integer(table.AttrEventVersion)
	if r.Err() != nil {
		return p, at(key, r.Err())
	}
	p.Figures, err = events.DecodeFigures(events.StoredPosting{
		Name: text(item[table.AttrType]), Version: int(version), Checksum: text(item[table.AttrChecksum]),
		Account: k.Account, Asset: k.Asset, ID: id,
		Quantity:    events.Number(number(item[events.FigureQuantity])),
		Cost:        events.Number(number(item[events.FigureCost])),
		Pending:     events.Number(number(item[events.FigurePending])),
		Phase:       text(item[events.FigurePhase]),
		Transaction: text(item[events.FigureTransaction]), Kind: text(item[events.FigureKind]),
		Description: text(item[events.FigureDescription]),
	})
	return p, at(key, err)
}

// text returns a string's value, and "" for anything else.
func text(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// number returns a number's digits, and "" for anything else.
func number(v types.AttributeValue) string {
	if n, ok := v.(*types.AttributeValueMemberN); ok {
		return n.Value
	}
	return ""
}
