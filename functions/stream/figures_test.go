package stream

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	lambdaevents "github.com/aws/aws-lambda-go/events"

	"ledger.example/events"
)

// Figures are decoded only from a valid image of a new posting.
func TestFigures(t *testing.T) {
	posting := events.PostingRecorded{
		Leg: events.Leg{ID: "3MPlq7CblaK144v8BdRNuauB4LH", Account: "jane", Asset: "USD",
			Quantity: events.NewAmount(-5)},
		Transaction: "t-1", Kind: events.KindTrade, Description: "ten",
	}
	name := posting.EventName()
	checksum := fmt.Sprintf(`"Checksum":{"S":%q},`, events.Checksum(posting))
	sound := fmt.Sprintf(`{"eventName":"INSERT","dynamodb":{`+
		`"Keys":{"PK":{"S":"ACCOUNT#jane"},"SK":{"S":"POSTING#USD#%s"}},"NewImage":{`+
		`"Type":{"S":%q},"V":{"N":"%d"},%s"Quantity":{"N":"-5"},"Cost":{"N":"0"},`+
		`"Transaction":{"S":"t-1"},"Kind":{"S":"trade"},"Description":{"S":"ten"}}}}`,
		posting.ID, name, events.Form, checksum)
	check := func(old, changed string) {
		var r lambdaevents.DynamoDBEventRecord
		if err := json.Unmarshal([]byte(strings.Replace(sound, old, changed, 1)), &r); err != nil {
			t.Fatal(err)
		}
		f := figures(r)
		if (f != nil) != (old == "") || f != nil && (f.Quantity != posting.Quantity || !f.Cost.IsZero()) {
			t.Errorf("%s for %s: %+v", changed, old, f)
		}
	}
	for _, change := range [][2]string{
		{"", ""}, {`"N":"-5"`, `"N":"-6"`}, {`"N":"0"`, `"N":"1"`}, {"jane", "joe"}, {"USD", "EUR"}, {"4LH", "4LI"},
		{"t-1", "t-2"}, {"trade", "transfer"}, {"ten", "two"}, {`"V":{"N":"1"}`, `"V":{"N":"2"}`}, {checksum, ""},
		{"INSERT", "MODIFY"}, {"INSERT", "REMOVE"}, {name, "TransactionPosted"}, {`"Cost"`, `"Backdated":{"BOOL":true},"Cost"`},
		{`"N":"1"`, `"S":"1"`}, {`"N":"-5"`, `"N":"-5E0"`}, {`"N":"-5"`, `"S":"-5"`}, {`"N":"0"`, `"N":"0.5"`},
		{`"NewImage"`, `"OldImage"`}, // no new image, as with StreamViewType KEYS_ONLY
	} {
		check(change[0], change[1])
	}
}
