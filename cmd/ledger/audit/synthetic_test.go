package audit

import (
	"context"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/ledger/table"
)

// synthetic is a store that holds nothing: it makes up each item of a sound table when it is asked for it. In that table,
// transfers of 1 USD go round the accounts, all with a limit of nothing.
type synthetic struct {
	accounts, transfers int
	page                func() // called for every page
}

const (
	syntheticStretch = 256
	usd              = "USD"
)

var syntheticBegan = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

func accountID(i int) string { return fmt.Sprintf("a-%05d", i) }

// ksuidOf is the KSUID of a leg of the t-th transfer.
func ksuidOf(t, leg int) string {
	at := syntheticBegan.Add(time.Duration(t) * time.Millisecond)
	n := big.NewInt(at.Unix() - ksuidEpoch)
	n.Lsh(n, 24).Add(n, big.NewInt(int64(at.Nanosecond()/1000)))
	n.Lsh(n, 104).Add(n, big.NewInt(int64(leg)))
	const digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	text, digit := []byte(strings.Repeat("0", ksuidChars)), new(big.Int)
	for i := ksuidChars - 1; i >= 0; i-- {
		n.DivMod(n, big.NewInt(62), digit)
		text[i] = digits[digit.Int64()]
	}
	return string(text)
}

func numberOf(n int) types.AttributeValue {
	return &types.AttributeValueMemberN{Value: strconv.Itoa(n)}
}

func itemOf(k table.Key, kind string) attributes {
	item := itemKey(k)
	item[table.AttrType] = stringOf(kind)
	return item
}

func eventOf(k table.Key, kind, id string) attributes {
	item := itemOf(k, kind)
	item[table.AttrEventVersion], item[fieldID] = numberOf(eventVersion), stringOf(id)
	return item
}

func (s *synthetic) asset() attributes {
	item := eventOf(table.AssetKey(usd), kindAsset, usd)
	item[table.AttrPK2], item[fieldName], item[fieldScale] = stringOf(table.AssetsPK2), stringOf("US dollar"), numberOf(2)
	item[fieldActor], item[fieldAt] = stringOf("tester"), stringOf(syntheticBegan.Format(instantForm))
	return item
}

func (s *synthetic) account(i int) attributes {
	item := eventOf(table.AccountKey(accountID(i)), kindAccount, accountID(i))
	item[table.AttrSK2], item[table.AttrPK2] = stringOf(table.ProfileSK2), stringOf(table.AccountsPK2)
	item[fieldActor], item[fieldAt] = stringOf("tester"), stringOf(syntheticBegan.Format(instantForm))
	return item
}

// leg is leg 0 (from) or 1 (to) of the t-th transfer.
func (s *synthetic) leg(t, leg int) (account int, item attributes) {
	account = (t + leg) % s.accounts
	return account, attributes{
		fieldID: stringOf(ksuidOf(t, leg)), fieldAccount: stringOf(accountID(account)), fieldAsset: stringOf(usd),
		fieldQuantity: numberOf(2*leg - 1), fieldCost: numberOf(0),
	}
}

func (s *synthetic) header(t int) attributes {
	id := fmt.Sprintf("t-%09d", t)
	item := eventOf(table.TransactionKey(id), kindHeader, id)
	from, to := t%s.accounts, (t+1)%s.accounts
	_, first := s.leg(t, 0)
	_, second := s.leg(t, 1)
	item[fieldLegs] = &types.AttributeValueMemberL{Value: []types.AttributeValue{
		&types.AttributeValueMemberM{Value: first}, &types.AttributeValueMemberM{Value: second},
	}}
	h := header{kind: transfer}
	request := join(text(accountID(from)), text(accountID(to)), text(usd), amount(big.NewInt(1)))
	right, _ := h.fingerprints([][]byte{request})
	item[fieldKind], item[fieldActor], item[fieldFingerprint] = stringOf(transfer), stringOf("tester"), stringOf(right)
	return item
}

