package restore

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// Template returns a template of CloudFormation that has the new table as it is, for its import. CloudFormation does
// not compare the two, and takes what the template says for what the table has: the deployment after the import then
// changes only what differs. ownKey says that the table is encrypted with a key of the account.
func (r *Restorer) Template(ctx context.Context, is *types.TableDescription, ownKey bool) (string, error) {
	on, days, err := r.recovery(ctx)
	if err != nil {
		return "", err
	}
	properties := map[string]any{
		"AttributeDefinitions":      attributes(is.AttributeDefinitions),
		"KeySchema":                 keys(is.KeySchema),
		"GlobalSecondaryIndexes":    indexes(is),
		"DeletionProtectionEnabled": aws.ToBool(is.DeletionProtectionEnabled),
	}
	if isOnDemand(is) {
		properties["BillingMode"] = types.BillingModePayPerRequest
	} else {
		properties["ProvisionedThroughput"] = throughput(is.ProvisionedThroughput)
	}
	if limit := onDemand(is.OnDemandThroughput); limit != nil {
		properties["OnDemandThroughput"] = limit
	}
	if on {
		recovery := map[string]any{"PointInTimeRecoveryEnabled": true}
		if days > 0 {
			recovery["RecoveryPeriodInDays"] = days
		}
		properties["PointInTimeRecoverySpecification"] = recovery
	}
	if s := is.StreamSpecification; s != nil && aws.ToBool(s.StreamEnabled) {
		properties["StreamSpecification"] = map[string]any{"StreamViewType": s.StreamViewType}
	}
	if s := is.SSEDescription; s != nil && s.Status == types.SSEStatusEnabled {
		encryption := map[string]any{"SSEEnabled": true, "SSEType": s.SSEType}
		if ownKey {
			encryption["KMSMasterKeyId"] = aws.ToString(s.KMSMasterKeyArn)
		}
		properties["SSESpecification"] = encryption
	}
	var lines []string
	for _, name := range slices.Sorted(maps.Keys(properties)) {
		text, err := json.Marshal(properties[name])
		if err != nil {
			return "", err
		}
		lines = append(lines, fmt.Sprintf("  %q: %s", name, text))
	}
	return `{"Resources": {"LedgerTable": {"Type": "AWS::DynamoDB::Table", "DeletionPolicy": "Retain", ` +
		`"UpdateReplacePolicy": "Retain", "Properties": {` + "\n" + strings.Join(lines, ",\n") + "}}}}", nil
}

func isOnDemand(is *types.TableDescription) bool {
	return is.BillingModeSummary != nil && is.BillingModeSummary.BillingMode == types.BillingModePayPerRequest
}

func attributes(all []types.AttributeDefinition) (result []map[string]any) {
	for _, a := range all {
		result = append(result, map[string]any{"AttributeName": a.AttributeName, "AttributeType": a.AttributeType})
	}
	return result
}

func keys(all []types.KeySchemaElement) (result []map[string]any) {
	for _, k := range all {
		result = append(result, map[string]any{"AttributeName": k.AttributeName, "KeyType": k.KeyType})
	}
	return result
}

func throughput(t *types.ProvisionedThroughputDescription) map[string]any {
	if t == nil {
		return nil
	}
	return map[string]any{"ReadCapacityUnits": t.ReadCapacityUnits, "WriteCapacityUnits": t.WriteCapacityUnits}
}

// onDemand returns the limits of a table or an index that is paid by request, nil if it has none.
func onDemand(t *types.OnDemandThroughput) map[string]any {
	limits := make(map[string]any)
	if t != nil && aws.ToInt64(t.MaxReadRequestUnits) > 0 {
		limits["MaxReadRequestUnits"] = t.MaxReadRequestUnits
	}
	if t != nil && aws.ToInt64(t.MaxWriteRequestUnits) > 0 {
		limits["MaxWriteRequestUnits"] = t.MaxWriteRequestUnits
	}
	if len(limits) == 0 {
		return nil
	}
	return limits
}

// indexes are in the order of their names, in which AWS does not give them.
func indexes(is *types.TableDescription) (result []map[string]any) {
	all := slices.SortedFunc(slices.Values(is.GlobalSecondaryIndexes),
		func(a, b types.GlobalSecondaryIndexDescription) int {
			return strings.Compare(aws.ToString(a.IndexName), aws.ToString(b.IndexName))
		})
	for _, x := range all {
		projection := map[string]any{"ProjectionType": x.Projection.ProjectionType}
		if len(x.Projection.NonKeyAttributes) > 0 {
			projection["NonKeyAttributes"] = x.Projection.NonKeyAttributes
		}
		one := map[string]any{
			"IndexName": x.IndexName, "KeySchema": keys(x.KeySchema), "Projection": projection,
		}
		if !isOnDemand(is) {
			one["ProvisionedThroughput"] = throughput(x.ProvisionedThroughput)
		}
		if limit := onDemand(x.OnDemandThroughput); limit != nil {
			one["OnDemandThroughput"] = limit
		}
		result = append(result, one)
	}
	return result
}

// Commands returns the commands that import a table into a new stack, with the template, and deploy the ledger there.
// They are for a shell in the folder of the source.
func Commands(table, stack, template string) string {
	return fmt.Sprintf(`RESTORED=%s NEW=%s
cat > table.json <<'END'
%s
END
table="[{\"ResourceType\":\"AWS::DynamoDB::Table\",\"LogicalResourceId\":\"LedgerTable\",
  \"ResourceIdentifier\":{\"TableName\":\"$RESTORED\"}}]"
aws cloudformation create-change-set --stack-name "$NEW" --change-set-name restored --change-set-type IMPORT \
  --resources-to-import "$table" --template-body file://table.json
aws cloudformation wait change-set-create-complete --stack-name "$NEW" --change-set-name restored
aws cloudformation execute-change-set --stack-name "$NEW" --change-set-name restored
aws cloudformation wait stack-import-complete --stack-name "$NEW"
aws cloudformation update-termination-protection --stack-name "$NEW" --enable-termination-protection
sam deploy --config-env prod --stack-name "$NEW"
`, table, stack, template)
}
