package soak

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"ledger.example/cmd/ledger/local"
	"ledger.example/ledger/table"
	"ledger.example/tests/process"
)

var bareKills = flag.Int("bare-kills", 1, "how often DynamoDB Local's JVM is killed under nothing but the SDK")

// bareWriters write at once.
const bareWriters = 4

// pair is one transaction of two items, put by the SDK alone.
type pair struct {
	id          string
	asked, told time.Time // told is zero when it was not acknowledged
	there       bool      // afterwards
}

// DynamoDB Local's JVM, killed by force, forgets transactions that it acknowledged: with nothing but the SDK against it.
// That none is older than the soak allows for, that none is forgotten in part, and that what is forgotten came last, is what
// the soak relies on.
func TestDynamoDBLocalForgets(t *testing.T) {
	random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 0))
	arguments := []string{"dynamodb", "--port", freePort(t, random), "--data", t.TempDir()}
	store := process.Start(t, arguments...)
	var forgetful, forgotten, acknowledged int
	var oldest time.Duration
	for kill := range *bareKills {
		stop := make(chan struct{})
		var told atomic.Int64
		var writing sync.WaitGroup
		written := make([][]*pair, bareWriters)
		for w := range bareWriters {
			client := local.DynamoDB(store.URL)
			writing.Go(func() {
				for i := 0; ; i++ {
					select {
					case <-stop:
						return
					default:
					}
					p := &pair{id: fmt.Sprintf("bare-%d-%d-%d", kill, w, i), asked: time.Now()}
					written[w] = append(written[w], p)
					if p.put(t, client) == nil {
						p.told = time.Now()
						told.Add(1)
					}
				}
			})
		}
		for wanted := 100 + random.Int64N(100); told.Load() < wanted; {
			time.Sleep(time.Millisecond)
		}
		cut := time.Now()
		killJVM(t, store)
		close(stop)
		writing.Wait()
		store.Wait(t)
		store = process.Start(t, arguments...)

		all := slices.Concat(written...)
		client := local.DynamoDB(store.URL)
		var there []*pair
		for _, p := range all {
			first, second := p.look(t, client, 0), p.look(t, client, 1)
			switch {
			case first != second:
				t.Errorf("%s is there in part", p.id)
			case first:
				there = append(there, p)
			}
			p.there = first
		}
		before := forgotten
		for _, p := range all {
			if p.told.IsZero() {
				continue
			}
			acknowledged++
			if p.there {
				continue
			}
			forgotten++
			age := max(0, cut.Sub(p.told))
			if oldest = max(oldest, age); age > forgets {
				t.Errorf("%s was acknowledged %v before the JVM was killed, and is not there", p.id, age)
			}
			for _, later := range there {
				if later.asked.After(p.told) {
					t.Errorf("%s is not there, and %s, asked for later, is", p.id, later.id)
				}
			}
		}
		if forgotten > before {
			forgetful++
		}
	}
	t.Logf("%d of %d kills made DynamoDB Local forget: %d of %d acknowledged transactions, the oldest %v before", forgetful, *bareKills, forgotten, acknowledged, oldest.Round(10*time.Microsecond))
}

func (p *pair) key(n int) map[string]types.AttributeValue {
	return map[string]types.AttributeValue{
		table.AttrPK: &types.AttributeValueMemberS{Value: p.id}, table.AttrSK: &types.AttributeValueMemberS{Value: fmt.Sprint(n)},
	}
}

const bareTable = "ledger" // what the command calls it

func (p *pair) put(t *testing.T, client *dynamodb.Client) error {
	items := make([]types.TransactWriteItem, 2)
	for n := range items {
		items[n].Put = &types.Put{TableName: aws.String(bareTable), Item: p.key(n)}
	}
	_, err := client.TransactWriteItems(t.Context(), &dynamodb.TransactWriteItemsInput{TransactItems: items}, func(o *dynamodb.Options) {
		o.Retryer = aws.NopRetryer{}
	})
	return err
}

func (p *pair) look(t *testing.T, client *dynamodb.Client, n int) bool {
	t.Helper()
	out, err := client.GetItem(t.Context(), &dynamodb.GetItemInput{TableName: aws.String(bareTable), Key: p.key(n), ConsistentRead: aws.Bool(true)})
	if err != nil {
		t.Fatal(err)
	}
	return out.Item != nil
}
