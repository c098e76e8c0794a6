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

// postingsPage is the maximum number of postings in one page: about 1.5 MB of memory. Ordinary postings stay below the
// 1 MB at which DynamoDB ends a page.
const postingsPage = 1000

// figures is the projection expression for a posting's figures, and for the attributes that their checksum covers.
const figures = "#sk, #type, #form, #checksum, #quantity, #cost, #transaction, #kind, #description, #pending, " +
	"#phase, #backdated"

// figureNames are the attribute names for figures. Placeholders are necessary: some names are reserved in DynamoDB.
func figureNames() map[string]string {
	return map[string]string{
		"#sk": table.AttrSK, "#type": table.AttrType,
		"#form": table.AttrForm, "#checksum": table.AttrChecksum,
		"#quantity": events.FigureQuantity, "#cost": events.FigureCost,
		"#transaction": events.FigureTransaction, "#kind": events.FigureKind, "#description": events.FigureDescription,
		"#pending": events.FigurePending, "#phase": events.FigurePhase, "#backdated": events.FigureBackdated,
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
	within := table.Posting.All(k.Asset).After(string(after)).Through(string(through))
	decode := func(item ddb.Item) (projections.Posting, error) { return decodePosting(k, item) }
	found, more, _, err := decodePage(ctx, v, k.Account, within, q, decode)
	return found, more, err
}

// CountPostings implements projections.ReaderViews.
func (v *Views) CountPostings(ctx context.Context, k events.Pair, after, through events.KSUID) (int64, error) {
	within := table.Posting.All(k.Asset).After(string(after)).Through(string(through))
	if within.Empty() {
		return 0, nil
	}
	q := v.within(k.Account, within, &dynamodb.QueryInput{Select: types.SelectCount})
	for count := int64(0); ; {
		out, err := v.client.Query(ctx, q)
		if err != nil {
			return 0, ddb.ReadError(err)
		}
		count += int64(out.Count)
		if q.ExclusiveStartKey = out.LastEvaluatedKey; q.ExclusiveStartKey == nil {
			return count, nil
		}
	}
}

// decodePosting decodes the part of a posting of k that a fold counts. It verifies the checksum.
func decodePosting(k events.Pair, item ddb.Item) (p projections.Posting, err error) {
	key := table.Key{PK: table.Account.PK(k.Account), SK: text(item[table.AttrSK])}
	_, asset, id, ok := table.Posting.Parse(key)
	if p.ID, err = events.ParseKSUID(id); !ok || asset != k.Asset || err != nil {
		return p, fmt.Errorf("%w: %s %s is not a posting of %s", store.ErrMalformedItem, key.PK, key.SK, k.Asset)
	}
	r := ddb.Read(item)
	form, backdated := r.Integer(table.AttrForm), r.OptionalFlag(events.FigureBackdated)
	if r.Err() != nil {
		return p, at(key, r.Err())
	}
	p.Figures, err = events.DecodeFigures(events.StoredPosting{
		Name: text(item[table.AttrType]), Version: int(form), Checksum: text(item[table.AttrChecksum]),
		Account: k.Account, Asset: k.Asset, ID: id,
		Quantity:    events.Number(number(item[events.FigureQuantity])),
		Cost:        events.Number(number(item[events.FigureCost])),
		Pending:     events.Number(number(item[events.FigurePending])),
		Phase:       text(item[events.FigurePhase]),
		Transaction: text(item[events.FigureTransaction]), Kind: text(item[events.FigureKind]),
		Description: text(item[events.FigureDescription]), Backdated: backdated,
	})
	return p, at(key, err)
}

// text returns the value of a string attribute, "" for other types.
func text(v types.AttributeValue) string {
	if s, ok := v.(*types.AttributeValueMemberS); ok {
		return s.Value
	}
	return ""
}

// number returns the digits of a number attribute, "" for other types.
func number(v types.AttributeValue) string {
	if n, ok := v.(*types.AttributeValueMemberN); ok {
		return n.Value
	}
	return ""
}
