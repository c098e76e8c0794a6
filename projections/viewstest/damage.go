package viewstest

import (
	"context"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"ledger.example/events"
	"ledger.example/internal/table"
	"ledger.example/projections"
)

// Damage changes stored projections directly, bypassing the ledger's rules. It stores versions as given.
type Damage struct{ *Store }

// Damage returns the Damage of s.
func (s *Store) Damage() Damage { return Damage{s} }

// Balance stores b.
func (d Damage) Balance(b projections.Balance) {
	d.put(projections.BalanceForm.Item(b))
}

// LoseBalance deletes a balance.
func (d Damage) LoseBalance(k events.Pair) { d.lose(table.Balance.Key(k.Account, k.Asset)) }

// Segment stores s.
func (d Damage) Segment(s projections.Segment) {
	d.put(projections.SegmentForm.Item(s))
}

// LoseSegment deletes the segment that ends at s.Through.
func (d Damage) LoseSegment(s projections.Segment) {
	d.lose(table.Segment.Key(s.Account, s.Asset, string(s.Through)))
}

// Summary stores s.
func (d Damage) Summary(s projections.Summary) {
	d.put(projections.SummaryForm.Item(s))
}

// LoseSummary deletes a summary.
func (d Damage) LoseSummary(account string) { d.lose(table.Summary.Key(account)) }

// Membership stores m.
func (d Damage) Membership(m projections.Membership) {
	d.put(projections.MembershipForm.Item(m))
}

// LoseMembership deletes a membership.
func (d Damage) LoseMembership(account, user string) { d.lose(table.Membership.Key(account, user)) }

// SpoilAttributes adds an unknown attribute to an item, which still decodes.
func (d Damage) SpoilAttributes(key table.Key) {
	d.change(key, func(item table.Item) { item["Oops"] = table.Flag(true) })
}

// SpoilFigures makes an item undecodable except for its version.
func (d Damage) SpoilFigures(key table.Key) {
	d.change(key, func(item table.Item) { item[table.AttrType] = table.Flag(true) })
}

// Spoil makes an item undecodable, including its version.
func (d Damage) Spoil(key table.Key) {
	d.change(key, func(item table.Item) {
		for name := range item {
			if name != table.AttrPK && name != table.AttrSK && name != table.AttrPK2 {
				item[name] = table.Flag(true)
			}
		}
	})
}

// change changes a stored item.
func (d Damage) change(key table.Key, change func(table.Item)) {
	d.t.Helper()
	out, err := d.Client.GetItem(
		context.Background(),
		&dynamodb.GetItemInput{TableName: aws.String(tableName), Key: table.KeyItem(key)},
	)
	if err != nil {
		d.t.Fatal(err)
	}
	change(out.Item)
	d.put(out.Item)
}

func (d Damage) put(item table.Item) {
	d.t.Helper()
	in := &dynamodb.PutItemInput{TableName: aws.String(tableName), Item: item}
	if _, err := d.Client.PutItem(context.Background(), in); err != nil {
		d.t.Fatal(err)
	}
}

func (d Damage) lose(key table.Key) {
	d.t.Helper()
	in := &dynamodb.DeleteItemInput{TableName: aws.String(tableName), Key: table.KeyItem(key)}
	if _, err := d.Client.DeleteItem(context.Background(), in); err != nil {
		d.t.Fatal(err)
	}
}