// place is the transfer and the leg of the n-th posting of an account.
func (s *synthetic) place(account, n int) (t, leg int) {
	before := (account - 1 + s.accounts) % s.accounts // its transfers come first, but for the first account
	round := n / 2
	if credit := n%2 == 0; credit == (account > 0) {
		return before + round*s.accounts, 1
	}
	return account + round*s.accounts, 0
}

// postings is how many an account has.
func (s *synthetic) postings() int { return 2 * s.transfers / s.accounts }

func (s *synthetic) posting(account, n int) attributes {
	t, leg := s.place(account, n)
	_, item := s.leg(t, leg)
	ksuid := ksuidOf(t, leg)
	for name, v := range eventOf(table.PostingKey(accountID(account), usd, ksuid), kindPosting, ksuid) {
		item[name] = v
	}
	item[table.AttrSK2], item[fieldKind] = stringOf(table.PostingSK2(ksuid)), stringOf(transfer)
	item[fieldTransaction] = stringOf(fmt.Sprintf("t-%09d", t))
	return item
}

// foldOf is the fold of an account's postings from..to-1.
func (s *synthetic) foldOf(account, from, to int) attributes {
	credits := 0
	for n := from; n < to; n++ {
		if _, leg := s.place(account, n); leg == 1 {
			credits++
		}
	}
	return attributes{
		table.AttrThrough: stringOf(ksuidOf(s.place(account, to-1))), table.AttrCount: numberOf(to - from),
		table.AttrCredits: numberOf(credits), table.AttrDebits: numberOf(to - from - credits), table.AttrExpenditure: numberOf(0),
	}
}

func (s *synthetic) segments() int { return s.postings() / syntheticStretch }

func (s *synthetic) segment(account, i int) attributes {
	item := s.foldOf(account, i*syntheticStretch, (i+1)*syntheticStretch)
	for name, v := range itemOf(table.SegmentKey(accountID(account), usd, textOf(item[table.AttrThrough])), table.KindSegment) {
		item[name] = v
	}
	if i > 0 {
		item[table.AttrAfter] = stringOf(ksuidOf(s.place(account, i*syntheticStretch-1)))
	}
	return item
}

func (s *synthetic) balance(account int) attributes {
	item := itemOf(table.BalanceKey(accountID(account), usd), table.KindBalance)
	item[table.AttrPK2], item[table.AttrVersion] = stringOf(table.HoldersPK2(usd)), numberOf(1)
	item[table.AttrAccount], item[table.AttrAsset] = stringOf(accountID(account)), stringOf(usd)
	item[table.AttrFirst] = stringOf(ksuidOf(s.place(account, 0)))
	if s.segments() > 0 {
		item[table.AttrBase] = &types.AttributeValueMemberM{Value: s.foldOf(account, 0, s.segments()*syntheticStretch)}
	}
	whole := &types.AttributeValueMemberM{Value: s.foldOf(account, 0, s.postings())}
	item[table.AttrSeal], item[table.AttrHead] = whole, whole
	return item
}

func (s *synthetic) summary(account int) attributes {
	item := itemOf(table.SummaryKey(accountID(account)), table.KindSummary)
	item[table.AttrVersion], item[table.AttrAssets], item[table.AttrHoldings] = numberOf(1), numberOf(1), numberOf(0)
	item[table.AttrFirst] = stringOf(ksuidOf(s.place(account, 0)))
	return item
}

func (s *synthetic) guard(account int) attributes {
	item := itemOf(table.SpendKey(accountID(account), usd), table.KindSpend)
	item[table.AttrSpent] = numberOf(s.postings() / 2)
	return item
}

// ofAccount is the n-th item of an account.
func (s *synthetic) ofAccount(account, n int) attributes {
	switch n {
	case 0:
		return s.account(account)
	case 1:
		return s.summary(account)
	case 2:
		return s.balance(account)
	case 3:
		return s.guard(account)
	}
	if n -= 4; n < s.segments() {
		return s.segment(account, n)
	}
	return s.posting(account, n-s.segments())
}

// items is how many there are.
func (s *synthetic) items() int {
	return 1 + s.transfers + s.accounts*(4+s.segments()+s.postings())
}

func (s *synthetic) item(n int) attributes {
	if n == 0 {
		return s.asset()
	}
	if n--; n < s.transfers {
		return s.header(n)
	}
	n -= s.transfers
	each := 4 + s.segments() + s.postings()
	return s.ofAccount(n/each, n%each)
}

// pageOf makes a page of the items from..to-1. Where the next begins is in its last key.
func (s *synthetic) pageOf(item func(int) attributes, begin, end int, limit *int32, from attributes) (items []attributes, last attributes) {
	if s.page != nil {
		s.page()
	}
	if n, ok := from["next"].(*types.AttributeValueMemberN); ok {
		begin, _ = strconv.Atoi(n.Value)
	}
	for n := begin; n < end; n++ {
		if len(items) == int(*limit) {
			return items, attributes{"next": numberOf(n)}
		}
		items = append(items, item(n))
	}
	return items, nil
}

func (s *synthetic) Scan(_ context.Context, in *dynamodb.ScanInput, _ ...func(*dynamodb.Options)) (*dynamodb.ScanOutput, error) {
	part, parts := int(*in.Segment), int(*in.TotalSegments)
	items, last := s.pageOf(s.item, s.items()*part/parts, s.items()*(part+1)/parts, in.Limit, in.ExclusiveStartKey)
	return &dynamodb.ScanOutput{Items: items, LastEvaluatedKey: last}, nil
}

func (s *synthetic) Query(_ context.Context, in *dynamodb.QueryInput, _ ...func(*dynamodb.Options)) (*dynamodb.QueryOutput, error) {
	id, _ := accountOf(table.Key{PK: textOf(in.ExpressionAttributeValues[":partition"])})
	account, err := strconv.Atoi(strings.TrimPrefix(id, "a-"))
	if err != nil {
		return nil, err
	}
	begin, end := 0, 0
	switch from := textOf(in.ExpressionAttributeValues[":from"]); {
	case from == "!":
		end = 4 + s.segments() + s.postings()
	case from == balances:
		begin, end = 2, 3
	case from == guards:
		begin, end = 3, 4
	case from == segments:
		begin, end = 4, 4+s.segments()
	case from == table.PostingPrefix:
		begin, end = 4+s.segments(), 4+s.segments()+s.postings()
	}
	items, last := s.pageOf(func(n int) attributes { return s.ofAccount(account, n) }, begin, end, in.Limit, in.ExclusiveStartKey)
	return &dynamodb.QueryOutput{Items: items, LastEvaluatedKey: last}, nil
}

func (s *synthetic) GetItem(_ context.Context, in *dynamodb.GetItemInput, _ ...func(*dynamodb.Options)) (*dynamodb.GetItemOutput, error) {
	k := keyOf(in.Key)
	if _, ok := table.ParseAsset(k); ok {
		return &dynamodb.GetItemOutput{Item: s.asset()}, nil
	}
	id, _ := accountOf(k)
	account, err := strconv.Atoi(strings.TrimPrefix(id, "a-"))
	if err != nil {
		return nil, err
	}
	for n := range 4 {
		if item := s.ofAccount(account, n); keyOf(item) == k {
			return &dynamodb.GetItemOutput{Item: item}, nil
		}
	}
	return &dynamodb.GetItemOutput{}, nil
}

func (s *synthetic) TransactGetItems(context.Context, *dynamodb.TransactGetItemsInput, ...func(*dynamodb.Options)) (*dynamodb.TransactGetItemsOutput, error) {
	return nil, fmt.Errorf("nothing of a sound table is examined")
}
